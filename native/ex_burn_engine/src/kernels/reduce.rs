//! Sums, products, extremes and truth along axes, and the positions of extremes.

use super::axis::{self, Reducer};
use crate::host::elementwise::Walk;
use crate::host::parallel;
use crate::op::{Operation, take, take_owned, unsupported};
use crate::{DType, Element, HostTensor, Result, Shape, Spec, Value, ensure, shape};
use crate::{with_element, with_integer};
use burn_backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn_backend::{Backend, BoolDType, IntDType};
use serde::Deserialize;
use std::ops::Range;

const BOOL: BoolDType = BoolDType::Native;

/// What a [`Reduce`] computes, as the Nx function of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReduceKind {
    /// Sum, in the type of the result. Integers wrap.
    Sum,
    /// Product, in the type of the result. Integers wrap.
    Product,
    /// Greatest element; NaN if any is.
    ReduceMax,
    /// Least element; NaN if any is.
    ReduceMin,
    /// Whether no element is zero.
    All,
    /// Whether an element is not zero.
    Any,
}

/// A tensor reduced along axes.
///
/// The gradient of an extreme goes to one of the elements that reach it, also
/// where several do.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reduce {
    /// What is computed of the elements.
    pub kind: ReduceKind,
    /// The axes that are reduced.
    pub axes: Vec<usize>,
    /// Whether reduced axes stay, with a size of 1.
    pub keep_axes: bool,
}

impl Operation for Reduce {
    fn name(&self) -> &'static str {
        match self.kind {
            ReduceKind::Sum => "sum",
            ReduceKind::Product => "product",
            ReduceKind::ReduceMax => "reduce_max",
            ReduceKind::ReduceMin => "reduce_min",
            ReduceKind::All => "all",
            ReduceKind::Any => "any",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        let (fits, expected) = match self.kind {
            ReduceKind::Sum | ReduceKind::Product => (true, ""),
            ReduceKind::ReduceMax | ReduceKind::ReduceMin => {
                (dtype == operand.dtype, "a result of the operand's type")
            }
            ReduceKind::All | ReduceKind::Any => (dtype == DType::U8, "a u8 result"),
        };
        ensure!(fits, self.name(), format!("{operand} to {dtype}"), expected);
        shape::check_axes(self.name(), &self.axes, operand.rank())?;
        Ok(Spec::new(dtype, reduced(&operand.shape, &self.axes, self.keep_axes)))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let result = match self.kind {
            ReduceKind::Sum | ReduceKind::Product => self.accumulate(operand, out)?,
            ReduceKind::ReduceMax => with_element!(operand.dtype(), T => {
                let (step, merge) = (|state: T, x: T, _| Element::max(state, x), <T as Element>::max);
                HostTensor::from_vec(fold(operand, &self.axes, T::LOWEST, step, merge), &out.shape)
            }),
            ReduceKind::ReduceMin => with_element!(operand.dtype(), T => {
                let (step, merge) = (|state: T, x: T, _| Element::min(state, x), <T as Element>::min);
                HostTensor::from_vec(fold(operand, &self.axes, T::HIGHEST, step, merge), &out.shape)
            }),
            ReduceKind::All => with_element!(operand.dtype(), T => {
                let step = |state: u8, x: T, _| state & u8::from(x.truthy());
                HostTensor::from_vec(fold(operand, &self.axes, 1, step, |a, b| a & b), &out.shape)
            }),
            ReduceKind::Any => with_element!(operand.dtype(), T => {
                let step = |state: u8, x: T, _| state | u8::from(x.truthy());
                HostTensor::from_vec(fold(operand, &self.axes, 0, step, |a, b| a | b), &out.shape)
            }),
        };
        Ok(result.cast(out.dtype))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [operand] = take_owned(name, operands)?;
        let (merged, axes) = merge_axes(&operand.shape(), &self.axes);
        let operand = operand.reshape(&merged);
        let along = |value: Value<B>, step: &dyn Fn(Value<B>, usize) -> Result<Value<B>>| {
            axes.iter().try_fold(value, |value, &axis| step(value, axis))
        };
        let result = match self.kind {
            ReduceKind::Sum => along(operand.cast(out.dtype), &|value, axis| Ok(sum(value, axis)))?,
            ReduceKind::Product => along(operand.cast(out.dtype), &product)?,
            ReduceKind::ReduceMax => along(operand, &|value, axis| Ok(max(value, axis)))?,
            ReduceKind::ReduceMin => along(operand, &|value, axis| Ok(min(value, axis)))?,
            ReduceKind::All => {
                let truth = operand.into_bool();
                Value::from_bool(axes.iter().fold(truth, |t, &axis| B::bool_all_dim(t, axis)))
            }
            ReduceKind::Any => {
                let truth = operand.into_bool();
                Value::from_bool(axes.iter().fold(truth, |t, &axis| B::bool_any_dim(t, axis)))
            }
        };
        Ok(result.reshape(&out.shape))
    }
}

