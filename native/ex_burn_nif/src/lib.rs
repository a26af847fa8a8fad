//! The NIF.
