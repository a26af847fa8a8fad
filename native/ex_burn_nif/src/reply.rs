//! Results and errors as terms.

use crate::memory;
use ex_burn_engine::{Error, Result, guard};
use rustler::{Atom, Encoder, Env, Term};
use std::fmt::Display;

mod atoms {
    rustler::atoms! { ok, error, collect, dirty }
}

/// Answers with what `body` returns: `{:ok, value}`, or `{:collect, value}` where the caller
/// should collect its garbage; `{:error, {op, given, expected}}` where it fails or panics.
pub fn reply<'a, T: Encoder>(
    env: Env<'a>,
    function: &str,
    body: impl FnOnce() -> Result<T>,
) -> Term<'a> {
    quick(env, function, || body().map(Some))
}

/// As [`reply`], for a body that returns `None` where it would take too long for a normal
/// scheduler: the answer is then `:dirty`.
pub fn quick<'a, T: Encoder>(
    env: Env<'a>,
    function: &str,
    body: impl FnOnce() -> Result<Option<T>>,
) -> Term<'a> {
    match guard::caught(function, body) {
        Ok(None) => atoms::dirty().encode(env),
        Ok(Some(value)) if memory::should_collect() => (atoms::collect(), value).encode(env),
        Ok(Some(value)) => (atoms::ok(), value).encode(env),
        Err(Error { op, given, expected }) => (atoms::error(), (op, given, expected)).encode(env),
    }
}

/// The atom of an engine's name for something.
pub fn atom(env: Env, name: impl Display) -> Result<Atom> {
    let name = name.to_string();
    Atom::from_str(env, &name).map_err(|_| Error::new("atom", &name, "a name that fits in an atom"))
}