impl Reduce {
    /// Sum or product: floats as `f64`, integers wrapping as `i64`, from which all narrower ones follow.
    fn accumulate(&self, operand: &HostTensor, out: &Spec) -> Result<HostTensor> {
        let (axes, sum) = (&self.axes, self.kind == ReduceKind::Sum);
        if out.dtype.is_float() {
            return Ok(with_element!(operand.dtype(), T => {
                let states = if sum {
                    fold(operand, axes, 0.0, |s, x: T, _| s + x.to_f64(), |a, b| a + b)
                } else {
                    fold(operand, axes, 1.0, |s, x: T, _| s * x.to_f64(), |a, b| a * b)
                };
                HostTensor::from_vec(states, &out.shape)
            }));
        }
        let operand =
            if operand.dtype().is_float() { operand.cast(out.dtype) } else { operand.clone() };
        Ok(with_integer!(operand.dtype(), T => {
            let states = if sum {
                let step = |s: i64, x: T, _| s.wrapping_add(x.cast());
                fold(&operand, axes, 0, step, i64::wrapping_add)
            } else {
                let step = |s: i64, x: T, _| s.wrapping_mul(x.cast());
                fold(&operand, axes, 1, step, i64::wrapping_mul)
            };
            HostTensor::from_vec(states, &out.shape)
        }, else return Err(unsupported(self.name()))))
    }
}

/// Which extreme an [`ArgReduce`] looks for, as the Nx function of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgReduceKind {
    /// The greatest element.
    Argmax,
    /// The least element.
    Argmin,
}

/// Which of several equal extremes an [`ArgReduce`] answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TieBreak {
    /// The first.
    Low,
    /// The last.
    High,
}

/// The position of the extreme along an axis. NaN is more extreme than anything.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ArgReduce {
    /// Which extreme.
    pub kind: ArgReduceKind,
    /// The axis, or all of the tensor in row-major order.
    pub axis: Option<usize>,
    /// Whether that axis stays, with a size of 1. The position in all of the tensor is a scalar.
    pub keep_axis: bool,
    /// Which of several equal extremes.
    pub tie_break: TieBreak,
}

impl ArgReduce {
    fn axes(&self, rank: usize) -> Vec<usize> {
        self.axis.map_or_else(|| (0..rank).collect(), |axis| vec![axis])
    }
}

