//! Writing updates into a tensor at indices.

use super::gather::{burn_clamped, burn_columns, burn_flat, check_indices, column, offsets, rest};
use crate::host::elementwise::map;
use crate::host::parallel;
use crate::op::{Operation, take, take_owned, unsupported};
use crate::{DType, Element, HostTensor, Result, Shape, Spec, Value, ensure, shape};
use crate::{with_element, with_integer};
use burn_backend::tensor::{Device, IndexingUpdateOp};
use burn_backend::{Backend, BoolDType};
use rayon::slice::ParallelSliceMut;
use serde::Deserialize;

/// What becomes of an element and its update.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IndexedKind {
    /// Their sum; all updates of one element add up.
    Add,
    /// The update; the last of one element wins.
    Put,
}

/// A tensor with updates at coordinates, as `Nx.indexed_add` and `Nx.indexed_put`.
///
/// Operands are the target, the indices of shape `{n, axes}` and the updates,
/// `n` of them along their first axis. The further axes of the updates are the
/// target's axes that are not in `axes`; where they are shorter, an update
/// changes the beginning of the axis. Target and updates are cast to the type
/// of the result.
///
/// An update with an index out of range is dropped, as XLA does.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Indexed {
    /// What becomes of an element and its update.
    pub kind: IndexedKind,
    /// The axes that the coordinates are for.
    pub axes: Vec<usize>,
}

/// The target as a matrix: a row for every coordinate, over the axes that have none.
struct Rows {
    /// The target's axes, those with coordinates first.
    order: Vec<usize>,
    /// The sizes of the axes with coordinates.
    sizes: Shape,
    /// The size of every other axis.
    row: Shape,
    /// The part of each row that an update covers, where it isn't all of it.
    covered: Option<Vec<isize>>,
}

impl Rows {
    fn new(axes: &[usize], target: &[usize], updates: &[usize]) -> Self {
        let order: Vec<usize> = axes.iter().copied().chain(rest(axes, target.len())).collect();
        let sizes = axes.iter().map(|&axis| target[axis]).collect();
        let row: Shape = rest(axes, target.len()).map(|axis| target[axis]).collect();
        let window = &updates[1..];
        let covered = (window != row).then(|| offsets(window, &shape::strides(&row)));
        Self { order, sizes, row, covered }
    }

    fn count(&self) -> usize {
        shape::size(&self.sizes)
    }

    fn length(&self) -> usize {
        shape::size(&self.row)
    }

    fn permuted(&self) -> Shape {
        [&self.sizes[..], &self.row].concat()
    }

    /// The order of the axes that undoes [`Rows::order`].
    fn inverse(&self) -> Vec<usize> {
        let mut inverse = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(at, &axis)| inverse[axis] = at);
        inverse
    }

    /// The row and the number of every update that is in range, by row, then by number.
    fn writes(&self, indices: &HostTensor) -> Vec<(usize, usize)> {
        let mut rows = vec![0_i64; indices.shape()[0]];
        for (coordinate, &size) in self.sizes.iter().enumerate() {
            let column = column(indices, coordinate);
            let column = with_integer!(indices.dtype(), T => {
                map(&column, |index: T| {
                    // A negative index becomes larger than any axis.
                    let inside = index.cast::<u64>() < size as u64;
                    if inside { index.cast::<i64>() } else { -1 }
                })
            }, else Vec::new());
            for (row, index) in rows.iter_mut().zip(column) {
                *row = if *row < 0 || index < 0 { -1 } else { *row * size as i64 + index };
            }
        }
        let mut writes: Vec<(usize, usize)> = rows
            .into_iter()
            .enumerate()
            .filter_map(|(number, row)| usize::try_from(row).ok().map(|row| (row, number)))
            .collect();
        writes.par_sort_unstable();
        writes
    }
}

