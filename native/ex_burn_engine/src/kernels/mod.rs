//! What each operation computes, one file per family.

mod binary;
mod choose;
mod convert;
mod create;
mod gather;
mod indexed;
mod join;
mod layout;
mod pad;
mod slice;
mod unary;

pub use binary::Binary;
pub use choose::Choose;
pub use convert::Convert;
pub use create::{Constant, Eye, Iota};
pub use gather::{Gather, Take, TakeAlongAxis};
pub use indexed::{Indexed, IndexedKind};
pub use join::{Concatenate, Stack};
pub use layout::{Broadcast, Reshape, Reverse, Transpose};
pub use pad::Pad;
pub use slice::{DynamicPutSlice, DynamicSlice, PutSlice, Slice};
pub use unary::Unary;