impl Operation for ArgReduce {
    fn name(&self) -> &'static str {
        match self.kind {
            ArgReduceKind::Argmax => "argmax",
            ArgReduceKind::Argmin => "argmin",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        ensure!(dtype.is_integer(), self.name(), dtype, "an integer result");
        let axes = self.axes(operand.rank());
        shape::check_axes(self.name(), &axes, operand.rank())?;
        let keep = self.keep_axis && self.axis.is_some();
        Ok(Spec::new(dtype, reduced(&operand.shape, &axes, keep)))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let axes = self.axes(operand.rank());
        let last = self.tie_break == TieBreak::High;
        let positions = with_element!(operand.dtype(), T => match self.kind {
            ArgReduceKind::Argmax => extreme_positions(operand, &axes, last, |a: T, b: T| a > b),
            ArgReduceKind::Argmin => extreme_positions(operand, &axes, last, |a: T, b: T| a < b),
        });
        Ok(HostTensor::from_vec(positions, &out.shape).cast(out.dtype))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [operand] = take_owned(name, operands)?;
        let (operand, axis) = match self.axis {
            Some(axis) => (operand, axis),
            None => {
                let size = shape::size(&operand.shape());
                (operand.reshape(&[size]), 0)
            }
        };
        let (device, shape) = (operand.device(), operand.shape());
        let length = i32::try_from(shape[axis]).map_err(|_| unsupported(name))?;
        let extreme = match self.kind {
            ArgReduceKind::Argmax => max(operand.clone(), axis),
            ArgReduceKind::Argmin => min(operand.clone(), axis),
        }
        .broadcast(&shape);

        let mut along = vec![1; shape.len()];
        along[axis] = shape[axis];
        let positions = B::int_arange(0..i64::from(length), &device, IntDType::I32);
        let Value::Int(positions) = Value::<B>::Int(positions).reshape(&along).broadcast(&shape)
        else {
            return Err(unsupported(name));
        };
        // The backends' own searches differ in ties and NaN: the positions of the extreme don't.
        let first = |found: BoolTensor<B>| -> IntTensor<B> {
            let missing = B::bool_not(found);
            B::int_min_dim(B::int_mask_fill(positions.clone(), missing, length.into()), axis)
        };
        let last = |found: BoolTensor<B>| -> IntTensor<B> {
            let missing = B::bool_not(found);
            B::int_max_dim(B::int_mask_fill(positions.clone(), missing, (-1).into()), axis)
        };
        let found = match (operand, extreme) {
            (Value::Float(tensor), Value::Float(extreme)) => {
                // An extreme that is NaN equals nothing.
                let nan = B::float_is_nan(tensor.clone(), BOOL);
                B::bool_or(B::float_equal(tensor, extreme, BOOL), nan)
            }
            (tensor, extreme) => {
                B::int_equal(tensor.into_int(name)?, extreme.into_int(name)?, BOOL)
            }
        };
        let found = match self.tie_break {
            TieBreak::Low => first(found),
            TieBreak::High => last(found),
        };
        Ok(Value::Int(found).cast(out.dtype).reshape(&out.shape))
    }
}

/// The shape with `axes` reduced.
fn reduced(shape: &[usize], axes: &[usize], keep: bool) -> Shape {
    (0..shape.len())
        .filter(|axis| keep || !axes.contains(axis))
        .map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] })
        .collect()
}

/// The position of every extreme; `beats` compares two elements, neither NaN.
#[inline(never)]
fn extreme_positions<T: Element>(
    operand: &HostTensor,
    axes: &[usize],
    last: bool,
    beats: impl Fn(T, T) -> bool + Sync,
) -> Vec<u64> {
    type State<T> = (T, u64);
    const NONE: u64 = u64::MAX;
    // Of `x` after `best`.
    let wins = |x: T, best: T| match best.is_nan() {
        true => last && x.is_nan(),
        false => x.is_nan() || beats(x, best) || (last && x == best),
    };
    let step = |(best, at): State<T>, x: T, position: usize| {
        if at == NONE || wins(x, best) { (x, position as u64) } else { (best, at) }
    };
    let merge = |left: State<T>, right: State<T>| {
        let (low, high) = if left.1 <= right.1 { (left, right) } else { (right, left) };
        // `NONE` is above every position.
        if high.1 != NONE && wins(high.0, low.0) { high } else { low }
    };
    let states = fold(operand, axes, (T::ZERO, NONE), step, merge);
    states.into_iter().map(|(_, position)| position).collect()
}

/// Elements that one task folds where a reduction is split over the reduced axes.
const SPLIT: usize = 1 << 17;
/// Results up to which a reduction is split over the reduced axes.
const FEW: usize = 1 << 10;
/// Independent states along a row, so that the processor folds several elements at once.
const LANES: usize = 16;

