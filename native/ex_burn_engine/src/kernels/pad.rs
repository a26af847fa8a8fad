//! A value put around and between the elements.

use super::axis;
use crate::host::parallel;
use crate::op::{Operation, take, take_owned};
use crate::{DType, Error, HostTensor, Result, Spec, Value, ensure, shape, with_element};
use burn_backend::Backend;
use serde::Deserialize;

/// More than any axis can hold; below it, no sum overflows.
const MOST: u64 = 1 << 48;

/// The second operand, a scalar, put around and between the elements of the first (`Nx.pad/3`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Pad {
    /// Per axis: how many go before, after, and between two neighbours. Negative amounts before
    /// and after take elements away, once those between are in place.
    pub padding: Vec<(i64, i64, i64)>,
}

impl Operation for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand, value] = take(self.name(), operands)?;
        ensure!(value.rank() == 0, self.name(), format!("a value {value}"), "a scalar value");
        ensure!(
            self.padding.len() == operand.rank(),
            self.name(),
            format!("padding for {} axes", self.padding.len()),
            format!("padding for each of the {} axes of {operand}", operand.rank())
        );
        let shape: Result<Vec<usize>> = operand
            .shape
            .iter()
            .zip(&self.padding)
            .map(|(&size, &(low, high, interior))| {
                let refused = || {
                    Error::new(
                        self.name(),
                        format!("padding {{{low}, {high}, {interior}}} for an axis of {size}"),
                        "none negative between the elements, and at least one element left",
                    )
                };
                let spread = (size as i128 - 1) * (i128::from(interior) + 1) + 1;
                let length = spread + i128::from(low) + i128::from(high);
                let length = usize::try_from(length).map_err(|_| refused())?;
                let sane = [low, high, interior].iter().all(|amount| amount.abs_diff(0) < MOST);
                if sane && interior >= 0 && length > 0 { Ok(length) } else { Err(refused()) }
            })
            .collect();
        Ok(Spec::new(dtype, shape?))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand, value] = take(self.name(), operands)?;
        Ok(with_element!(out.dtype, T => {
            let value = value.cast(out.dtype).scalar::<T>();
            let operand = operand.cast(out.dtype);
            let Some((&row, _)) = out.shape.split_last() else { return Ok(operand) };
            let elements = operand.elements::<T>();
            let strides = shape::strides(operand.shape());
            let mut output = vec![value; out.size()];
            parallel::for_each_part(&mut output, row, 1, |start, part| {
                for (index, target) in (start / row..).zip(part.chunks_mut(row)) {
                    if let Some(offset) = self.source_row(index, operand.shape(), &strides, out) {
                        self.fill_row(target, &elements[offset..][..operand.shape()[out.rank() - 1]]);
                    }
                }
            });
            HostTensor::from_vec(output, &out.shape)
        }))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [operand, value] = take_owned(name, operands)?;
        let (mut tensor, value) = (operand.cast(out.dtype), value.cast(out.dtype));
        for (axis, &(low, high, interior)) in self.padding.iter().enumerate() {
            let size = tensor.shape()[axis];
            if interior > 0 && size > 1 {
                // Every element becomes a block of itself and those after it; the last block's
                // rest is cut off.
                let mut shape = tensor.shape();
                shape.insert(axis + 1, 1);
                let mut gap = shape.clone();
                gap[axis + 1] = interior as usize;
                let blocks = vec![tensor.reshape(&shape), value.clone().broadcast(&gap)];
                let blocks = Value::concatenate(name, blocks, axis + 1)?;
                shape.remove(axis + 1);
                shape[axis] = size * (interior as usize + 1);
                tensor = axis::slice(
                    blocks.reshape(&shape),
                    axis,
                    [0, shape[axis] - interior as usize, 1],
                );
            }
            let block = |length: i64, shape: &[usize]| {
                let mut shape = shape.to_vec();
                shape[axis] = length as usize;
                value.clone().broadcast(&shape)
            };
            let shape = tensor.shape();
            let mut blocks = Vec::with_capacity(3);
            if low > 0 {
                blocks.push(block(low, &shape));
            }
            blocks.push(tensor);
            if high > 0 {
                blocks.push(block(high, &shape));
            }
            tensor = Value::concatenate(name, blocks, axis)?;
            if low < 0 || high < 0 {
                let start = low.min(0).unsigned_abs() as usize;
                tensor = axis::slice(tensor, axis, [start, start + out.shape[axis], 1]);
            }
        }
        Ok(tensor)
    }
}

