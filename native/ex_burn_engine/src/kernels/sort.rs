//! Sorting along an axis. Equal elements keep their order, and NaN is above everything.

use super::axis::{self, infer_kept};
use crate::host::parallel;
use crate::op::{Operation, take, take_owned, unsupported};
use crate::{DType, Element, HostTensor, Result, Spec, Value, ensure, shape, with_element};
use burn_backend::Backend;
use rayon::slice::ParallelSliceMut;
use serde::Deserialize;
use std::cmp::Ordering;

/// The elements along an axis in order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Sort {
    /// The axis.
    pub axis: usize,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// The positions along an axis that put its elements in order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Argsort {
    /// The axis.
    pub axis: usize,
    /// Whether the position of the greatest comes first.
    pub descending: bool,
}

impl Operation for Sort {
    fn name(&self) -> &'static str {
        "sort"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        infer_kept(self.name(), self.axis, operands, dtype)
    }

    fn host(&self, operands: &[HostTensor], _out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let (moved, order) = axis::last(operand, self.axis);
        let length = operand.shape()[self.axis];
        let sorted = with_element!(operand.dtype(), T => {
            let mut elements = moved.elements::<T>().into_owned();
            let compare = comparison::<T>(self.descending);
            if length >= LONG {
                elements.chunks_mut(length).for_each(|row| row.par_sort_by(compare));
            } else {
                parallel::for_each_part(&mut elements, length, steps(length), |_, part| {
                    part.chunks_mut(length).for_each(|row| row.sort_by(compare));
                });
            }
            HostTensor::from_vec(elements, moved.shape())
        });
        Ok(sorted.transpose(&order))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [operand] = take_owned(name, operands)?;
        match operand {
            Value::Float(tensor) => {
                Ok(Value::Float(B::float_sort(tensor, self.axis, self.descending)))
            }
            Value::Int(_) => Err(unsupported(name)),
        }
    }
}

/// Through Burn it is unsupported: its sorts are not stable.
impl Operation for Argsort {
    fn name(&self) -> &'static str {
        "argsort"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        ensure!(dtype.is_integer(), self.name(), dtype, "an integer result");
        shape::check_axes(self.name(), &[self.axis], operand.rank())?;
        Ok(Spec::new(dtype, operand.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let (moved, order) = axis::last(operand, self.axis);
        let length = operand.shape()[self.axis];
        let positions = with_element!(operand.dtype(), T => {
            positions(&moved.elements::<T>(), length, comparison(self.descending))
        });
        Ok(HostTensor::from_vec(positions, moved.shape()).cast(out.dtype).transpose(&order))
    }
}

/// The length from which one row is sorted by all cores.
const LONG: usize = 1 << 16;

/// About how often an element of a row is moved.
fn steps(length: usize) -> usize {
    length.ilog2() as usize + 1
}

fn comparison<T: Element>(descending: bool) -> fn(&T, &T) -> Ordering {
    if descending { |a, b| b.order(a) } else { T::order }
}

/// The sorted positions within every row of `length` elements.
#[inline(never)]
fn positions<T: Element>(
    elements: &[T],
    length: usize,
    compare: fn(&T, &T) -> Ordering,
) -> Vec<u64> {
    // Distinct positions make the order total, so that an unstable sort is as good as a stable one.
    let total =
        |left: &(T, u64), right: &(T, u64)| compare(&left.0, &right.0).then(left.1.cmp(&right.1));
    let fill = |pairs: &mut Vec<(T, u64)>, row: &[T]| {
        pairs.clear();
        pairs.extend(row.iter().copied().zip(0..));
    };
    let mut output = vec![0; elements.len()];
    if length >= LONG {
        let mut pairs = Vec::with_capacity(length);
        for (out, row) in output.chunks_mut(length).zip(elements.chunks(length)) {
            fill(&mut pairs, row);
            pairs.par_sort_unstable_by(total);
            out.iter_mut().zip(&pairs).for_each(|(out, pair)| *out = pair.1);
        }
        return output;
    }
    parallel::for_each_part(&mut output, length, steps(length), |start, part| {
        let rows = elements[start..start + part.len()].chunks(length);
        let mut pairs = Vec::with_capacity(length);
        for (out, row) in part.chunks_mut(length).zip(rows) {
            fill(&mut pairs, row);
            pairs.sort_unstable_by(total);
            out.iter_mut().zip(&pairs).for_each(|(out, pair)| *out = pair.1);
        }
    });
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, host, values};
    use std::slice::from_ref;