/// Folds `operand` over `axes` for every position of the others, row-major.
///
/// `step` gets the state, the element and its position within the reduced
/// axes. Neither the order of the elements nor how often `identity` is merged
/// may change the result, but for the rounding of floats; how a reduction is
/// split depends on its sizes alone, so equal operands give equal results.
#[inline(never)]
fn fold<T: Element, S: Copy + Send + Sync>(
    operand: &HostTensor,
    axes: &[usize],
    identity: S,
    step: impl Fn(S, T, usize) -> S + Sync,
    merge: impl Fn(S, S) -> S + Sync,
) -> Vec<S> {
    let (shape, strides) = (operand.shape(), operand.strides());
    let view = |reduced: bool, offset: usize| {
        let axes: Vec<_> = (0..shape.len()).filter(|axis| axes.contains(axis) == reduced).collect();
        let shape: Shape = axes.iter().map(|&axis| shape[axis]).collect();
        let strides = axes.iter().map(|&axis| strides[axis]).collect();
        operand.view(shape, strides, offset)
    };
    let (kept, reduced) = (view(false, operand.offset()), view(true, 0));
    let (kept_size, reduced_size) = (kept.size(), reduced.size());
    let nearest = |view: &HostTensor| {
        let axes = view.shape().iter().zip(view.strides());
        axes.filter(|(length, _)| **length > 1).map(|(_, stride)| stride.unsigned_abs()).min()
    };
    let by_rows = match (nearest(&reduced), nearest(&kept)) {
        (Some(reduced), Some(kept)) => reduced <= kept,
        _ => true,
    };
    let folder = Folder {
        storage: operand.storage::<T>(),
        kept: Walk::new(kept.shape(), [&kept]),
        reduced: Walk::new(reduced.shape(), [&reduced]),
        by_rows,
        identity,
        step,
        merge,
    };

    let mut states = vec![identity; kept_size];
    let tasks = (kept_size.saturating_mul(reduced_size) / SPLIT).min(64);
    if kept_size > FEW || tasks < 2 || reduced_size < tasks {
        let grain = if by_rows { 1 } else { 64 };
        parallel::for_each_part(&mut states, grain, reduced_size, |start, part| {
            folder.fold(part, start, 0..reduced_size);
        });
        return states;
    }
    let length = reduced_size.div_ceil(tasks);
    let mut partial = vec![identity; kept_size * reduced_size.div_ceil(length)];
    parallel::for_each_part(&mut partial, kept_size, length, |start, part| {
        for (index, states) in part.chunks_mut(kept_size).enumerate() {
            let from = (start / kept_size + index) * length;
            folder.fold(states, 0, from..reduced_size.min(from + length));
        }
    });
    for part in partial.chunks(kept_size) {
        states.iter_mut().zip(part).for_each(|(s, &part)| *s = (folder.merge)(*s, part));
    }
    states
}

struct Folder<'a, T, S, Step, Merge> {
    storage: &'a [T],
    kept: Walk<1>,
    reduced: Walk<1>,
    /// Whether neighbours in memory fold into one result, rather than into neighbouring ones.
    by_rows: bool,
    identity: S,
    step: Step,
    merge: Merge,
}

impl<T, S, Step, Merge> Folder<'_, T, S, Step, Merge>
where
    T: Element,
    S: Copy,
    Step: Fn(S, T, usize) -> S,
    Merge: Fn(S, S) -> S,
{
    /// Folds the reduced positions of `range` into the states of the results from `start` on.
    fn fold(&self, states: &mut [S], start: usize, range: Range<usize>) {
        self.kept.runs(start..start + states.len(), |run| {
            let at = run.position - start;
            let states = &mut states[at..at + run.length];
            let ([offset], [stride]) = (run.offsets, run.strides);
            if self.by_rows {
                for (index, state) in states.iter_mut().enumerate() {
                    *state = self.row(*state, offset + index as isize * stride, range.clone());
                }
            } else {
                for (index, states) in states.chunks_mut(FEW).enumerate() {
                    let offset = offset + (index * FEW) as isize * stride;
                    self.columns(states, offset, stride, range.clone());
                }
            }
        });
    }

    fn row(&self, mut state: S, base: isize, range: Range<usize>) -> S {
        self.reduced.runs(range, |run| {
            let offset = base + run.offsets[0];
            if run.strides[0] == 1 {
                let elements = &self.storage[offset as usize..offset as usize + run.length];
                state = self.dense(state, elements, run.position);
            } else {
                for index in 0..run.length {
                    let x = self.storage[(offset + index as isize * run.strides[0]) as usize];
                    state = (self.step)(state, x, run.position + index);
                }
            }
        });
        state
    }

    fn dense(&self, mut state: S, elements: &[T], mut position: usize) -> S {
        let chunks = elements.chunks_exact(LANES);
        let rest = chunks.remainder();
        if elements.len() >= LANES {
            let mut lanes = [self.identity; LANES];
            for chunk in chunks {
                for (lane, (state, &x)) in lanes.iter_mut().zip(chunk).enumerate() {
                    *state = (self.step)(*state, x, position + lane);
                }
                position += LANES;
            }
            state = lanes.into_iter().fold(state, &self.merge);
        }
        rest.iter().enumerate().fold(state, |s, (at, &x)| (self.step)(s, x, position + at))
    }

    fn columns(&self, states: &mut [S], base: isize, stride: isize, range: Range<usize>) {
        self.reduced.runs(range, |run| {
            for index in 0..run.length {
                let offset = base + run.offsets[0] + index as isize * run.strides[0];
                let position = run.position + index;
                if stride == 1 {
                    let row = &self.storage[offset as usize..offset as usize + states.len()];
                    for (state, &x) in states.iter_mut().zip(row) {
                        *state = (self.step)(*state, x, position);
                    }
                } else {
                    for (column, state) in states.iter_mut().enumerate() {
                        let x = self.storage[(offset + column as isize * stride) as usize];
                        *state = (self.step)(*state, x, position);
                    }
                }
            }
        });
    }
}

