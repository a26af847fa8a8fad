//! What is known of a value before it is computed: its type and shape.

use crate::{DType, Shape, shape};
use serde::Deserialize;
use std::fmt;

/// The type and shape of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
pub struct Spec {
    /// The type of the elements.
    pub dtype: DType,
    /// The size of every axis.
    pub shape: Shape,
}

impl Spec {
    /// A spec of `dtype` and `shape`.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> Self {
        Self { dtype, shape: shape.into() }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        shape::size(&self.shape)
    }

    /// The size of all elements in bytes.
    pub fn byte_size(&self) -> usize {
        self.size() * self.dtype.size()
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.dtype, shape::show(&self.shape))
    }
}