impl Operation for Indexed {
    fn name(&self) -> &'static str {
        match self.kind {
            IndexedKind::Add => "indexed_add",
            IndexedKind::Put => "indexed_put",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let name = self.name();
        let [target, indices, updates] = take(name, operands)?;
        check_indices(name, indices)?;
        shape::check_axes(name, &self.axes, target.rank())?;
        let count = match indices.shape[..] {
            [count, coordinates] if coordinates == self.axes.len() && coordinates > 0 => {
                Some(count)
            }
            _ => None,
        };
        ensure!(
            count.is_some(),
            name,
            format!("indices {indices} for {} axes", self.axes.len()),
            "indices of two axes, the second as long as there are axes, of which one at least"
        );
        let row: Vec<usize> =
            rest(&self.axes, target.rank()).map(|axis| target.shape[axis]).collect();
        let fits = updates.rank() == row.len() + 1
            && updates.shape.first().copied() == count
            && updates.shape[1..].iter().zip(&row).all(|(update, size)| update <= size);
        ensure!(
            fits,
            name,
            format!("updates {updates} at indices {indices}"),
            format!("an update per index, each within {}", shape::show(&row))
        );
        Ok(Spec::new(dtype, target.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [target, indices, updates] = take(self.name(), operands)?;
        let rows = Rows::new(&self.axes, &out.shape, updates.shape());
        let writes = rows.writes(indices);
        let target = target.transpose(&rows.order).cast(out.dtype);
        let updates = updates.cast(out.dtype);
        Ok(with_element!(out.dtype, T => {
            let mut elements = target.elements::<T>().into_owned();
            self.write::<T>(&mut elements, &updates.elements(), &rows, &writes);
            HostTensor::from_vec(elements, &rows.permuted()).transpose(&rows.inverse())
        }))
    }

    /// Updates are put from indices read back to main memory, where the last one of each element
    /// is found: Burn promises no order between them.
    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [target, indices, updates] = take_owned(name, operands)?;
        let rows = Rows::new(&self.axes, &out.shape, &updates.shape());
        let target = target.cast(out.dtype).permute(&rows.order);
        let updates = updates.cast(out.dtype);
        let written = match self.kind {
            IndexedKind::Add => burn_add(name, target, indices, updates, &rows)?,
            IndexedKind::Put => burn_put(name, target, indices, updates, &rows)?,
        };
        Ok(written.reshape(&rows.permuted()).permute(&rows.inverse()))
    }
}

impl Indexed {
    /// Applies sorted `writes` to the rows of `elements`.
    #[inline(never)]
    fn write<T: Element>(
        &self,
        elements: &mut [T],
        updates: &[T],
        rows: &Rows,
        writes: &[(usize, usize)],
    ) {
        let length = rows.length();
        let covered = rows.covered.as_deref();
        let window = covered.map_or(length, <[isize]>::len);
        parallel::for_each_part(elements, length, 1, |start, part| {
            // Each part looks up the writes to its own rows, so that no two cores share one.
            let (first, end) = (start / length, (start + part.len()) / length);
            let from = writes.partition_point(|write| write.0 < first);
            let until = writes.partition_point(|write| write.0 < end);
            let mut sums = Vec::new();
            for same in writes[from..until].chunk_by(|left, right| left.0 == right.0) {
                let row = &mut part[(same[0].0 - first) * length..][..length];
                let same = same.iter().map(|&(_, number)| &updates[number * window..][..window]);
                match self.kind {
                    IndexedKind::Put => {
                        if let Some(update) = same.last() {
                            each(row, covered, update, |_, new| new);
                        }
                    }
                    IndexedKind::Add if T::DTYPE.is_float() => {
                        sums.clear();
                        sums.resize(window, 0.0);
                        for update in same {
                            sums.iter_mut().zip(update).for_each(|(sum, new)| *sum += new.to_f64());
                        }
                        each(row, covered, &sums, |old, sum| T::from_f64(old.to_f64() + sum));
                    }
                    IndexedKind::Add => same.for_each(|update| each(row, covered, update, T::add)),
                }
            }
        });
    }
}

/// Combines the elements of `row` that are covered with an update.
fn each<T: Copy, U: Copy>(
    row: &mut [T],
    covered: Option<&[isize]>,
    update: &[U],
    combine: impl Fn(T, U) -> T,
) {
    match covered {
        None => row.iter_mut().zip(update).for_each(|(old, &new)| *old = combine(*old, new)),
        Some(covered) => {
            for (&at, &new) in covered.iter().zip(update) {
                row[at as usize] = combine(row[at as usize], new);
            }
        }
    }
}

/// Adds the updates on the device; those out of range add zero.
fn burn_add<B: Backend>(
    name: &str,
    target: Value<B>,
    indices: Value<B>,
    updates: Value<B>,
    rows: &Rows,
) -> Result<Value<B>> {
    let device = indices.device();
    let columns = burn_columns(indices, rows.sizes.len());
    let mut outside = None;
    let mut clamped = Vec::with_capacity(columns.len());
    for (column, &size) in columns.into_iter().zip(&rows.sizes) {
        // The upper half of u64 turns negative, which is out of range as well.
        let given = column.clone().cast(DType::S64).into_int(name)?;
        let index = burn_clamped(name, column, size)?;
        let moved = B::int_not_equal(given, index.clone(), BoolDType::Native);
        outside = Some(match outside {
            Some(outside) => B::bool_or(outside, moved),
            None => moved,
        });
        clamped.push(index);
    }
    let mut positions = burn_flat::<B>(clamped, &rows.sizes);
    let (count, window) = (updates.shape()[0], shape::size(&updates.shape()[1..]));
    let mut updates = updates.reshape(&[count, window]);
    if let Some(outside) = outside {
        let outside = B::bool_reshape(outside, [count, 1].into());
        let outside = B::bool_expand(outside, [count, window].into());
        updates = match updates {
            Value::Float(tensor) => Value::Float(B::float_mask_fill(tensor, outside, 0.0.into())),
            Value::Int(tensor) => Value::Int(B::int_mask_fill(tensor, outside, 0.into())),
        };
    }
    let mut table = [rows.count(), rows.length()];
    if let Some(covered) = &rows.covered {
        // Rows that are not covered whole become rows of one element.
        let covered =
            integers(covered.iter().map(|&at| at as i64).collect(), &[1, window], &device);
        let covered: Value<B> = covered.broadcast(&[count, window]);
        let first = B::int_mul_scalar(positions, (rows.length() as i64).into());
        let first = Value::<B>::Int(first).reshape(&[count, 1]).broadcast(&[count, window]);
        let sum = Value::<B>::Int(B::int_add(first.into_int(name)?, covered.into_int(name)?));
        positions = sum.reshape(&[count * window]).into_int(name)?;
        updates = updates.reshape(&[count * window, 1]);
        table = [table[0] * table[1], 1];
    }
    Ok(match (target.reshape(&table), updates) {
        (Value::Float(target), Value::Float(updates)) => {
            Value::Float(B::float_select_add(target, 0, positions, updates))
        }
        (Value::Int(target), Value::Int(updates)) => {
            Value::Int(B::int_select_add(target, 0, positions, updates))
        }
        _ => return Err(unsupported(name)),
    })
}

/// Puts the last update of every row, found in main memory.
fn burn_put<B: Backend>(
    name: &str,
    target: Value<B>,
    indices: Value<B>,
    updates: Value<B>,
    rows: &Rows,
) -> Result<Value<B>> {
    let device = indices.device();
    let writes = rows.writes(&indices.to_host(name)?);
    let last = writes.chunk_by(|left, right| left.0 == right.0).filter_map(<[_]>::last);
    let last: Vec<(i64, i64)> = last.map(|&(row, number)| (row as i64, number as i64)).collect();
    if last.is_empty() {
        return Ok(target);
    }
    let (count, window) = (updates.shape()[0], shape::size(&updates.shape()[1..]));
    let numbers = integers::<B>(last.iter().map(|write| write.1).collect(), &[last.len()], &device);
    let mut updates = updates.reshape(&[count, window]).select(0, numbers.into_int(name)?);
    let mut table = [rows.count(), rows.length()];
    let mut positions: Vec<i64> = last.iter().map(|write| write.0).collect();
    if let Some(covered) = &rows.covered {
        // Rows that are not covered whole become rows of one element.
        let first = positions.into_iter().map(|row| row * rows.length() as i64);
        positions =
            first.flat_map(|first| covered.iter().map(move |&at| first + at as i64)).collect();
        updates = updates.reshape(&[positions.len(), 1]);
        table = [table[0] * table[1], 1];
    }
    let shape = [positions.len(), 1];
    let positions = integers::<B>(positions, &shape, &device).into_int(name)?;
    Ok(match (target.reshape(&table), updates) {
        (Value::Float(target), Value::Float(updates)) => {
            let assign = IndexingUpdateOp::Assign;
            Value::Float(B::float_scatter_nd(target, positions, updates, assign))
        }
        (Value::Int(target), Value::Int(updates)) => {
            let assign = IndexingUpdateOp::Assign;
            Value::Int(B::int_scatter_nd(target, positions, updates, assign))
        }
        _ => return Err(unsupported(name)),
    })
}

/// Integers copied to a device.
fn integers<B: Backend>(values: Vec<i64>, shape: &[usize], device: &Device<B>) -> Value<B> {
    Value::from_host(&HostTensor::from_vec(values, shape), device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{burn, check_burn, check_gradient, close, floats, host};
    use burn_flex::Flex;

    fn op(kind: IndexedKind, axes: &[usize]) -> Indexed {
        Indexed { kind, axes: axes.to_vec() }
    }

    fn tensor<const N: usize>(values: [i64; N], shape: &[usize]) -> HostTensor {
        HostTensor::from_vec(values.to_vec(), shape)
    }

    fn noise(count: usize, below: u64) -> Vec<i64> {
        let mut state = 7_u64;
        (0..count)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 33) % below) as i64
            })
            .collect()
    }

    // The values are those of Nx.BinaryBackend.
    #[test]
    fn adds_and_puts_as_nx() {
        let target = HostTensor::from_vec(vec![0_i32; 6], &[2, 3]);
        let indices = tensor([0, 0, 0, 0, 1, 2], &[3, 2]);
        let updates = tensor([5, 3, 7], &[3]);
        let operands = [target, indices, updates];
        let sum = check_burn(op(IndexedKind::Add, &[0, 1]), &operands, DType::S64, 0.0);
        assert_eq!(sum.elements::<i64>().as_ref(), [8, 0, 0, 0, 0, 7]);
        let put = check_burn(op(IndexedKind::Put, &[0, 1]), &operands, DType::F32, 0.0);
        assert_eq!(put.elements::<f32>().as_ref(), [3.0, 0.0, 0.0, 0.0, 0.0, 7.0]);

        // Whole columns, of a target and updates that are transposed.
        let target = tensor([1, 3, 5, 2, 4, 6], &[2, 3]).transpose(&[1, 0]);
        let updates = tensor([10, 40, 20, 50, 30, 60], &[3, 2]).transpose(&[1, 0]);
        let operands = [target, tensor([1, 1], &[2, 1]), updates];
        let sum = check_burn(op(IndexedKind::Add, &[1]), &operands, DType::S64, 0.0);
        assert_eq!(sum.elements::<i64>().as_ref(), [1, 52, 3, 74, 5, 96]);
        let put = check_burn(op(IndexedKind::Put, &[1]), &operands, DType::S64, 0.0);
        assert_eq!(put.elements::<i64>().as_ref(), [1, 40, 3, 50, 5, 60]);
    }

    #[test]
    fn drops_updates_out_of_range() {
        let target = tensor([1, 2, 3, 4], &[4]);
        let indices = tensor([-1, 4, i64::MIN, i64::MAX, 2], &[5, 1]);
        let updates = tensor([10, 20, 30, 40, 50], &[5]);
        let operands = [target.clone(), indices, updates];
        let sum = check_burn(op(IndexedKind::Add, &[0]), &operands, DType::S32, 0.0);
        assert_eq!(sum.elements::<i32>().as_ref(), [1, 2, 53, 4]);
        let put = check_burn(op(IndexedKind::Put, &[0]), &operands, DType::S32, 0.0);
        assert_eq!(put.elements::<i32>().as_ref(), [1, 2, 50, 4]);

        let indices = HostTensor::from_vec(vec![u64::MAX, 1 << 63], &[2, 1]);
        let updates = HostTensor::from_vec(vec![f32::NAN, 1.0], &[2]);
        for kind in [IndexedKind::Add, IndexedKind::Put] {
            let operands = [target.clone(), indices.clone(), updates.clone()];
            let same = check_burn(op(kind, &[0]), &operands, DType::F32, 0.0);
            assert_eq!(same.elements::<f32>().as_ref(), [1.0, 2.0, 3.0, 4.0]);
        }
    }

    #[test]
    fn shorter_updates_change_the_beginning_of_an_axis() {
        let target = HostTensor::from_vec(vec![0_i32; 12], &[2, 2, 3]);
        let operands =
            [target, tensor([1, 1], &[2, 1]), tensor([1, 2, 3, 4, 5, 6, 7, 8], &[2, 2, 2])];
        let sum = check_burn(op(IndexedKind::Add, &[0]), &operands, DType::S32, 0.0);
        assert_eq!(sum.elements::<i32>().as_ref(), [0, 0, 0, 0, 0, 0, 6, 8, 0, 10, 12, 0]);
        let put = check_burn(op(IndexedKind::Put, &[0]), &operands, DType::F64, 0.0);
        let expected = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 0.0, 7.0, 8.0, 0.0];
        assert_eq!(put.elements::<f64>().as_ref(), expected);
    }

    #[test]
    fn every_type_of_target_and_index() {
        for dtype in DType::NATIVE {
            let target = tensor([1, 2, 3], &[3]).cast(dtype);
            let updates = tensor([4, 5, 6], &[3]).cast(dtype);
            for index in DType::NATIVE.into_iter().filter(|dtype| dtype.is_integer()) {
                let indices = tensor([2, 0, 2], &[3, 1]).cast(index);
                let operands = [target.clone(), indices, updates.clone()];
                for (kind, expected) in
                    [(IndexedKind::Add, [6, 2, 13]), (IndexedKind::Put, [5, 2, 6])]
                {
                    let result = check_burn(op(kind, &[0]), &operands, dtype, 0.0);
                    assert_eq!(result.cast(DType::S64).elements::<i64>().as_ref(), expected);
                }
            }
        }
        // Integers wrap, and a sum of floats is rounded once.
        let operands = [tensor([200], &[1]), tensor([0, 0], &[2, 1]), tensor([50, 50], &[2])];
        let sum = host(op(IndexedKind::Add, &[0]), &operands, DType::U8);
        assert_eq!(sum.scalar::<u8>(), 44);
        let [_, indices, _] = operands;
        let large = HostTensor::from_vec(vec![half::f16::from_f32(2048.0)], &[1]);
        let ones = HostTensor::from_vec(vec![1.0_f32, 1.0], &[2]);
        let sum = host(op(IndexedKind::Add, &[0]), &[large, indices, ones], DType::F16);
        assert_eq!(sum.scalar::<half::f16>().to_f32(), 2050.0);
    }

    #[test]
    fn large_updates_agree_with_a_plain_loop() {
        let (rows, columns, count) = (501, 130, 3000);
        let at = noise(count, rows as u64 + 3);
        let values = noise(count * columns, 100);
        let (mut sum, mut put) = (vec![1_i64; rows * columns], vec![1_i64; rows * columns]);
        for (number, &row) in at.iter().enumerate().filter(|(_, row)| **row < rows as i64) {
            for column in 0..columns {
                let value = values[number * columns + column];
                sum[row as usize * columns + column] += value;
                put[row as usize * columns + column] = value;
            }
        }
        let operands = [
            HostTensor::from_vec(vec![1_i64; rows * columns], &[rows, columns]),
            HostTensor::from_vec(at, &[count, 1]),
            HostTensor::from_vec(values, &[count, columns]),
        ];
        for (kind, expected) in [(IndexedKind::Add, sum), (IndexedKind::Put, put)] {
            let expected = HostTensor::from_vec(expected, &[rows, columns]);
            for dtype in [DType::S64, DType::F32] {
                let result = check_burn(op(kind, &[0]), &operands, dtype, 0.0);
                close(&expected.cast(dtype), &result, 0.0, "a large update");
            }
        }
    }

    #[test]
    fn differentiates_by_target_and_updates() {
        let cases: [(&[usize], HostTensor, &[usize]); 4] = [
            (&[0], tensor([2, 0, 2, 7], &[4, 1]), &[4, 4]),
            (&[1], tensor([3, 3, -1], &[3, 1]), &[3, 3]),
            (&[0, 1], tensor([0, 1, 2, 3, 0, 1], &[3, 2]), &[3]),
            (&[0], tensor([1, 1], &[2, 1]), &[2, 3]),
        ];
        for (axes, indices, updates) in cases {
            for kind in [IndexedKind::Add, IndexedKind::Put] {
                let operands = [floats(&[3, 4]), indices.clone(), floats(updates)];
                check_gradient(op(kind, axes), &operands);
            }
        }
        let operands = [floats(&[3]), tensor([5], &[1, 1]), floats(&[1])];
        check_gradient(op(IndexedKind::Put, &[0]), &operands);
        assert_eq!(burn::<Flex>(op(IndexedKind::Put, &[0]), &operands, DType::F64).shape(), [3]);
    }

    #[test]
    fn refuses_operands_that_do_not_match() {
        let infer = |axes: &[usize], indices: Spec, updates: &[usize]| {
            let operands = [Spec::new(DType::F32, [2, 3]), indices, Spec::new(DType::F32, updates)];
            op(IndexedKind::Add, axes).infer(&operands, DType::F32)
        };
        let indices = |shape: &[usize]| Spec::new(DType::S64, shape);
        assert!(infer(&[0], indices(&[4, 1]), &[4, 3]).is_ok());
        assert!(infer(&[0], indices(&[4, 1]), &[4, 4]).is_err());
        assert!(infer(&[0], indices(&[4, 1]), &[5, 3]).is_err());
        assert!(infer(&[0], indices(&[4, 1]), &[4]).is_err());
        assert!(infer(&[0], indices(&[4, 1]), &[]).is_err());
        assert!(infer(&[0], indices(&[4, 2]), &[4, 3]).is_err());
        assert!(infer(&[0], indices(&[4]), &[4, 3]).is_err());
        assert!(infer(&[], indices(&[4, 0]), &[4, 2, 3]).is_err());
        assert!(infer(&[0, 0], indices(&[4, 2]), &[4]).is_err());
        assert!(infer(&[usize::MAX], indices(&[4, 1]), &[4, 3]).is_err());
        assert!(infer(&[0], Spec::new(DType::F32, [4, 1]), &[4, 3]).is_err());
        assert!(op(IndexedKind::Put, &[0]).infer(&[], DType::F32).is_err());
    }
}