/// The shape with neighbouring axes merged where all or none are reduced, and which then are.
fn merge_axes(shape: &[usize], axes: &[usize]) -> (Shape, Vec<usize>) {
    let mut merged: Vec<(usize, bool)> = Vec::new();
    for (axis, &length) in shape.iter().enumerate() {
        let reduced = axes.contains(&axis);
        match merged.last_mut() {
            Some((outer, same)) if *same == reduced => *outer *= length,
            _ => merged.push((length, reduced)),
        }
    }
    if merged.is_empty() {
        merged.push((1, false));
    }
    let axes = (0..merged.len()).filter(|&axis| merged[axis].1).collect();
    (merged.into_iter().map(|(length, _)| length).collect(), axes)
}

/// Sum along `axis`, which stays with a size of 1.
pub(super) fn sum<B: Backend>(value: Value<B>, axis: usize) -> Value<B> {
    match value {
        Value::Float(tensor) => Value::Float(B::float_sum_dim(tensor, axis)),
        Value::Int(tensor) => Value::Int(B::int_sum_dim(tensor, axis)),
    }
}

/// Product along `axis`, which stays with a size of 1.
///
/// Halves are multiplied with each other, since Burn's own product goes
/// through logarithms where it is differentiated, which fail at zeros and
/// negative elements.
pub(super) fn product<B: Backend>(mut value: Value<B>, axis: usize) -> Result<Value<B>> {
    let mut odd: Option<Value<B>> = None;
    loop {
        let length = value.shape()[axis];
        if length == 1 {
            return odd.map_or(Ok(value.clone()), |odd| Reducer::Product.combine(value, odd));
        }
        let half = length / 2;
        if length % 2 == 1 {
            let last = axis::slice(value.clone(), axis, [length - 1, length, 1]);
            odd = Some(match odd {
                Some(odd) => Reducer::Product.combine(odd, last)?,
                None => last,
            });
        }
        let first = axis::slice(value.clone(), axis, [0, half, 1]);
        let second = axis::slice(value, axis, [half, 2 * half, 1]);
        value = Reducer::Product.combine(first, second)?;
    }
}

/// Greatest element along `axis`, which stays with a size of 1; NaN if any is.
pub(super) fn max<B: Backend>(value: Value<B>, axis: usize) -> Value<B> {
    extreme(value, axis, B::float_max_dim, B::int_max_dim)
}

/// Least element along `axis`, which stays with a size of 1; NaN if any is.
pub(super) fn min<B: Backend>(value: Value<B>, axis: usize) -> Value<B> {
    extreme(value, axis, B::float_min_dim, B::int_min_dim)
}

