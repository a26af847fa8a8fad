//! Windows that move over a tensor: their sums, products and extremes, and scattering to extremes.

use super::axis::{self, Reducer};
use super::reduce;
use crate::host::parallel;
use crate::op::{Operation, take, take_owned};
use crate::{DType, Element, HostTensor, Result, Shape, Spec, Value, ensure, shape, with_element};
use burn_backend::Backend;
use serde::Deserialize;
use std::borrow::Cow;

/// The elements under every position of a window, combined.
///
/// Padding counts as the identity of `kind`; negative padding removes elements.
/// Where equal elements tie for an extreme, the gradient goes to one of them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Window {
    /// What the elements are combined with.
    pub kind: Reducer,
    /// The size of the window along every axis.
    pub dimensions: Vec<usize>,
    /// How far the window moves along every axis.
    pub strides: Vec<usize>,
    /// What is added before and after every axis.
    pub padding: Vec<(i64, i64)>,
    /// The distance between neighbours in the window along every axis.
    pub dilations: Vec<usize>,
}

/// A window along one axis. Its numbers have been checked: none of the products below overflow.
struct Axis {
    /// The size of the tensor's axis.
    length: usize,
    width: usize,
    stride: usize,
    dilation: usize,
    low: isize,
    high: isize,
    /// The number of positions.
    count: usize,
}

impl Axis {
    /// Whether the window changes nothing along the axis.
    fn is_identity(&self) -> bool {
        (self.width, self.stride, self.low, self.high) == (1, 1, 0, 0)
    }
}

/// The window along every axis, or why it doesn't fit the shape.
fn axes(
    op: &str,
    shape: &[usize],
    dimensions: &[usize],
    strides: &[usize],
    padding: &[(i64, i64)],
    dilations: &[usize],
) -> Result<Vec<Axis>> {
    let rank = shape.len();
    for (what, given) in [
        ("dimensions", dimensions.len()),
        ("strides", strides.len()),
        ("padding", padding.len()),
        ("dilations", dilations.len()),
    ] {
        ensure!(given == rank, op, format!("{what} of {given} axes"), format!("{rank} axes"));
    }
    (0..rank)
        .map(|axis| {
            let length = shape[axis];
            let (width, stride, dilation) = (dimensions[axis], strides[axis], dilations[axis]);
            ensure!(
                width > 0 && stride > 0 && dilation > 0,
                op,
                format!("window {width}, stride {stride} and dilation {dilation}"),
                "at least 1 of each"
            );
            let (low, high) = (i128::from(padding[axis].0), i128::from(padding[axis].1));
            let removed = -low.min(0) - high.min(0);
            let padded = length as i128 + low + high;
            ensure!(
                removed < length as i128 && padded <= isize::MAX as i128,
                op,
                format!("padding {low} and {high} of {length} elements"),
                "padding that keeps some of them and fits in memory"
            );
            let span = (width - 1).checked_mul(dilation).and_then(|span| span.checked_add(1));
            let room = span.and_then(|span| (padded as usize).checked_sub(span));
            let Some(room) = room else {
                return Err(crate::Error::new(
                    op,
                    format!("window {width} with dilation {dilation}"),
                    format!("a window within the {padded} elements of axis {axis}"),
                ));
            };
            let (low, high) = (low as isize, high as isize);
            Ok(Axis { length, width, stride, dilation, low, high, count: room / stride + 1 })
        })
        .collect()
}

impl Window {
    fn axes(&self, shape: &[usize]) -> Result<Vec<Axis>> {
        let Self { dimensions, strides, padding, dilations, .. } = self;
        axes(self.name(), shape, dimensions, strides, padding, dilations)
    }
}

