//! Results and errors as terms.

use crate::memory;
use ex_burn_engine::{Error, Result};
use rustler::{Encoder, Env, Term};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

mod atoms {
    rustler::atoms! { ok, error, collect }
}

/// Answers with what `body` returns: `{:ok, value}`, or `{:collect, value}` where the caller
/// should collect its garbage; `{:error, {op, given, expected}}` where it fails or panics.
pub fn reply<'a, T: Encoder>(
    env: Env<'a>,
    function: &str,
    body: impl FnOnce() -> Result<T>,
) -> Term<'a> {
    let result = catch_unwind(AssertUnwindSafe(body))
        .unwrap_or_else(|panic| Err(panicked(function, panic.as_ref())));
    match result {
        Ok(value) if memory::should_collect() => (atoms::collect(), value).encode(env),
        Ok(value) => (atoms::ok(), value).encode(env),
        Err(Error { op, given, expected }) => (atoms::error(), (op, given, expected)).encode(env),
    }
}

/// What is left of a panic: its message.
fn panicked(function: &str, panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Error::new(function, format!("arguments that the engine panics on: {message}"), "no panic")
}