/// An extreme through Burn, whose backends differ in what they make of NaN.
fn extreme<B: Backend>(
    value: Value<B>,
    axis: usize,
    float: impl Fn(FloatTensor<B>, usize) -> FloatTensor<B>,
    int: impl Fn(IntTensor<B>, usize) -> IntTensor<B>,
) -> Value<B> {
    match value {
        Value::Float(tensor) => {
            let nan = B::bool_any_dim(B::float_is_nan(tensor.clone(), BOOL), axis);
            Value::Float(B::float_mask_fill(float(tensor, axis), nan, f64::NAN.into()))
        }
        Value::Int(tensor) => Value::Int(int(tensor, axis)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::testing::{check_burn, check_gradient, host, values};
    use half::bf16;
    use std::slice::from_ref;

    const KINDS: [ReduceKind; 6] = [
        ReduceKind::Sum,
        ReduceKind::Product,
        ReduceKind::ReduceMax,
        ReduceKind::ReduceMin,
        ReduceKind::All,
        ReduceKind::Any,
    ];

    fn reduce(kind: ReduceKind, axes: &[usize]) -> Reduce {
        Reduce { kind, axes: axes.to_vec(), keep_axes: false }
    }

    fn result_type(kind: ReduceKind, operand: DType) -> DType {
        if matches!(kind, ReduceKind::All | ReduceKind::Any) { DType::U8 } else { operand }
    }

    /// The result by the definition, one index at a time.
    fn naive(kind: ReduceKind, tensor: &HostTensor, axes: &[usize]) -> Vec<f64> {
        let shape = tensor.shape();
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let mut groups = vec![Vec::new(); kept.iter().map(|&axis| shape[axis]).product()];
        for (position, &x) in tensor.cast(DType::F64).elements::<f64>().iter().enumerate() {
            let (mut rest, mut index) = (position, vec![0; shape.len()]);
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let group = kept.iter().fold(0, |at, &axis| at * shape[axis] + index[axis]);
            groups[group].push(x);
        }
        let apply = |group: Vec<f64>| match kind {
            ReduceKind::Sum => group.iter().sum(),
            ReduceKind::Product => group.iter().product(),
            ReduceKind::ReduceMax => group.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            ReduceKind::ReduceMin => group.iter().copied().fold(f64::INFINITY, f64::min),
            ReduceKind::All => f64::from(u8::from(group.iter().all(|&x| x != 0.0))),
            ReduceKind::Any => f64::from(u8::from(group.iter().any(|&x| x != 0.0))),
        };
        groups.into_iter().map(apply).collect()
    }

    #[test]
    fn agrees_with_the_definition_over_any_view() {
        let elements: Vec<i32> = (0..120).map(|at| (at * 37 + 11) % 5 - 2).collect();
        let tensor = HostTensor::from_vec(elements, &[2, 3, 4, 5]);
        for dtype in [DType::F32, DType::S32, DType::BF16, DType::S64] {
            let tensor = tensor.cast(dtype);
            for view in [
                tensor.clone(),
                tensor.transpose(&[3, 1, 0, 2]),
                tensor.view(vec![2, 2, 5], vec![60, 40, 1], 15),
                tensor.view(vec![3, 4], vec![0, 5], 2),
            ] {
                for mask in 0..1_u32 << view.rank() {
                    let axes: Vec<_> = (0..view.rank()).filter(|&a| mask >> a & 1 == 1).collect();
                    for kind in KINDS {
                        let out = result_type(kind, dtype);
                        let result = host(reduce(kind, &axes), from_ref(&view), out);
                        let expected = naive(kind, &view, &axes);
                        let expected = HostTensor::from_vec(expected, result.shape()).cast(out);
                        let what = format!("{kind:?} of {dtype} over {axes:?}");
                        crate::testing::close(&expected, &result, 0.0, &what);
                    }
                }
            }
        }
    }

    #[test]
    fn large_reductions_agree_with_the_definition() {
        let elements: Vec<f32> = (0..300_000).map(|at| (at % 977) as f32 * 0.25 - 100.0).collect();
        for shape in [vec![300_000], vec![1000, 300], vec![2, 1000, 150], vec![100_000, 3]] {
            let tensor = HostTensor::from_vec(elements.clone(), &shape);
            for view in
                [tensor.clone(), tensor.transpose(&(0..shape.len()).rev().collect::<Vec<_>>())]
            {
                for axes in
                    (0..shape.len()).map(|axis| vec![axis]).chain([(0..shape.len()).collect()])
                {
                    for kind in [ReduceKind::Sum, ReduceKind::ReduceMax, ReduceKind::All] {
                        let out = result_type(kind, DType::F32);
                        let result = host(reduce(kind, &axes), from_ref(&view), out);
                        let expected =
                            HostTensor::from_vec(naive(kind, &view, &axes), result.shape());
                        crate::testing::close(
                            &expected.cast(out),
                            &result,
                            0.0,
                            &format!("{kind:?} {axes:?}"),
                        );
                    }
                    if let [axis] = axes[..] {
                        let op = ArgReduce {
                            kind: ArgReduceKind::Argmax,
                            axis: Some(axis),
                            keep_axis: true,
                            tie_break: TieBreak::High,
                        };
                        let found = host(op, from_ref(&view), DType::S64);
                        let max =
                            host(reduce(ReduceKind::ReduceMax, &axes), from_ref(&view), DType::F32);
                        let last = view.transpose(
                            &(0..shape.len())
                                .filter(|&a| a != axis)
                                .chain([axis])
                                .collect::<Vec<_>>(),
                        );
                        let (rows, max, found) =
                            (values::<f32>(&last), values::<f32>(&max), values::<i64>(&found));
                        for (at, row) in rows.chunks(view.shape()[axis]).enumerate() {
                            let expected = row.iter().rposition(|&x| x == max[at]);
                            assert_eq!(Some(found[at] as usize), expected);
                            if at > 20 {
                                break;
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn integers_wrap_and_floats_round_once() {
        let tensor = HostTensor::from_vec(vec![100_i8, 100, 100, 27], &[2, 2]);
        assert_eq!(
            values::<i8>(&host(reduce(ReduceKind::Sum, &[0, 1]), from_ref(&tensor), DType::S8)),
            [71]
        );
        assert_eq!(
            values::<i32>(&host(reduce(ReduceKind::Product, &[0]), from_ref(&tensor), DType::S32)),
            [10_000, 2700]
        );
        assert_eq!(
            values::<u8>(&host(reduce(ReduceKind::Product, &[0]), &[tensor], DType::U8)),
            [16, 140]
        );
        let large = HostTensor::from_vec(vec![u64::MAX, 2], &[2]);
        assert_eq!(values::<u64>(&host(reduce(ReduceKind::Sum, &[0]), &[large], DType::U64)), [1]);
        let small = HostTensor::from_vec(vec![bf16::from_f32(1.0); 1000], &[1000]);
        assert_eq!(
            values::<bf16>(&host(reduce(ReduceKind::Sum, &[0]), &[small], DType::BF16)),
            [bf16::from_f32(1000.0)]
        );
        let cancelling = HostTensor::from_vec(vec![1e8_f32, 1.0, -1e8], &[3]);
        assert_eq!(
            values::<f32>(&host(reduce(ReduceKind::Sum, &[0]), &[cancelling], DType::F32)),
            [1.0]
        );
    }

    #[test]
    fn nan_propagates_and_is_true() {
        let mut elements = vec![1.0_f32; 70];
        elements[40] = f32::NAN;
        let tensor = HostTensor::from_vec(elements, &[2, 35]);
        for kind in [ReduceKind::ReduceMax, ReduceKind::ReduceMin] {
            let result = check_burn(reduce(kind, &[1]), from_ref(&tensor), DType::F32, 0.0);
            let result = values::<f32>(&result);
            assert!(result[0] == 1.0 && result[1].is_nan());
        }
        let result = check_burn(reduce(ReduceKind::All, &[0, 1]), &[tensor], DType::U8, 0.0);
        assert_eq!(values::<u8>(&result), [1]);
    }

    fn arg(kind: ArgReduceKind, axis: Option<usize>, tie_break: TieBreak) -> ArgReduce {
        ArgReduce { kind, axis, keep_axis: false, tie_break }
    }

    // The values are those of Nx.BinaryBackend, except that of several NaN it always takes the last.
    #[test]
    fn finds_extremes_as_nx() {
        use ArgReduceKind::{Argmax, Argmin};
        use TieBreak::{High, Low};
        let tensor = HostTensor::from_vec(vec![3_i32, 1, 3, 1, 3, 1], &[2, 3]);
        for (kind, axis, tie_break, expected) in [
            (Argmax, None, Low, vec![0]),
            (Argmin, None, Low, vec![1]),
            (Argmax, None, High, vec![4]),
            (Argmin, None, High, vec![5]),
            (Argmax, Some(0), Low, vec![0, 1, 0]),
            (Argmin, Some(0), High, vec![1, 0, 1]),
            (Argmax, Some(1), Low, vec![0, 1]),
            (Argmin, Some(1), Low, vec![1, 0]),
            (Argmax, Some(1), High, vec![2, 1]),
            (Argmin, Some(1), High, vec![1, 2]),
        ] {
            for dtype in [DType::S32, DType::F32] {
                let op = arg(kind, axis, tie_break);
                let result = check_burn(op, &[tensor.cast(dtype)], DType::S32, 0.0);
                assert_eq!(values::<i32>(&result), expected);
            }
        }
        let nan = f32::NAN;
        let mut elements = vec![1.0, nan, 3.0, nan, 3.0];
        for _ in 0..2 {
            let tensor = HostTensor::from_vec(elements.clone(), &[elements.len()]);
            for kind in [Argmax, Argmin] {
                for (tie_break, expected) in [(Low, 1), (High, 3)] {
                    let op = arg(kind, None, tie_break);
                    let result = check_burn(op, from_ref(&tensor), DType::U8, 0.0);
                    assert_eq!(values::<u8>(&result), [expected]);
                }
            }
            elements.extend([0.5; 60]);
        }
    }

    #[test]
    fn burn_agrees() {
        let elements: Vec<f64> = (0..120).map(|at| (at as f64 * 1.7).sin() * 1.5).collect();
        let tensor = HostTensor::from_vec(elements, &[2, 3, 4, 5]);
        for dtype in [DType::F32, DType::F64, DType::S32, DType::S64] {
            let operand = tensor.cast(dtype).transpose(&[2, 0, 3, 1]);
            for axes in [&[][..], &[0], &[3], &[1, 2], &[0, 3], &[0, 1, 2, 3]] {
                for kind in KINDS {
                    let mut op = reduce(kind, axes);
                    let out = result_type(kind, dtype);
                    check_burn(op.clone(), from_ref(&operand), out, 1e-5);
                    op.keep_axes = true;
                    check_burn(op, from_ref(&operand), out, 1e-5);
                }
            }
        }
        let scalar = HostTensor::from_vec(vec![3.0_f32], &[]);
        for kind in KINDS {
            check_burn(reduce(kind, &[]), from_ref(&scalar), result_type(kind, DType::F32), 0.0);
        }
        check_burn(arg(ArgReduceKind::Argmax, None, TieBreak::Low), &[scalar], DType::S32, 0.0);
        check_burn(reduce(ReduceKind::Sum, &[1]), &[tensor], DType::F32, 1e-6);
    }

    #[test]
    fn differentiates() {
        let elements: Vec<f64> = (0..30).map(|at| (at as f64 * 1.3).sin() + 0.1).collect();
        let tensor = HostTensor::from_vec(elements, &[2, 3, 5]);
        for kind in
            [ReduceKind::Sum, ReduceKind::Product, ReduceKind::ReduceMax, ReduceKind::ReduceMin]
        {
            for axes in [&[0][..], &[1, 2], &[0, 2], &[0, 1, 2]] {
                check_gradient(
                    Reduce { kind, axes: axes.to_vec(), keep_axes: true },
                    from_ref(&tensor),
                );
            }
        }
        let zeros = HostTensor::from_vec(vec![0.0, 2.0, -3.0, 0.0, 0.0, 1.5], &[2, 3]);
        check_gradient(reduce(ReduceKind::Product, &[1]), &[zeros]);
    }

    #[test]
    fn refuses_axes_and_types_that_do_not_fit() {
        let spec = [Spec::new(DType::F32, vec![2, 3])];
        let infer = |op: Op, dtype| op.infer(&spec, dtype).map(|spec| spec.shape);
        assert_eq!(infer(reduce(ReduceKind::Sum, &[1]).into(), DType::F32), Ok(vec![2]));
        assert!(infer(reduce(ReduceKind::Sum, &[2]).into(), DType::F32).is_err());
        assert!(infer(reduce(ReduceKind::Sum, &[usize::MAX]).into(), DType::F32).is_err());
        assert!(infer(reduce(ReduceKind::Sum, &[0, 0]).into(), DType::F32).is_err());
        assert!(infer(reduce(ReduceKind::ReduceMax, &[0]).into(), DType::F64).is_err());
        assert!(infer(reduce(ReduceKind::All, &[0]).into(), DType::F32).is_err());
        let kind = ArgReduceKind::Argmax;
        assert!(infer(arg(kind, Some(2), TieBreak::Low).into(), DType::S32).is_err());
        assert!(infer(arg(kind, None, TieBreak::Low).into(), DType::F32).is_err());
        let mut keep = arg(kind, None, TieBreak::Low);
        keep.keep_axis = true;
        assert_eq!(infer(keep.clone().into(), DType::S32), Ok(vec![]));
        keep.axis = Some(1);
        assert_eq!(infer(keep.into(), DType::S32), Ok(vec![2, 1]));
        assert!(reduce(ReduceKind::Sum, &[]).infer(&[], DType::F32).is_err());
    }
}
