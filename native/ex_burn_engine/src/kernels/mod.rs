//! What each operation computes, one file per family.

mod axis;
mod binary;
mod choose;
mod conv;
mod convert;
mod create;
mod cumulative;
mod dot;
mod gather;
mod indexed;
mod join;
mod layout;
mod pad;
mod reduce;
mod slice;
mod sort;
mod unary;
mod window;

pub use axis::Reducer;
pub use binary::Binary;
pub use choose::Choose;
pub use conv::Conv;
pub use convert::Convert;
pub use create::{Constant, Eye, Iota, Number};
pub use cumulative::Cumulative;
pub use dot::Dot;
pub use gather::{Gather, Take, TakeAlongAxis};
pub use indexed::{Indexed, IndexedKind};
pub use join::{Concatenate, Stack};
pub use layout::{Broadcast, Reshape, Reverse, Transpose};
pub use pad::Pad;
pub use reduce::{ArgReduce, ArgReduceKind, Reduce, ReduceKind, TieBreak};
pub use slice::{DynamicPutSlice, DynamicSlice, PutSlice, Slice};
pub use sort::{Argsort, Sort};
pub use unary::Unary;
pub use window::{Extreme, Window, WindowScatter};
