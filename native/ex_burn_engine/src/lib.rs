//! The tensor engine under ExBurn.
//!
//! An operation ([`Op`]) is checked once ([`Operation::infer`]) and then runs
//! either in main memory ([`Operation::host`]) or through Burn on any of its
//! devices ([`Operation::burn`]), where Burn's autodiff can follow it. A
//! [`Tensor`] is a value on a [`Device`] chosen at run time; a [`Program`] is a
//! graph of operations that runs, and is differentiated, as a whole.

#![deny(unsafe_code)]

pub mod autodiff;
pub mod device;
pub mod dtype;
pub mod element;
pub mod error;
pub mod execute;
pub mod guard;
pub mod host;
pub mod kernels;
pub mod lower;
pub mod op;
pub mod pack;
pub mod program;
pub mod shape;
pub mod spec;
pub mod tensor;
#[cfg(test)]
mod testing;
pub mod value;
pub mod worker;

pub use device::Device;
pub use dtype::{Class, DType};
pub use element::{Element, Float, Integer};
pub use error::{Error, Result};
pub use host::HostTensor;
pub use op::{Op, Operation};
pub use program::{Apply, Cond, Factor, Graph, Instruction, Program, While};
pub use shape::Shape;
pub use spec::Spec;
pub use tensor::Tensor;
pub use value::Value;
