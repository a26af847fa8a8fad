//! The threads that work is done on.
//!
//! The BEAM's own have small stacks and come and go between calls. Work on the CPU goes to the
//! engine's pool; each other device has one thread, since its driver keeps state per thread.

use crate::Device;
use std::any::Any;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;

const STACK_SIZE: usize = 8 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// Starts the pool. A pool that is there already stays.
pub fn start() {
    let name = |index| format!("ex_burn-{index}");
    let _ = rayon::ThreadPoolBuilder::new().stack_size(STACK_SIZE).thread_name(name).build_global();
}

/// Runs `work` on a thread made for `device` and waits for it. Its panic becomes the caller's.
pub fn run<T: Send + 'static>(device: Device, work: impl FnOnce() -> T + Send + 'static) -> T {
    match device {
        Device::Cpu => rayon::scope(|_| work()),
        _ => run_on_thread_of(device, work),
    }
}

fn run_on_thread_of<T: Send + 'static>(
    device: Device,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (answer, answered) = channel::<Result<T, Box<dyn Any + Send>>>();
    let job: Job = Box::new(move || {
        // Nobody listens any more if the caller's own thread is gone.
        let _ = answer.send(catch_unwind(AssertUnwindSafe(work)));
    });
    if thread_of(device).send(job).is_err() {
        panic!("the thread of device {device} has ended");
    }
    match answered.recv() {
        Ok(Ok(value)) => value,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => panic!("the thread of device {device} has ended"),
    }
}

fn thread_of(device: Device) -> Sender<Job> {
    static THREADS: LazyLock<Mutex<HashMap<Device, Sender<Job>>>> = LazyLock::new(Mutex::default);
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let start = || {
        let (sender, jobs) = channel::<Job>();
        let thread =
            thread::Builder::new().name(format!("ex_burn-{device}")).stack_size(STACK_SIZE);
        let spawned = thread.spawn(move || jobs.into_iter().for_each(|job| job()));
        spawned.map(|_| sender)
    };
    threads
        .entry(device)
        .or_insert_with(|| {
            start().unwrap_or_else(|error| panic!("no thread for {device}: {error}"))
        })
        .clone()
}