impl Pad {
    /// Where in the operand the source of the result's row `index` begins; none for a row of padding.
    fn source_row(
        &self,
        mut index: usize,
        shape: &[usize],
        strides: &[isize],
        out: &Spec,
    ) -> Option<usize> {
        let mut offset = 0;
        for axis in (0..out.rank() - 1).rev() {
            let (low, _, interior) = self.padding[axis];
            let position = (index % out.shape[axis]) as i64 - low;
            index /= out.shape[axis];
            let step = interior + 1;
            if position < 0 || position % step != 0 || position / step >= shape[axis] as i64 {
                return None;
            }
            offset += (position / step) as usize * strides[axis] as usize;
        }
        Some(offset)
    }

    /// Puts a row's elements into their places.
    fn fill_row<T: Copy>(&self, target: &mut [T], source: &[T]) {
        let Some(&(low, _, interior)) = self.padding.last() else { return };
        let step = interior + 1;
        let first = ((step - 1 - low).max(0) / step) as usize;
        let start = (low + first as i64 * step) as usize;
        let Some(target) = target.get_mut(start..) else { return };
        let source = source.iter().skip(first);
        target.iter_mut().step_by(step as usize).zip(source).for_each(|(to, &from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient};

    fn padded(padding: &[(i64, i64, i64)]) -> HostTensor {
        let tensor = HostTensor::from_vec(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0], &[3, 2]);
        let operands = [tensor.transpose(&[1, 0]), HostTensor::from_vec(vec![9.0], &[])];
        let op = Pad { padding: padding.to_vec() };
        check_gradient(op.clone(), &operands);
        check_burn(op, &operands, DType::S32, 0.0)
    }

    // The values are those of Nx.BinaryBackend.
    #[test]
    fn pads_around_between_and_away() {
        let around = padded(&[(1, 0, 0), (0, 2, 0)]);
        assert_eq!(around.shape(), [3, 5]);
        assert_eq!(
            around.elements::<i32>().as_ref(),
            [9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9]
        );
        let between = padded(&[(0, 0, 1), (0, 0, 2)]);
        assert_eq!(
            between.elements::<i32>().as_ref(),
            [1, 9, 9, 2, 9, 9, 3, 9, 9, 9, 9, 9, 9, 9, 4, 9, 9, 5, 9, 9, 6]
        );
        let away = padded(&[(-1, 0, 0), (0, -2, 0)]);
        assert_eq!(away.elements::<i32>().as_ref(), [4]);
        let mixed = padded(&[(0, -1, 0), (-1, 1, 1)]);
        assert_eq!(mixed.elements::<i32>().as_ref(), [9, 2, 9, 3, 9]);
        let past = padded(&[(-3, 4, 0), (0, 0, 0)]);
        assert_eq!(past.elements::<i32>().as_ref(), [9; 9]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let operands = [Spec::new(DType::F32, [3]), Spec::new(DType::F32, [])];
        for padding in [(-3, 0, 0), (0, 0, -1), (i64::MAX, i64::MAX, i64::MAX), (i64::MIN, 0, 0)] {
            let op = crate::Op::from(Pad { padding: vec![padding] });
            assert!(op.infer(&operands, DType::F32).is_err(), "{padding:?}");
        }
        assert!(Pad { padding: vec![] }.infer(&operands, DType::F32).is_err());
        let vector = [operands[0].clone(), operands[0].clone()];
        assert!(Pad { padding: vec![(0, 0, 0)] }.infer(&vector, DType::F32).is_err());
    }
}
