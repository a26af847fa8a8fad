//! What each operation computes, one file per family.

mod axis;
mod binary;
mod cumulative;
mod reduce;
mod sort;
mod unary;
mod window;

pub use axis::Reducer;
pub use binary::Binary;
pub use cumulative::Cumulative;
pub use reduce::{ArgReduce, ArgReduceKind, Reduce, ReduceKind, TieBreak};
pub use sort::{Argsort, Sort};
pub use unary::Unary;
pub use window::{Extreme, Window, WindowScatter};