    // The values are those of Nx.BinaryBackend.
    #[test]
    fn orders_as_nx() {
        let (nan, inf) = (f32::NAN, f32::INFINITY);
        let elements = vec![2.0, nan, -0.0, inf, 0.0, -inf, nan, 2.0, -1.0];
        let tensor = HostTensor::from_vec(elements, &[9]);
        for (descending, sorted, positions) in [
            (false, [-inf, -1.0, -0.0, 0.0, 2.0, 2.0, inf, nan, nan], [5, 8, 2, 4, 0, 7, 3, 1, 6]),
            (true, [nan, nan, inf, 2.0, 2.0, -0.0, 0.0, -1.0, -inf], [1, 6, 3, 0, 7, 2, 4, 8, 5]),
        ] {
            for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
                let operand = tensor.cast(dtype);
                let result =
                    check_burn(Sort { axis: 0, descending }, from_ref(&operand), dtype, 0.0);
                let result = values::<f32>(&result.cast(DType::F32));
                let signs = |values: &[f32]| -> Vec<_> {
                    values
                        .iter()
                        .map(|x| (x.to_string(), x.is_sign_negative() && !x.is_nan()))
                        .collect()
                };
                assert_eq!(signs(&result), signs(&sorted));
                let result = host(Argsort { axis: 0, descending }, &[operand], DType::S32);
                assert_eq!(values::<i32>(&result), positions);
            }
        }
        let tensor = HostTensor::from_vec(vec![3, 1, 2, 1, 3, 2, 2, 2, 2], &[3, 3]);
        for (descending, axis, sorted, positions) in [
            (false, 0, [1, 1, 2, 2, 2, 2, 3, 3, 2], [1, 0, 0, 2, 2, 1, 0, 1, 2]),
            (false, 1, [1, 2, 3, 1, 2, 3, 2, 2, 2], [1, 2, 0, 0, 2, 1, 0, 1, 2]),
            (true, 0, [3, 3, 2, 2, 2, 2, 1, 1, 2], [0, 1, 0, 2, 2, 1, 1, 0, 2]),
            (true, 1, [3, 2, 1, 3, 2, 1, 2, 2, 2], [0, 2, 1, 1, 2, 0, 0, 1, 2]),
        ] {
            let result = host(Sort { axis, descending }, from_ref(&tensor), DType::S32);
            assert_eq!(values::<i32>(&result), sorted);
            let result = host(Argsort { axis, descending }, from_ref(&tensor), DType::U8);
            assert_eq!(values::<u8>(&result), positions.map(|at| at as u8));
            let other = tensor.transpose(&[1, 0]);
            let result = host(Sort { axis: 1 - axis, descending }, &[other], DType::S32);
            assert_eq!(values::<i32>(&result.transpose(&[1, 0])), sorted);
        }
    }

    #[test]
    fn large_sorts_are_stable() {
        let elements: Vec<i64> = (0..150_000).map(|at| at * 7919 % 1009).collect();
        for shape in [[1, 150_000], [2, 75_000], [3000, 50]] {
            let tensor = HostTensor::from_vec(elements.clone(), &shape);
            for descending in [false, true] {
                let sorted = host(Sort { axis: 1, descending }, from_ref(&tensor), DType::S64);
                let found = host(Argsort { axis: 1, descending }, from_ref(&tensor), DType::S64);
                let (sorted, found) = (values::<i64>(&sorted), values::<i64>(&found));
                for (row, original) in elements.chunks(shape[1]).enumerate() {
                    let row = row * shape[1]..(row + 1) * shape[1];
                    let (sorted, found) = (&sorted[row.clone()], &found[row]);
                    assert!(found.iter().zip(sorted).all(|(&at, &x)| original[at as usize] == x));
                    for (x, at) in sorted.windows(2).zip(found.windows(2)) {
                        assert!(if descending { x[0] >= x[1] } else { x[0] <= x[1] });
                        assert!(x[0] != x[1] || at[0] < at[1]);
                    }
                }
            }
        }
    }

    #[test]
    fn differentiates() {
        let elements: Vec<f64> = (0..24).map(|at| (f64::from(at) * 1.7).sin()).collect();
        let tensor = HostTensor::from_vec(elements, &[2, 3, 4]);
        for axis in 0..3 {
            for descending in [false, true] {
                check_burn(Sort { axis, descending }, from_ref(&tensor), DType::F64, 0.0);
                check_gradient(Sort { axis, descending }, from_ref(&tensor));
            }
        }
    }

    #[test]
    fn refuses_axes_and_types_that_do_not_fit() {
        let spec = [Spec::new(DType::F32, vec![2, 3])];
        assert!(Sort { axis: 1, descending: false }.infer(&spec, DType::F32).is_ok());
        assert!(Sort { axis: 2, descending: false }.infer(&spec, DType::F32).is_err());
        assert!(Sort { axis: usize::MAX, descending: false }.infer(&spec, DType::F32).is_err());
        assert!(Sort { axis: 0, descending: false }.infer(&spec, DType::F64).is_err());
        assert!(Argsort { axis: 2, descending: false }.infer(&spec, DType::S32).is_err());
        assert!(Argsort { axis: 0, descending: false }.infer(&spec, DType::F32).is_err());
        let scalar = [Spec::new(DType::F32, vec![])];
        assert!(Argsort { axis: 0, descending: false }.infer(&scalar, DType::S32).is_err());
    }
}
