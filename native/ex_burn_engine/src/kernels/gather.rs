//! Reading elements and rows at indices.

use crate::host::elementwise::{Walk, map};
use crate::host::parallel;
use crate::op::{Operation, check_kept, take, take_owned};
use crate::{DType, Element, Error, HostTensor, Result, Spec, Value, ensure, shape};
use crate::{with_element, with_integer};
use burn_backend::Backend;
use burn_backend::Slice as Range;
use burn_backend::tensor::IntTensor;
use serde::Deserialize;

/// The parts of a tensor at coordinates, as `Nx.gather`: operands are the tensor and the indices.
///
/// The last axis of the indices holds a coordinate for each of `axes`. The
/// result has the indices' other axes, then the tensor's axes that are not in
/// `axes`. An index out of range is clamped into it, as XLA does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Gather {
    /// The axes that the coordinates are for.
    pub axes: Vec<usize>,
}

/// The parts of a tensor at indices of one axis, as `Nx.take`: operands are the tensor and the indices.
///
/// The indices' axes stand in the result where `axis` was. An index out of
/// range is clamped into it, as XLA does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Take {
    /// The axis that is indexed.
    pub axis: usize,
}

/// An element per index, as `Nx.take_along_axis`: operands are the tensor and the indices.
///
/// The result has the shape of the indices, which is the tensor's but for
/// `axis`. An index out of range is clamped into it, as XLA does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TakeAlongAxis {
    /// The axis that is indexed.
    pub axis: usize,
}

const GATHER: &str = "gather";
const TAKE: &str = "take";
const TAKE_ALONG_AXIS: &str = "take_along_axis";

impl Operation for Gather {
    fn name(&self) -> &'static str {
        GATHER
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [tensor, indices] = take(GATHER, operands)?;
        check_kept(GATHER, tensor, dtype)?;
        check_indices(GATHER, indices)?;
        shape::check_axes(GATHER, &self.axes, tensor.rank())?;
        let batch = match indices.shape.split_last() {
            Some((&last, batch)) if last == self.axes.len() && last > 0 => batch,
            _ => {
                return Err(Error::new(
                    GATHER,
                    format!("indices {indices}"),
                    format!(
                        "a coordinate for each of {} axes, of which one at least",
                        self.axes.len()
                    ),
                ));
            }
        };
        let kept = rest(&self.axes, tensor.rank()).map(|axis| tensor.shape[axis]);
        Ok(Spec::new(dtype, batch.iter().copied().chain(kept).collect::<Vec<_>>()))
    }

    fn work(&self, operands: &[Spec], out: &Spec) -> usize {
        work(operands, out)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [tensor, indices] = take(GATHER, operands)?;
        let mut offsets = vec![0; indices.size() / self.axes.len()];
        for (coordinate, &axis) in self.axes.iter().enumerate() {
            let column = clamped(&column(indices, coordinate), tensor.shape()[axis]);
            let stride = tensor.strides()[axis];
            offsets.iter_mut().zip(column).for_each(|(o, index)| *o += index as isize * stride);
        }
        let kept: Vec<usize> = rest(&self.axes, tensor.rank()).collect();
        let row = tensor.transpose(&[&kept[..], &self.axes].concat());
        let row = row.view(
            row.shape()[..kept.len()].to_vec(),
            row.strides()[..kept.len()].to_vec(),
            row.offset(),
        );
        Ok(rows(&row, &[0], &offsets, out))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let [tensor, indices] = take_owned(GATHER, operands)?;
        let sizes: Vec<usize> = self.axes.iter().map(|&axis| tensor.shape()[axis]).collect();
        let columns = burn_columns(indices, sizes.len());
        let columns: Result<Vec<_>> = columns
            .into_iter()
            .zip(&sizes)
            .map(|(column, &size)| burn_clamped(GATHER, column, size))
            .collect();
        let indices = burn_flat::<B>(columns?, &sizes);
        let order: Vec<usize> =
            self.axes.iter().copied().chain(rest(&self.axes, tensor.shape().len())).collect();
        let count = shape::size(&sizes);
        let inner = shape::size(&tensor.shape()) / count;
        let table = tensor.permute(&order).reshape(&[count, inner]);
        Ok(table.select(0, indices).reshape(&out.shape))
    }
}

