//! The tensor engine under ExBurn.
//!
//! An operation ([`Op`]) is checked once ([`Operation::infer`]) and then runs
//! either in main memory ([`Operation::host`]) or through Burn on any of its
//! devices ([`Operation::burn`]), where Burn's autodiff can follow it.

#![deny(unsafe_code)]

pub mod dtype;
pub mod element;
pub mod error;
pub mod host;
pub mod kernels;
pub mod op;
pub mod shape;
pub mod spec;
#[cfg(test)]
mod testing;
pub mod value;

pub use dtype::{Class, DType};
pub use element::{Element, Float, Integer};
pub use error::{Error, Result};
pub use host::HostTensor;
pub use op::{Op, Operation};
pub use shape::Shape;
pub use spec::Spec;
pub use value::Value;
