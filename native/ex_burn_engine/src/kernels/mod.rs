//! What each operation computes, one file per family.

mod binary;
mod unary;

pub use binary::Binary;
pub use unary::Unary;
