//! What the tensors held by the BEAM weigh, of which its garbage collector sees only references.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static LIVE: AtomicUsize = AtomicUsize::new(0);
static SINCE_COLLECTION: AtomicUsize = AtomicUsize::new(0);

/// Bytes handed out after which the caller is asked to collect its garbage.
const COLLECT_AFTER: usize = 256 << 20;

/// Bytes of all tensors that are referenced or wait for the collector.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

/// Counts a tensor in.
pub fn hold(bytes: usize) {
    LIVE.fetch_add(bytes, Relaxed);
    SINCE_COLLECTION.fetch_add(bytes, Relaxed);
}

/// Counts a tensor out.
pub fn release(bytes: usize) {
    LIVE.fetch_sub(bytes, Relaxed);
}

/// Whether so much was handed out that the caller should collect its garbage now.
pub fn should_collect() -> bool {
    let since = SINCE_COLLECTION.load(Relaxed);
    since >= COLLECT_AFTER
        && SINCE_COLLECTION.compare_exchange(since, 0, Relaxed, Relaxed).is_ok()
        && live() >= COLLECT_AFTER
}