impl Operation for Take {
    fn name(&self) -> &'static str {
        TAKE
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [tensor, indices] = take(TAKE, operands)?;
        check_kept(TAKE, tensor, dtype)?;
        check_indices(TAKE, indices)?;
        shape::check_axes(TAKE, &[self.axis], tensor.rank())?;
        let (outer, inner) = (&tensor.shape[..self.axis], &tensor.shape[self.axis + 1..]);
        Ok(Spec::new(dtype, [outer, &indices.shape, inner].concat()))
    }

    fn work(&self, operands: &[Spec], out: &Spec) -> usize {
        work(operands, out)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [tensor, indices] = take(TAKE, operands)?;
        let (sizes, strides) = (tensor.shape(), tensor.strides());
        let stride = strides[self.axis];
        let indices = clamped(indices, sizes[self.axis]);
        let indices: Vec<isize> = indices.into_iter().map(|at| at as isize * stride).collect();
        let outer = offsets(&sizes[..self.axis], &strides[..self.axis]);
        let (sizes, strides) = (&sizes[self.axis + 1..], &strides[self.axis + 1..]);
        let row = tensor.view(sizes.to_vec(), strides.to_vec(), tensor.offset());
        Ok(rows(&row, &outer, &indices, out))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let [tensor, indices] = take_owned(TAKE, operands)?;
        let sizes = tensor.shape();
        let count = shape::size(&indices.shape());
        let indices = indices.reshape(&[count]);
        let indices = burn_clamped(TAKE, indices, sizes[self.axis])?;
        let inner = shape::size(&sizes[self.axis + 1..]);
        let outer = shape::size(&sizes[..self.axis]);
        // Burn is fastest at choosing rows of a matrix.
        let (table, axis) = if outer == 1 {
            (vec![sizes[self.axis], inner], 0)
        } else {
            (vec![outer, sizes[self.axis], inner], 1)
        };
        Ok(tensor.reshape(&table).select(axis, indices).reshape(&out.shape))
    }
}

impl Operation for TakeAlongAxis {
    fn name(&self) -> &'static str {
        TAKE_ALONG_AXIS
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [tensor, indices] = take(TAKE_ALONG_AXIS, operands)?;
        check_kept(TAKE_ALONG_AXIS, tensor, dtype)?;
        check_indices(TAKE_ALONG_AXIS, indices)?;
        shape::check_axes(TAKE_ALONG_AXIS, &[self.axis], tensor.rank())?;
        let matches = indices.rank() == tensor.rank()
            && (0..tensor.rank())
                .all(|axis| axis == self.axis || indices.shape[axis] == tensor.shape[axis]);
        ensure!(
            matches,
            TAKE_ALONG_AXIS,
            format!("indices {indices}"),
            format!("the shape of {tensor} but for axis {}", self.axis)
        );
        Ok(Spec::new(dtype, indices.shape.clone()))
    }

    fn work(&self, operands: &[Spec], out: &Spec) -> usize {
        work(operands, out)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [tensor, indices] = take(TAKE_ALONG_AXIS, operands)?;
        let indices = clamped(indices, tensor.shape()[self.axis]);
        let step = tensor.strides()[self.axis];
        // Where each element would lie if its index were 0.
        let mut strides = tensor.strides().to_vec();
        strides[self.axis] = 0;
        let walk =
            Walk::new(&out.shape, [&tensor.view(out.shape.clone(), strides, tensor.offset())]);
        Ok(with_element!(out.dtype, T => {
            let source = tensor.storage::<T>();
            let mut elements = vec![T::ZERO; out.size()];
            parallel::for_each_part(&mut elements, 1, 1, |start, part| {
                walk.runs(start..start + part.len(), |run| {
                    let [mut offset] = run.offsets;
                    let indices = &indices[run.position..run.position + run.length];
                    let part = &mut part[run.position - start..][..run.length];
                    for (element, &index) in part.iter_mut().zip(indices) {
                        *element = source[(offset + index as isize * step) as usize];
                        offset += run.strides[0];
                    }
                });
            });
            HostTensor::from_vec(elements, &out.shape)
        }))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let [tensor, indices] = take_owned(TAKE_ALONG_AXIS, operands)?;
        let indices = burn_clamped(TAKE_ALONG_AXIS, indices, tensor.shape()[self.axis])?;
        Ok(match tensor {
            Value::Float(tensor) => Value::Float(B::float_gather(self.axis, tensor, indices)),
            Value::Int(tensor) => Value::Int(B::int_gather(self.axis, tensor, indices)),
        })
    }
}

