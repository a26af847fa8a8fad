//! What the families that work along an axis share.

use super::Binary;
use crate::op::{Operation, take};
use crate::{DType, Element, HostTensor, Result, Shape, Spec, Value, ensure, shape};
use burn_backend::tensor::FloatTensor;
use burn_backend::{Backend, Slice, TensorMetadata};
use serde::Deserialize;

/// The associative function that windows and cumulative functions combine elements with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reducer {
    /// Sum.
    Sum,
    /// Product.
    Product,
    /// Greatest; NaN if any is.
    Max,
    /// Least; NaN if any is.
    Min,
}

impl Reducer {
    /// The value that changes nothing it is combined with.
    pub(super) fn identity<T: Element>(self) -> T {
        match self {
            Reducer::Sum => T::ZERO,
            Reducer::Product => T::ONE,
            Reducer::Max => T::LOWEST,
            Reducer::Min => T::HIGHEST,
        }
    }

    /// Both tensors combined through Burn, element by element; they must be of one type and shape.
    pub(super) fn combine<B: Backend>(self, left: Value<B>, right: Value<B>) -> Result<Value<B>> {
        let binary = match self {
            Reducer::Sum => Binary::Add,
            Reducer::Product => Binary::Multiply,
            Reducer::Max => Binary::Max,
            Reducer::Min => Binary::Min,
        };
        let out = left.spec();
        binary.burn(vec![left, right], &out)
    }
}

/// The spec of an operation along `axis` that keeps everything of its operand.
pub(super) fn infer_kept(name: &str, axis: usize, operands: &[Spec], dtype: DType) -> Result<Spec> {
    let [operand] = take(name, operands)?;
    let expected = "a result of the operand's type";
    ensure!(dtype == operand.dtype, name, format!("{operand} to {dtype}"), expected);
    shape::check_axes(name, &[axis], operand.rank())?;
    Ok(operand.clone())
}

/// The tensor with `axis` moved to the end, and the order of axes that moves it back.
pub(super) fn last(operand: &HostTensor, axis: usize) -> (HostTensor, Shape) {
    let others = (0..operand.rank()).filter(|&other| other != axis);
    let moved = operand.transpose(&others.chain([axis]).collect::<Shape>());
    let mut back: Shape = (0..operand.rank() - 1).collect();
    back.insert(axis, operand.rank() - 1);
    (moved, back)
}

/// Every `step`-th position of `axis` from `start` to before `end`.
pub(super) fn slice<B: Backend>(
    value: Value<B>,
    axis: usize,
    [start, end, step]: [usize; 3],
) -> Value<B> {
    let shape = value.shape();
    if (start, end, step) == (0, shape[axis], 1) {
        return value;
    }
    let mut slices: Vec<_> = shape.iter().map(|&length| span(0, length, 1)).collect();
    slices[axis] = span(start, end, step);
    value.slice(&slices)
}

/// The tensor between `low` and `high` positions of `fill` along `axis`.
pub(super) fn pad<B: Backend>(
    tensor: FloatTensor<B>,
    axis: usize,
    [low, high]: [usize; 2],
    fill: f64,
) -> FloatTensor<B> {
    if [low, high] == [0, 0] {
        return tensor;
    }
    let mut shape = tensor.shape().to_vec();
    let mut slices: Vec<_> = shape.iter().map(|&length| span(0, length, 1)).collect();
    slices[axis] = span(low, low + shape[axis], 1);
    shape[axis] += low + high;
    let (device, dtype) = (B::float_device(&tensor), tensor.dtype().into());
    let padding = B::float_full(shape.into(), fill.into(), &device, dtype);
    B::float_slice_assign(padding, &slices, tensor)
}

fn span(start: usize, end: usize, step: usize) -> Slice {
    Slice::new(start as isize, Some(end as isize), step as isize)
}
