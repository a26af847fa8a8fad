//! What each operation computes, one file per family.

mod binary;
mod choose;
mod conv;
mod convert;
mod create;
mod dot;
mod join;
mod layout;
mod pad;
mod unary;

pub use binary::Binary;
pub use choose::Choose;
pub use conv::Conv;
pub use convert::Convert;
pub use create::{Constant, Eye, Iota};
pub use dot::Dot;
pub use join::{Concatenate, Stack};
pub use layout::{Broadcast, Reshape, Reverse, Transpose};
pub use pad::Pad;
pub use unary::Unary;