impl Operation for Window {
    fn name(&self) -> &'static str {
        match self.kind {
            Reducer::Sum => "window_sum",
            Reducer::Product => "window_product",
            Reducer::Max => "window_max",
            Reducer::Min => "window_min",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        let fits = matches!(self.kind, Reducer::Sum | Reducer::Product) || dtype == operand.dtype;
        let expected = "a result of the operand's type";
        ensure!(fits, self.name(), format!("{operand} to {dtype}"), expected);
        let axes = self.axes(&operand.shape)?;
        Ok(Spec::new(dtype, axes.iter().map(|axis| axis.count).collect::<Shape>()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let axes = self.axes(operand.shape())?;
        let wide = matches!(self.kind, Reducer::Sum | Reducer::Product) && out.dtype.is_float();
        let dtype = if wide { DType::F64 } else { out.dtype };
        let operand = operand.cast(dtype);
        let result = with_element!(dtype, T => {
            let identity = self.kind.identity();
            let elements = match self.kind {
                Reducer::Sum => slide(&operand, &axes, identity, <T as Element>::add),
                Reducer::Product => slide(&operand, &axes, identity, <T as Element>::multiply),
                Reducer::Max => slide(&operand, &axes, identity, <T as Element>::max),
                Reducer::Min => slide(&operand, &axes, identity, <T as Element>::min),
            };
            HostTensor::from_vec(elements, &out.shape)
        });
        Ok(result.cast(out.dtype))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [operand] = take_owned(name, operands)?;
        let axes = self.axes(&operand.shape())?;
        let mut value = operand.cast(out.dtype);
        for at in shrinking_first(&axes) {
            let axis = &axes[at];
            let (start, end) =
                (axis.low.min(0).unsigned_abs(), axis.length - axis.high.min(0).unsigned_abs());
            let kept = axis::slice(value, at, [start, end, 1]).into_float(name)?;
            let padding = [axis.low.max(0) as usize, axis.high.max(0) as usize];
            let fill = self.kind.identity();
            let padded = Value::Float(axis::pad::<B>(kept, at, padding, fill));
            value = if axis.count == 1 && axis.dilation == 1 {
                let window = axis::slice(padded, at, [0, axis.width, 1]);
                match self.kind {
                    Reducer::Sum => reduce::sum(window, at),
                    Reducer::Product => reduce::product(window, at)?,
                    Reducer::Max => reduce::max(window, at),
                    Reducer::Min => reduce::min(window, at),
                }
            } else {
                let tap = |tap: usize| {
                    let start = tap * axis.dilation;
                    let end = start + (axis.count - 1) * axis.stride + 1;
                    axis::slice(padded.clone(), at, [start, end, axis.stride])
                };
                (1..axis.width).try_fold(tap(0), |sum, at| self.kind.combine(sum, tap(at)))?
            };
        }
        Ok(value)
    }
}

/// The axes along which a window does something, those that shrink most first: windows are
/// combined one axis after the other, and what is gone is not read again.
fn shrinking_first(axes: &[Axis]) -> Vec<usize> {
    let mut order: Vec<_> = (0..axes.len()).filter(|&axis| !axes[axis].is_identity()).collect();
    let ratio = |axis: &Axis| axis.count as f64 / axis.length as f64;
    order.sort_by(|&left, &right| ratio(&axes[left]).total_cmp(&ratio(&axes[right])));
    order
}

/// The combined elements of every window, row-major.
#[inline(never)]
fn slide<T: Element>(
    operand: &HostTensor,
    axes: &[Axis],
    identity: T,
    combine: impl Fn(T, T) -> T + Sync,
) -> Vec<T> {
    let mut shape = operand.shape().to_vec();
    let mut elements = operand.elements::<T>();
    for axis in shrinking_first(axes) {
        let inner = shape[axis + 1..].iter().product();
        shape[axis] = axes[axis].count;
        let size = shape::size(&shape);
        elements = Cow::Owned(slide_axis(&elements, size, inner, &axes[axis], identity, &combine));
    }
    elements.into_owned()
}

/// Elements of the result that are computed at once, so that they stay in the cache.
const BLOCK: usize = 1 << 11;

/// The windows along one axis of `input`, over whose every position lie `inner` elements.
#[inline(never)]
fn slide_axis<T: Element>(
    input: &[T],
    size: usize,
    inner: usize,
    axis: &Axis,
    identity: T,
    combine: impl Fn(T, T) -> T + Sync,
) -> Vec<T> {
    let mut output = vec![identity; size];
    let stride = axis.stride as isize;
    // A block spans no more of the axis than there is, which bounds the part of the window to visit.
    let block = (BLOCK / inner).min(axis.length / axis.stride).max(1);
    parallel::for_each_part(&mut output, inner, axis.width.min(axis.length), |start, part| {
        let (mut position, mut rest) = (start / inner, part);
        while !rest.is_empty() {
            let (outer, column) = (position / axis.count, position % axis.count);
            let columns = block.min(axis.count - column).min(rest.len() / inner);
            let (out, tail) = rest.split_at_mut(columns * inner);
            let row = &input[outer * axis.length * inner..(outer + 1) * axis.length * inner];
            // Where the first and the last window of the block begin.
            let from = column as isize * stride - axis.low;
            let to = from + (columns - 1) as isize * stride;
            for tap in taps(axis, from, to) {
                let shift = from + (tap * axis.dilation) as isize;
                let first = ceil_div(-shift, stride).max(0) as usize;
                let end = ceil_div(axis.length as isize - shift, stride).max(0) as usize;
                for index in first..end.min(columns) {
                    let source = (shift + index as isize * stride) as usize * inner;
                    if inner == 1 {
                        out[index] = combine(out[index], row[source]);
                        continue;
                    }
                    let source = &row[source..source + inner];
                    let out = &mut out[index * inner..(index + 1) * inner];
                    out.iter_mut().zip(source).for_each(|(out, &x)| *out = combine(*out, x));
                }
            }
            position += columns;
            rest = tail;
        }
    });
    output
}

/// The part of the window that meets the axis, in one of the windows that begin in `from..=to`.
fn taps(axis: &Axis, from: isize, to: isize) -> std::ops::Range<usize> {
    let dilation = axis.dilation as isize;
    let first = ceil_div(-to, dilation).max(0) as usize;
    let end = ceil_div(axis.length as isize - from, dilation).max(0) as usize;
    first..end.min(axis.width)
}

fn ceil_div(value: isize, by: isize) -> isize {
    value.div_euclid(by) + isize::from(value.rem_euclid(by) > 0)
}

/// Which extreme of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extreme {
    /// The greatest element.
    Max,
    /// The least element.
    Min,
}

/// Every value of a source added where its window has its extreme, as `Nx.window_scatter_max/5`.
///
/// The operands are the tensor under the windows, the source with one value
/// per window, and the value everything starts from, which is also that of the
/// padding. The last of equal extremes gets the value; what falls on padding is lost.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct WindowScatter {
    /// Which extreme.
    pub kind: Extreme,
    /// The size of the window along every axis.
    pub dimensions: Vec<usize>,
    /// How far the window moves along every axis.
    pub strides: Vec<usize>,
    /// What is added before and after every axis.
    pub padding: Vec<(i64, i64)>,
}