/// The tensor's own size doesn't count: only what is asked for is read.
fn work(operands: &[Spec], out: &Spec) -> usize {
    operands.iter().skip(1).fold(out.size(), |work, indices| work.saturating_add(indices.size()))
}

/// Refuses indices that are not integers.
pub(super) fn check_indices(op: &str, indices: &Spec) -> Result<()> {
    ensure!(indices.dtype.is_integer(), op, format!("indices {indices}"), "integer indices");
    Ok(())
}

/// The axes below `rank` that are not in `axes`.
pub(super) fn rest(axes: &[usize], rank: usize) -> impl Iterator<Item = usize> {
    (0..rank).filter(|axis| !axes.contains(axis))
}

/// One coordinate of every index: a view without the last axis.
pub(super) fn column(indices: &HostTensor, coordinate: usize) -> HostTensor {
    let last = indices.rank() - 1;
    let offset = indices.offset() as isize + coordinate as isize * indices.strides()[last];
    let (shape, strides) = (&indices.shape()[..last], &indices.strides()[..last]);
    indices.view(shape.to_vec(), strides.to_vec(), offset as usize)
}

/// The indices, row-major, clamped into an axis of `size`.
fn clamped(indices: &HostTensor, size: usize) -> Vec<i64> {
    let last = size as u64 - 1;
    with_integer!(indices.dtype(), T => {
        map(indices, |index: T| Ord::min(Ord::max(index, T::ZERO).cast::<u64>(), last) as i64)
    }, else Vec::new())
}

/// The offset of every position of a view, row-major.
pub(super) fn offsets(shape: &[usize], strides: &[isize]) -> Vec<isize> {
    shape.iter().zip(strides).fold(vec![0], |outer, (&size, &stride)| {
        outer
            .into_iter()
            .flat_map(|offset| (0..size as isize).map(move |at| offset + at * stride))
            .collect()
    })
}

/// A copy of `row` from `outer + index` further on in its storage, for every pair of the two.
fn rows(row: &HostTensor, outer: &[isize], indices: &[isize], out: &Spec) -> HostTensor {
    let length = row.size();
    let dense = Walk::new(row.shape(), [row]).is_dense();
    let inner = if dense { Vec::new() } else { offsets(row.shape(), row.strides()) };
    let first = row.offset() as isize;
    with_element!(out.dtype, T => {
        let source = row.storage::<T>();
        let mut elements = vec![T::ZERO; out.size()];
        parallel::for_each_part(&mut elements, length, 1, |start, part| {
            let number = start / length;
            let (mut block, mut at) = (number / indices.len(), number % indices.len());
            for row in part.chunks_exact_mut(length) {
                let offset = first + outer[block] + indices[at];
                if length == 1 {
                    row[0] = source[offset as usize];
                } else if dense {
                    row.copy_from_slice(&source[offset as usize..offset as usize + length]);
                } else {
                    for (element, inner) in row.iter_mut().zip(&inner) {
                        *element = source[(offset + inner) as usize];
                    }
                }
                at += 1;
                if at == indices.len() {
                    (block, at) = (block + 1, 0);
                }
            }
        });
        HostTensor::from_vec(elements, &out.shape)
    })
}

