//! Results and errors as terms.

use crate::memory;
use ex_burn_engine::{Error, Result, guard};
use rustler::{Encoder, Env, Term};

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
    match guard::caught(function, body) {
        Ok(value) if memory::should_collect() => (atoms::collect(), value).encode(env),
        Ok(value) => (atoms::ok(), value).encode(env),
        Err(Error { op, given, expected }) => (atoms::error(), (op, given, expected)).encode(env),
    }
}
