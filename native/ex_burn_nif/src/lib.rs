//! The NIF: terms to values and back, tensors as resources, panics to errors.
//!
//! Every function answers `{:ok, value}` or `{:error, {op, given, expected}}`, whatever it is
//! given. See `ExBurn.Nif` for what each of them takes.

mod memory;
mod nifs;
mod reply;
mod resource;
mod term;

rustler::init!("Elixir.ExBurn.Nif", load = load);

fn load(_env: rustler::Env, _info: rustler::Term) -> bool {
    ex_burn_engine::worker::start();
    true
}
