//! Splitting work over the cores, where there is enough of it.

use rayon::prelude::*;

/// Elements below which one core is faster than waking the others.
const THRESHOLD: usize = 1 << 15;

/// Calls `body(start, part)` for consecutive parts of `output`, on all cores if it is large.
///
/// Parts begin at multiples of `grain`, so that rows of that length are never split.
pub fn for_each_part<T: Send>(
    output: &mut [T],
    grain: usize,
    cost: usize,
    body: impl Fn(usize, &mut [T]) + Sync,
) {
    split(output, grain, cost, &body);
}

/// Compiled once for every type of element; for every body, it would be most of the library.
fn split<T: Send>(
    output: &mut [T],
    grain: usize,
    cost: usize,
    body: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    let work = output.len().saturating_mul(cost);
    if work < THRESHOLD {
        return body(0, output);
    }
    let grain = grain.max(1);
    let grains = output.len().div_ceil(grain);
    let parts = (work / THRESHOLD).clamp(1, 4 * rayon::current_num_threads());
    let length = grains.div_ceil(parts) * grain;
    output.par_chunks_mut(length).enumerate().for_each(|(index, part)| body(index * length, part));
}