/// Elements up to which a window that scatters is accepted: every one is visited, also in padding.
const LARGEST: usize = 1 << 31;

impl WindowScatter {
    fn axes(&self, shape: &[usize]) -> Result<Vec<Axis>> {
        let dilations = vec![1; shape.len()];
        axes(self.name(), shape, &self.dimensions, &self.strides, &self.padding, &dilations)
    }
}

impl Operation for WindowScatter {
    fn name(&self) -> &'static str {
        match self.kind {
            Extreme::Max => "window_scatter_max",
            Extreme::Min => "window_scatter_min",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [tensor, source, initial] = take(self.name(), operands)?;
        ensure!(initial.rank() == 0, self.name(), initial, "a scalar to start from");
        let axes = self.axes(&tensor.shape)?;
        let windows: Shape = axes.iter().map(|axis| axis.count).collect();
        ensure!(
            source.shape == windows,
            self.name(),
            format!("a source of shape {}", shape::show(&source.shape)),
            format!("one of shape {}", shape::show(&windows))
        );
        let size = axes.iter().try_fold(1_usize, |size, axis| size.checked_mul(axis.width));
        ensure!(
            size.is_some_and(|size| size <= LARGEST),
            self.name(),
            format!("window {}", shape::show(&self.dimensions)),
            format!("at most {LARGEST} elements")
        );
        Ok(Spec::new(dtype, tensor.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [tensor, source, initial] = take(self.name(), operands)?;
        let axes = self.axes(tensor.shape())?;
        let compared = match (tensor.dtype().is_float(), initial.dtype().is_float()) {
            (true, _) => tensor.dtype(),
            (false, true) => initial.dtype(),
            (false, false) => tensor.dtype().merge(initial.dtype()),
        };
        let (tensor, padding) = (tensor.cast(compared), initial.cast(compared));
        let targets = with_element!(compared, T => match self.kind {
            Extreme::Max => targets(&tensor, &axes, padding.scalar(), |a: T, b: T| a >= b),
            Extreme::Min => targets(&tensor, &axes, padding.scalar(), |a: T, b: T| a <= b),
        });
        let result = if out.dtype.is_float() {
            scatter::<f64>(&targets, &source.cast(DType::F64), &initial.cast(DType::F64), out)
        } else {
            let wide = |tensor: &HostTensor| tensor.cast(out.dtype).cast(DType::S64);
            scatter::<i64>(&targets, &wide(source), &wide(initial), out)
        };
        Ok(result.cast(out.dtype))
    }
}

/// Stands for the padding among positions of the tensor.
const PADDING: usize = usize::MAX;

/// Where in the tensor every window has its extreme. `wins` compares an element with the best before.
#[inline(never)]
fn targets<T: Element>(
    tensor: &HostTensor,
    axes: &[Axis],
    padding: T,
    wins: impl Fn(T, T) -> bool + Sync,
) -> Vec<usize> {
    let elements = tensor.elements::<T>();
    let counts: Shape = axes.iter().map(|axis| axis.count).collect();
    let size: usize = axes.iter().map(|axis| axis.width).product();
    let mut targets = vec![PADDING; shape::size(&counts)];
    parallel::for_each_part(&mut targets, 1, size, |start, part| {
        let (mut begin, mut offset) = (vec![0_isize; axes.len()], vec![0_usize; axes.len()]);
        for (index, target) in part.iter_mut().enumerate() {
            let mut rest = start + index;
            for (axis, begin) in axes.iter().zip(&mut begin).rev() {
                *begin = (rest % axis.count * axis.stride) as isize - axis.low;
                rest /= axis.count;
            }
            let mut best = None;
            for _ in 0..size {
                let position = axes.iter().zip(&begin).zip(&offset).try_fold(0, {
                    |position, ((axis, &begin), &offset)| {
                        let at = usize::try_from(begin + offset as isize).ok()?;
                        (at < axis.length).then(|| position * axis.length + at)
                    }
                });
                let x = position.map_or(padding, |position| elements[position]);
                if best.is_none_or(|best| wins(x, best)) {
                    best = Some(x);
                    *target = position.unwrap_or(PADDING);
                }
                for (axis, offset) in axes.iter().zip(&mut offset).rev() {
                    *offset += 1;
                    if *offset < axis.width {
                        break;
                    }
                    *offset = 0;
                }
            }
        }
    });
    targets
}

/// Every element of `source` added to its target, over a tensor of `initial`.
#[inline(never)]
fn scatter<T: Element>(
    targets: &[usize],
    source: &HostTensor,
    initial: &HostTensor,
    out: &Spec,
) -> HostTensor {
    let mut result = vec![initial.scalar::<T>(); out.size()];
    for (&target, &x) in targets.iter().zip(source.elements::<T>().iter()) {
        if target != PADDING {
            result[target] = result[target].add(x);
        }
    }
    HostTensor::from_vec(result, &out.shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, close, host};
    use std::slice::from_ref;

    const KINDS: [Reducer; 4] = [Reducer::Sum, Reducer::Product, Reducer::Max, Reducer::Min];
    const INF: f64 = f64::INFINITY;

    fn window(
        kind: Reducer,
        dimensions: &[usize],
        strides: &[usize],
        padding: &[(i64, i64)],
        dilations: &[usize],
    ) -> Window {
        Window {
            kind,
            dimensions: dimensions.to_vec(),
            strides: strides.to_vec(),
            padding: padding.to_vec(),
            dilations: dilations.to_vec(),
        }
    }

    fn values(tensor: &HostTensor) -> Vec<f64> {
        tensor.cast(DType::F64).elements::<f64>().into_owned()
    }

    // The values are those of Nx.BinaryBackend.
    #[test]
    fn combines_as_nx() {
        let elements = vec![3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0, 5.0, 3.0, -5.0, 8.0];
        let tensor = HostTensor::from_vec(elements, &[3, 4]);
        let bytes = HostTensor::from_vec(vec![100_i8, 100, 3, -128], &[4]);
        let dilated = [
            [4.0, 8.0, 10.0, 8.0],
            [-45.0, 12.0, -45.0, -160.0],
            [9.0, 6.0, 5.0, 8.0],
            [-5.0, 2.0, -1.0, -5.0],
        ];
        let shifted = [
            [8.0, 6.0, 7.0, 0.0, 0.0, 0.0, 12.0, -3.0, 14.0, 0.0, 0.0, 0.0],
            [-9.0, 8.0, 6.0, 1.0, 1.0, 1.0, 27.0, -10.0, 48.0, 1.0, 1.0, 1.0],
            [9.0, 4.0, 6.0, -INF, -INF, -INF, 9.0, 2.0, 8.0, -INF, -INF, -INF],
            [-1.0, 2.0, 1.0, INF, INF, INF, 3.0, -5.0, 6.0, INF, INF, INF],
        ];
        let wrapped = [
            [-56.0, 103.0, -125.0, -128.0, 0.0],
            [16.0, 44.0, -128.0, -128.0, 1.0],
            [100.0, 100.0, 3.0, -128.0, -128.0],
            [100.0, 3.0, -128.0, -128.0, 127.0],
        ];
        for (at, kind) in KINDS.into_iter().enumerate() {
            let op = window(kind, &[2, 2], &[1, 2], &[(1, 0), (0, 1)], &[2, 1]);
            for dtype in [DType::F32, DType::F64, DType::S16] {
                let operand = [tensor.cast(dtype)];
                let result = if dtype.is_float() {
                    check_burn(op.clone(), &operand, dtype, 1e-6)
                } else {
                    host(op.clone(), &operand, dtype)
                };
                assert_eq!(values(&result), dilated[at], "{kind:?}");
            }
            let op = window(kind, &[2, 1], &[1, 1], &[(0, 0), (-1, 3)], &[1, 1]);
            let result = check_burn(op, from_ref(&tensor), DType::F64, 1e-12);
            assert_eq!(values(&result), shifted[at], "{kind:?}");
            let op = window(kind, &[2], &[1], &[(0, 2)], &[1]);
            assert_eq!(values(&host(op, from_ref(&bytes), DType::S8)), wrapped[at], "{kind:?}");
        }
    }

    /// The sums by the definition, over a tensor of three axes.
    fn naive_sum(tensor: &HostTensor, op: &Window) -> Vec<f64> {
        let elements = values(tensor);
        let axes = op.axes(tensor.shape()).unwrap();
        let at = |axis: usize, position: usize, tap: usize| {
            let at = (position * op.strides[axis] + tap * op.dilations[axis]) as i64
                - op.padding[axis].0;
            usize::try_from(at).ok().filter(|&at| at < tensor.shape()[axis])
        };
        let mut sums = Vec::new();
        for i in 0..axes[0].count {
            for j in 0..axes[1].count {
                for k in 0..axes[2].count {
                    let mut sum = 0.0;
                    for a in 0..op.dimensions[0] {
                        for b in 0..op.dimensions[1] {
                            for c in 0..op.dimensions[2] {
                                if let (Some(a), Some(b), Some(c)) =
                                    (at(0, i, a), at(1, j, b), at(2, k, c))
                                {
                                    let shape = tensor.shape();
                                    sum += elements[(a * shape[1] + b) * shape[2] + c];
                                }
                            }
                        }
                    }
                    sums.push(sum);
                }
            }
        }
        sums
    }

    #[test]
    fn sums_over_strided_views_and_many_blocks() {
        let elements: Vec<f32> = (0..60_000).map(|at| (at % 101) as f32 - 50.0).collect();
        let tensor = HostTensor::from_vec(elements, &[20, 30, 100]);
        for axes in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let view = tensor.transpose(&axes);
            for op in [
                window(Reducer::Sum, &[2, 3, 1], &[1, 2, 1], &[(0, 1), (2, 0), (0, 0)], &[1, 1, 1]),
                window(
                    Reducer::Sum,
                    &[1, 2, 3],
                    &[3, 1, 2],
                    &[(1, 1), (-2, 0), (4, 3)],
                    &[1, 5, 3],
                ),
                window(
                    Reducer::Sum,
                    &[5, 1, 20],
                    &[1, 1, 1],
                    &[(9, 9), (0, 0), (0, 0)],
                    &[1, 1, 1],
                ),
            ] {
                let result = host(op.clone(), from_ref(&view), DType::F32);
                assert_eq!(values(&result), naive_sum(&view, &op));
            }
        }
    }

    #[test]
    fn visits_only_the_part_of_a_huge_window_that_meets_the_tensor() {
        let tensor = HostTensor::from_vec(vec![1_i64, 2, 3], &[3]);
        let far = 1_usize << 60;
        let op = window(Reducer::Sum, &[far], &[far], &[(far as i64 - 2, far as i64)], &[1]);
        assert_eq!(values(&host(op, from_ref(&tensor), DType::S64)), [3.0, 3.0]);
        let op = window(Reducer::Max, &[2], &[1], &[(0, far as i64)], &[far + 1]);
        assert_eq!(values(&host(op, from_ref(&tensor), DType::S64)), [1.0, 2.0]);
    }

    #[test]
    fn burn_agrees_and_differentiates() {
        let elements: Vec<f64> =
            (0..90).map(|at| (f64::from(at) * 1.7).sin() * 2.0 + 0.3).collect();
        let tensor = HostTensor::from_vec(elements, &[3, 6, 5]);
        for kind in KINDS {
            for op in [
                window(kind, &[1, 2, 2], &[1, 2, 2], &[(0, 0); 3], &[1; 3]),
                window(kind, &[1, 3, 2], &[1, 1, 3], &[(0, 0), (1, 1), (-1, 2)], &[1, 2, 1]),
                window(kind, &[3, 6, 5], &[1; 3], &[(0, 0); 3], &[1; 3]),
                window(kind, &[1; 3], &[1; 3], &[(0, 0); 3], &[1; 3]),
            ] {
                check_burn(op.clone(), &[tensor.transpose(&[0, 1, 2])], DType::F64, 1e-12);
                check_burn(op.clone(), &[tensor.cast(DType::F32)], DType::F32, 1e-5);
                check_gradient(op, from_ref(&tensor));
            }
        }
        let zeros = HostTensor::from_vec(vec![0.0, 2.0, 0.0, -1.0, 3.0], &[5]);
        check_gradient(window(Reducer::Product, &[3], &[1], &[(1, 0)], &[1]), &[zeros]);
        let nan = HostTensor::from_vec(vec![1.0, f64::NAN, 2.0, 3.0], &[4]);
        let op = window(Reducer::Max, &[2], &[1], &[(0, 0)], &[1]);
        let result = values(&check_burn(op, &[nan], DType::F64, 0.0));
        assert!(result[0].is_nan() && result[1].is_nan() && result[2] == 3.0);
        let scalar = HostTensor::from_vec(vec![2.0_f32], &[]);
        check_burn(window(Reducer::Sum, &[], &[], &[], &[]), &[scalar], DType::F32, 0.0);
    }

    #[test]
    fn refuses_windows_that_do_not_fit() {
        let spec = [Spec::new(DType::F32, vec![4])];
        let infer = |dimension, stride, padding, dilation| {
            let op = window(Reducer::Max, &[dimension], &[stride], &[padding], &[dilation]);
            op.infer(&spec, DType::F32).map(|spec| spec.shape)
        };
        const MAX: usize = usize::MAX;
        assert_eq!(infer(3, 1, (0, 0), 1), Ok(vec![2]));
        for (dimension, stride, padding, dilation) in [
            (0, 1, (0, 0), 1),
            (1, 0, (0, 0), 1),
            (1, 1, (0, 0), 0),
            (5, 1, (0, 0), 1),
            (2, 1, (0, 0), 4),
            (MAX, 1, (0, 0), MAX),
            (2, 1, (0, 0), MAX),
            (1, 1, (i64::MAX, i64::MAX), 1),
            (1, 1, (i64::MIN, i64::MAX), 1),
            (1, 1, (i64::MIN, i64::MIN), 1),
            (1, 1, (-4, 9), 1),
        ] {
            assert!(infer(dimension, stride, padding, dilation).is_err());
        }
        assert_eq!(infer(1, MAX, (0, 0), MAX), Ok(vec![1]));
        let op = window(Reducer::Sum, &[1, 1], &[1], &[(0, 0)], &[1]);
        assert!(op.infer(&spec, DType::F32).is_err());
        let op = window(Reducer::Max, &[1], &[1], &[(0, 0)], &[1]);
        assert!(op.infer(&spec, DType::F64).is_err());
    }

    fn window_scatter(kind: Extreme, padding: &[(i64, i64)]) -> WindowScatter {
        let dimensions = vec![2; padding.len()];
        let mut strides = vec![1; padding.len()];
        if let Some(last) = strides.last_mut() {
            *last = 2;
        }
        WindowScatter { kind, dimensions, strides, padding: padding.to_vec() }
    }

    // The values are those of Nx.BinaryBackend, but it compares what it pads with another type
    // by the bits: no values of it for those.
    #[test]
    fn scatters_as_nx() {
        let tensor = HostTensor::from_vec(vec![1, 2, 2, 1, 2, 2, 1, 0, 2, 1, 2, 2], &[3, 4]);
        let source = HostTensor::from_vec((1..13).collect::<Vec<i32>>(), &[4, 3]);
        let padding = [(1, 1), (1, 1)];
        for (kind, initial, expected) in [
            (Extreme::Max, 0, [1, 0, 2, 9, 4, 5, 0, 0, 17, 0, 19, 21]),
            (Extreme::Max, 5, [5, 5, 5, 5, 5, 10, 5, 5, 5, 5, 13, 5]),
            (Extreme::Min, 0, [0, 0, 0, 0, 0, 0, 5, 0, 0, 8, 0, 0]),
            (Extreme::Min, 5, [10, 5, 7, 8, 5, 5, 10, 20, 22, 24, 5, 17]),
        ] {
            for dtype in [DType::S32, DType::F32, DType::U8] {
                let initial = HostTensor::from_vec(vec![initial], &[]).cast(dtype);
                let transposed = tensor.transpose(&[1, 0]).cast(dtype).transpose(&[1, 0]);
                let result = host(
                    window_scatter(kind, &padding),
                    &[transposed, source.clone(), initial],
                    dtype,
                );
                assert_eq!(values(&result), expected.map(f64::from), "{kind:?}");
            }
        }
        let initial = HostTensor::from_vec(vec![0], &[]);
        let source = HostTensor::from_vec(vec![1, 2], &[1, 2]);
        let op = window_scatter(Extreme::Max, &[(-1, 0), (0, 0)]);
        let result = host(op, &[tensor, source, initial], DType::S32);
        assert_eq!(values(&result), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 2.0]);

        let nan = f32::NAN;
        let tensor = HostTensor::from_vec(vec![nan, 1.0, 2.0, nan, 3.0, nan], &[6]);
        let source = HostTensor::from_vec(vec![1.0_f32, 2.0, 3.0], &[3]);
        let initial = HostTensor::from_vec(vec![0.0_f32], &[]);
        let op = window_scatter(Extreme::Max, &[(0, 0)]);
        let result = host(op, &[tensor, source, initial], DType::F32);
        assert_eq!(values(&result), [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
    }

    #[test]
    fn many_windows_scatter_as_few_do() {
        let (rows, columns) = (40, 3000);
        let elements: Vec<i32> = (0..rows * columns).map(|at| (at * 7919) % 1009).collect();
        let source: Vec<i32> = (0..(rows - 1) * columns / 2).collect();
        let source = HostTensor::from_vec(source, &[rows as usize - 1, columns as usize / 2]);
        let tensor = HostTensor::from_vec(elements.clone(), &[rows as usize, columns as usize]);
        let initial = HostTensor::from_vec(vec![0], &[]);
        let op = window_scatter(Extreme::Min, &[(0, 0), (0, 0)]);
        let result = host(op, &[tensor, source.clone(), initial], DType::S32);
        let mut expected = vec![0; elements.len()];
        for row in 0..rows as usize - 1 {
            for column in 0..columns as usize / 2 {
                let corner = row * columns as usize + 2 * column;
                let below = corner + columns as usize;
                let places = [corner, corner + 1, below, below + 1];
                let least = places.iter().map(|&at| elements[at]).min().unwrap();
                let last = places.into_iter().rfind(|&at| elements[at] == least).unwrap();
                expected[last] += (row * columns as usize / 2 + column) as i32;
            }
        }
        let expected = HostTensor::from_vec(expected, result.shape());
        close(&expected, &result, 0.0, "window_scatter_min");
    }

    #[test]
    fn refuses_scatters_that_do_not_fit() {
        let specs = |source: &[usize], initial: &[usize]| {
            [vec![4], source.to_vec(), initial.to_vec()].map(|shape| Spec::new(DType::F32, shape))
        };
        let op = window_scatter(Extreme::Max, &[(0, 0)]);
        assert!(op.infer(&specs(&[2], &[]), DType::F32).is_ok());
        assert!(op.infer(&specs(&[3], &[]), DType::F32).is_err());
        assert!(op.infer(&specs(&[2], &[1]), DType::F32).is_err());
        assert!(op.infer(&specs(&[2], &[])[..2], DType::F32).is_err());
        let huge = WindowScatter {
            kind: Extreme::Max,
            dimensions: vec![1 << 40],
            strides: vec![1 << 40],
            padding: vec![(1 << 40, 0)],
        };
        assert!(huge.infer(&specs(&[1], &[]), DType::F32).is_err());
    }
}