/// The coordinates of every index through Burn, one tensor of one axis each.
pub(super) fn burn_columns<B: Backend>(indices: Value<B>, coordinates: usize) -> Vec<Value<B>> {
    let count = shape::size(&indices.shape()) / coordinates;
    let indices = indices.reshape(&[count, coordinates]);
    (0..coordinates as isize)
        .map(|at| {
            let ranges = [Range::new(0, Some(count as isize), 1), Range::new(at, Some(at + 1), 1)];
            indices.clone().slice(&ranges).reshape(&[count])
        })
        .collect()
}

/// The indices through Burn, clamped into an axis of `size`.
pub(super) fn burn_clamped<B: Backend>(
    op: &str,
    indices: Value<B>,
    size: usize,
) -> Result<IntTensor<B>> {
    let last = size as i64 - 1;
    // The upper half of u64 would turn negative.
    let indices = if indices.dtype() == DType::U64 {
        Value::Int(B::int_clamp_max(indices.into_int(op)?, last.into()))
    } else {
        indices
    };
    Ok(B::int_clamp(indices.cast(DType::S64).into_int(op)?, 0.into(), last.into()))
}

/// The row-major position of every index, from its coordinates in axes of `sizes`.
pub(super) fn burn_flat<B: Backend>(columns: Vec<IntTensor<B>>, sizes: &[usize]) -> IntTensor<B> {
    let mut columns = columns.into_iter().zip(sizes);
    let (first, _) = columns.next().expect("at least one axis");
    columns.fold(first, |position, (column, &size)| {
        B::int_add(B::int_mul_scalar(position, (size as i64).into()), column)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, close, floats, iota};

    fn indices<const N: usize>(values: [i64; N], shape: &[usize]) -> HostTensor {
        HostTensor::from_vec(values.to_vec(), shape)
    }

    fn gather(axes: &[usize]) -> Gather {
        Gather { axes: axes.to_vec() }
    }

    fn check<const N: usize>(
        op: impl Into<crate::Op>,
        operands: &[HostTensor],
        expected: [i32; N],
    ) {
        let result = check_burn(op, operands, operands[0].dtype(), 0.0);
        assert_eq!(result.cast(DType::S32).elements::<i32>().as_ref(), expected);
    }

    // The element of an iota tells where it was: row, column and depth are its digits.
    fn digits(shape: [usize; 3]) -> HostTensor {
        let [rows, columns, depth] = shape;
        let element =
            |at: usize| 100 * (at / depth / columns) + 10 * (at / depth % columns) + at % depth;
        let elements = (0..rows * columns * depth).map(|at| element(at) as i32);
        HostTensor::from_vec(elements.collect(), &shape)
    }

    // The values of the next three are those of Nx.BinaryBackend.
    #[test]
    fn gathers_as_nx() {
        let tensor = HostTensor::from_vec(vec![1_i32, 2, 3, 4], &[2, 2]);
        check(gather(&[0, 1]), &[tensor.clone(), indices([1, 1, 0, 1, 1, 0], &[3, 2])], [4, 2, 3]);
        let batches = indices([1, 1, 0, 0, 1, 0, 0, 1], &[2, 2, 2]);
        check(gather(&[0, 1]), &[tensor, batches], [4, 1, 3, 2]);

        let tensor = digits([2, 3, 4]);
        check(
            gather(&[0]),
            &[tensor.clone(), indices([1], &[1])],
            [100, 101, 102, 103, 110, 111, 112, 113, 120, 121, 122, 123],
        );
        check(
            gather(&[1, 2]),
            &[tensor.clone(), indices([2, 1, 0, 3], &[2, 2])],
            [21, 121, 3, 103],
        );
        check(gather(&[2, 0]), &[tensor.clone(), indices([3, 1], &[1, 2])], [103, 113, 123]);
        let axis = indices([2, 0], &[2, 1]);
        check(
            gather(&[1]),
            &[tensor.clone(), axis],
            [20, 21, 22, 23, 120, 121, 122, 123, 0, 1, 2, 3, 100, 101, 102, 103],
        );
        let transposed = tensor.transpose(&[2, 0, 1]);
        let pairs = indices([3, 0, 1, 1], &[2, 2]).transpose(&[1, 0]);
        check(gather(&[0, 1]), &[transposed.clone(), pairs], [103, 113, 123, 100, 110, 120]);
        check(gather(&[0]), &[transposed, indices([2], &[1, 1])], [2, 12, 22, 102, 112, 122]);
    }

    #[test]
    fn takes_as_nx() {
        let tensor = digits([2, 3, 2]);
        let columns = indices([2, 0, 1, 1], &[2, 2]);
        check(
            Take { axis: 1 },
            &[tensor.clone(), columns.clone()],
            [20, 21, 0, 1, 10, 11, 10, 11, 120, 121, 100, 101, 110, 111, 110, 111],
        );
        check(Take { axis: 2 }, &[tensor.clone(), indices([1], &[])], [1, 11, 21, 101, 111, 121]);
        check(
            Take { axis: 0 },
            &[tensor.clone(), indices([1, 0], &[2])],
            [100, 101, 110, 111, 120, 121, 0, 1, 10, 11, 20, 21],
        );
        let transposed = tensor.transpose(&[1, 2, 0]);
        check(Take { axis: 0 }, &[transposed, indices([2], &[1])], [20, 120, 21, 121]);
        check(Take { axis: 0 }, &[iota(&[4]), indices([3, 2], &[1, 2]).transpose(&[1, 0])], [3, 2]);
    }

    #[test]
    fn takes_along_an_axis_as_nx() {
        let tensor = digits([2, 2, 3]);
        let along = indices([2, 0, 1, 1], &[2, 2, 1]);
        check(TakeAlongAxis { axis: 2 }, &[tensor.clone(), along], [2, 10, 101, 111]);
        let along = indices([1, 0, 1, 0, 1, 0], &[1, 2, 3]);
        check(
            TakeAlongAxis { axis: 0 },
            &[tensor.clone(), along.clone()],
            [100, 1, 102, 10, 111, 12],
        );
        let (tensor, along) = (tensor.transpose(&[2, 1, 0]), along.transpose(&[2, 1, 0]));
        check(TakeAlongAxis { axis: 2 }, &[tensor, along], [100, 10, 1, 111, 102, 12]);
    }

    #[test]
    fn clamps_indices_of_every_type() {
        for dtype in DType::NATIVE {
            let tensor = iota(&[5]).cast(dtype);
            let given = indices([-1, 9, i64::MIN, i64::MAX, 2], &[5]);
            check(Take { axis: 0 }, &[tensor.clone(), given.clone()], [0, 4, 0, 4, 2]);
            check(TakeAlongAxis { axis: 0 }, &[tensor.clone(), given.clone()], [0, 4, 0, 4, 2]);
            check(gather(&[0]), &[tensor, given.reshape(&[5, 1])], [0, 4, 0, 4, 2]);
        }
        for dtype in DType::NATIVE.into_iter().filter(|dtype| dtype.is_integer()) {
            // An axis longer than the small types count.
            let given = indices([0, 100, 3], &[3]).cast(dtype);
            check(Take { axis: 0 }, &[iota(&[300]), given], [0, 100, 3]);
        }
        let huge = HostTensor::from_vec(vec![u64::MAX, 1 << 63, 1], &[3]);
        check(Take { axis: 0 }, &[iota(&[5]), huge.clone()], [4, 4, 1]);
        check(TakeAlongAxis { axis: 0 }, &[iota(&[5]), huge.clone()], [4, 4, 1]);
        check(gather(&[0]), &[iota(&[5]), huge.reshape(&[3, 1])], [4, 4, 1]);
    }

    #[test]
    fn large_tables_agree_with_a_plain_loop() {
        let (rows, columns, count) = (700, 96, 1500);
        let table = iota(&[rows, columns]);
        let at: Vec<i64> = (0..count as i64).map(|at| at * 7919 % rows as i64).collect();
        let expected =
            at.iter().flat_map(|row| (0..96).map(move |column| (row * 96 + column) as i32));
        let expected = HostTensor::from_vec(expected.collect(), &[count, columns]);
        let at = HostTensor::from_vec(at, &[count]);
        let result = check_burn(Take { axis: 0 }, &[table.clone(), at.clone()], DType::S32, 0.0);
        close(&expected, &result, 0.0, "a large take");
        let operands = [table.transpose(&[1, 0]), at.clone()];
        let result = check_burn(Take { axis: 1 }, &operands, DType::S32, 0.0);
        close(&expected.transpose(&[1, 0]), &result, 0.0, "a large take of columns");
        let operands = [table.clone(), at.reshape(&[count, 1])];
        let result = check_burn(gather(&[0]), &operands, DType::S32, 0.0);
        close(&expected, &result, 0.0, "a large gather");
        let at = at.reshape(&[count, 1]).broadcast(&[count, columns]);
        let result = check_burn(TakeAlongAxis { axis: 0 }, &[table, at], DType::S32, 0.0);
        close(&expected, &result, 0.0, "a large take along an axis");
    }

    #[test]
    fn differentiates() {
        let pairs = indices([1, 2, 0, 0, 1, 2, 9, -9], &[4, 2]);
        check_gradient(gather(&[0, 1]), &[floats(&[2, 3]), pairs.clone()]);
        check_gradient(gather(&[2, 0]), &[floats(&[2, 3, 4]), pairs]);
        let twice = indices([2, 0, 2, 7], &[2, 2]);
        check_gradient(Take { axis: 0 }, &[floats(&[3, 2]), twice.clone()]);
        check_gradient(Take { axis: 1 }, &[floats(&[2, 3, 2]), twice.clone()]);
        check_gradient(Take { axis: 0 }, &[floats(&[3]), indices([1], &[])]);
        check_gradient(TakeAlongAxis { axis: 1 }, &[floats(&[2, 3]), twice.clone()]);
        check_gradient(TakeAlongAxis { axis: 0 }, &[floats(&[3, 2]), twice]);
    }

    #[test]
    fn refuses_operands_that_do_not_match() {
        let tensor = Spec::new(DType::F32, [2, 3]);
        let given = |dtype, shape: &[usize]| [tensor.clone(), Spec::new(dtype, shape)];
        let gather = |axes: &[usize], shape: &[usize]| {
            gather(axes).infer(&given(DType::S32, shape), DType::F32)
        };
        assert_eq!(gather(&[1], &[4, 5, 1]), Ok(Spec::new(DType::F32, [4, 5, 2])));
        assert!(gather(&[0, 1], &[4, 1]).is_err());
        assert!(gather(&[0], &[]).is_err());
        assert!(gather(&[], &[4, 0]).is_err());
        assert!(gather(&[1, 1], &[4, 2]).is_err());
        assert!(gather(&[usize::MAX], &[4, 1]).is_err());

        let take = |axis| Take { axis }.infer(&given(DType::U8, &[4, 5]), DType::F32);
        assert_eq!(take(1), Ok(Spec::new(DType::F32, [2, 4, 5])));
        assert!(take(2).is_err());
        assert!(Take { axis: 0 }.infer(&given(DType::F32, &[4]), DType::F32).is_err());
        assert!(Take { axis: 0 }.infer(&given(DType::S32, &[4]), DType::F64).is_err());
        assert!(Take { axis: 0 }.infer(&[], DType::F32).is_err());

        let along = |axis, shape: &[usize]| {
            TakeAlongAxis { axis }.infer(&given(DType::S8, shape), DType::F32)
        };
        assert_eq!(along(1, &[2, 9]), Ok(Spec::new(DType::F32, [2, 9])));
        assert!(along(0, &[2, 9]).is_err());
        assert!(along(1, &[2]).is_err());
        assert!(along(2, &[2, 3]).is_err());
    }
}
