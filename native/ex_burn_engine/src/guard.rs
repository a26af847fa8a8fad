//! Panics as errors: what calls the engine must never unwind.

use crate::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `body` returns; an error where it panics.
pub fn caught<T>(op: &str, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| Err(panicked(op, panic.as_ref())))
}

/// What is left of a panic: its message.
fn panicked(op: &str, panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Error::new(op, format!("arguments that the engine panics on: {message}"), "no panic")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, worker};
    use std::panic::panic_any;
    use std::thread;

    fn given(body: impl FnOnce() -> Result<()>) -> String {
        caught("add", body).expect_err("a panic").given
    }

    #[test]
    fn a_panic_becomes_an_error_with_its_message() {
        assert!(given(|| panic!("no such lane")).ends_with("panics on: no such lane"));
        let lane = 3;
        assert!(given(|| panic!("no lane {lane}")).ends_with("panics on: no lane 3"));
        assert!(given(|| panic_any(lane)).ends_with("panics on: no message"));
        assert_eq!(caught("add", || Ok(lane)), Ok(lane));
    }

    #[test]
    fn panics_on_eight_threads_leave_the_next_call_right() {
        let panics = || worker::run(Device::Cpu, || panic!("no such lane"));
        thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(move || given(panics))).collect();
            for thread in threads {
                assert!(thread.join().expect("caught").ends_with("no such lane"));
            }
        });
        assert_eq!(caught("add", || Ok(worker::run(Device::Cpu, || 1 + 1))), Ok(2));
    }
}
