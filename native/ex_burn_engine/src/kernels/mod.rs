//! What each operation computes, one file per family.

mod axis;
mod binary;
mod reduce;
mod unary;
mod window;

pub use axis::Reducer;
pub use binary::Binary;
pub use reduce::{ArgReduce, ArgReduceKind, Reduce, ReduceKind, TieBreak};
pub use unary::Unary;
pub use window::{Extreme, Window, WindowScatter};
