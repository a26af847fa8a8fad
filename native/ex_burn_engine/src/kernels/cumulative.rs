//! Every element along an axis combined with those before it.

use super::axis::{self, Reducer};
use crate::host::parallel;
use crate::op::{Operation, take, take_owned};
use crate::{DType, Element, HostTensor, Result, Spec, Value, with_element};
use burn_backend::Backend;
use rayon::prelude::*;
use serde::Deserialize;

/// Every element along an axis combined with those before it, as `Nx.cumulative_sum/2` and its kin.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Cumulative {
    /// What the elements are combined with.
    pub kind: Reducer,
    /// The axis.
    pub axis: usize,
    /// Whether it is those after it instead.
    pub reverse: bool,
}

impl Operation for Cumulative {
    fn name(&self) -> &'static str {
        match self.kind {
            Reducer::Sum => "cumulative_sum",
            Reducer::Product => "cumulative_product",
            Reducer::Max => "cumulative_max",
            Reducer::Min => "cumulative_min",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        axis::infer_kept(self.name(), self.axis, operands, dtype)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        Ok(with_element!(out.dtype, T => {
            let elements = match (self.kind, out.dtype.is_float()) {
                // The running result stays an `f64`, so that every element is rounded once.
                (Reducer::Sum, true) => {
                    self.scan(operand, 0.0, |sum, x: T| sum + x.to_f64(), T::from_f64)
                }
                (Reducer::Product, true) => {
                    self.scan(operand, 1.0, |product, x: T| product * x.to_f64(), T::from_f64)
                }
                (Reducer::Sum, false) => self.scan(operand, T::ZERO, <T as Element>::add, |x| x),
                (Reducer::Product, false) => {
                    self.scan(operand, T::ONE, <T as Element>::multiply, |x| x)
                }
                (Reducer::Max, _) => self.scan(operand, T::LOWEST, <T as Element>::max, |x| x),
                (Reducer::Min, _) => self.scan(operand, T::HIGHEST, <T as Element>::min, |x| x),
            };
            HostTensor::from_vec(elements, &out.shape)
        }))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [operand] = take_owned(name, operands)?;
        let axis = self.axis;
        let reversed = |value| if self.reverse { Value::flip(value, &[axis]) } else { value };
        Ok(reversed(match (reversed(operand), self.kind) {
            (Value::Float(tensor), Reducer::Sum) => Value::Float(B::float_cumsum(tensor, axis)),
            (value, kind) => doubling(value, axis, kind)?,
        }))
    }
}

/// Combines every element with those before it, at distances that double.
///
/// Burn's own products are not differentiable at zero, and its extremes differ
/// in what they make of NaN.
fn doubling<B: Backend>(mut value: Value<B>, axis: usize, kind: Reducer) -> Result<Value<B>> {
    let length = value.shape()[axis];
    let mut distance = 1;
    while distance < length {
        let head = axis::slice(value.clone(), axis, [0, distance, 1]);
        let before = axis::slice(value.clone(), axis, [0, length - distance, 1]);
        let after = axis::slice(value, axis, [distance, length, 1]);
        value = Value::concatenate("cumulative", vec![head, kind.combine(before, after)?], axis)?;
        distance *= 2;
    }
    Ok(value)
}

/// Columns that are worth a task of their own.
const COLUMNS: usize = 64;

impl Cumulative {
    /// The running `finish`ed states along the axis, row-major.
    #[inline(never)]
    fn scan<T: Element, S: Copy + Send + Sync>(
        &self,
        operand: &HostTensor,
        identity: S,
        step: impl Fn(S, T) -> S + Sync,
        finish: impl Fn(S) -> T + Sync,
    ) -> Vec<T> {
        let shape = operand.shape();
        let inner: usize = shape[self.axis + 1..].iter().product();
        let block = shape[self.axis] * inner;
        let elements = operand.elements::<T>();
        let mut output = vec![T::ZERO; elements.len()];

        let line = |input: &[T], out: &mut [T]| {
            let mut state = identity;
            let mut advance = |(out, &x): (&mut T, &T)| {
                state = step(state, x);
                *out = finish(state);
            };
            if self.reverse {
                out.iter_mut().zip(input).rev().for_each(&mut advance);
            } else {
                out.iter_mut().zip(input).for_each(&mut advance);
            }
        };
        // Some columns of every row at once: `rows` are those of the result, `from` the first column.
        let columns = |input: &[T], from: usize, mut rows: Vec<&mut [T]>| {
            let width = rows.first().map_or(0, |row| row.len());
            let mut states = vec![identity; width];
            let count = rows.len();
            for at in 0..count {
                let row = if self.reverse { count - 1 - at } else { at };
                let input = &input[row * inner + from..][..width];
                for ((out, &x), state) in rows[row].iter_mut().zip(input).zip(&mut states) {
                    *state = step(*state, x);
                    *out = finish(*state);
                }
            }
        };

        let blocks = elements.len() / block;
        let threads = rayon::current_num_threads();
        if blocks < threads && inner >= 2 * COLUMNS && block >= 1 << 15 {
            let width = inner.div_ceil(threads).max(COLUMNS);
            for (input, out) in elements.chunks(block).zip(output.chunks_mut(block)) {
                let mut tasks: Vec<Vec<&mut [T]>> = Vec::new();
                tasks.resize_with(inner.div_ceil(width), Vec::new);
                for row in out.chunks_mut(inner) {
                    tasks
                        .iter_mut()
                        .zip(row.chunks_mut(width))
                        .for_each(|(task, row)| task.push(row));
                }
                tasks
                    .into_par_iter()
                    .enumerate()
                    .for_each(|(index, rows)| columns(input, index * width, rows));
            }
            return output;
        }
        parallel::for_each_part(&mut output, block, 1, |start, part| {
            let input = &elements[start..start + part.len()];
            for (input, out) in input.chunks(block).zip(part.chunks_mut(block)) {
                if inner == 1 {
                    line(input, out);
                } else {
                    columns(input, 0, out.chunks_mut(inner).collect());
                }
            }
        });
        output
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, close, host, values};
    use std::slice::from_ref;

    const KINDS: [Reducer; 4] = [Reducer::Sum, Reducer::Product, Reducer::Max, Reducer::Min];

    // The values are those of Nx.BinaryBackend.
    #[test]
    fn combines_as_nx() {
        let tensor = HostTensor::from_vec(vec![2, 3, 1, 1, 3, 2, 2, 1, 3], &[3, 3]);
        for (kind, axis, reverse, expected) in [
            (Reducer::Sum, 0, false, [2, 3, 1, 3, 6, 3, 5, 7, 6]),
            (Reducer::Sum, 0, true, [5, 7, 6, 3, 4, 5, 2, 1, 3]),
            (Reducer::Sum, 1, false, [2, 5, 6, 1, 4, 6, 2, 3, 6]),
            (Reducer::Sum, 1, true, [6, 4, 1, 6, 5, 2, 6, 4, 3]),
            (Reducer::Product, 0, false, [2, 3, 1, 2, 9, 2, 4, 9, 6]),
            (Reducer::Product, 0, true, [4, 9, 6, 2, 3, 6, 2, 1, 3]),
            (Reducer::Product, 1, false, [2, 6, 6, 1, 3, 6, 2, 2, 6]),
            (Reducer::Product, 1, true, [6, 3, 1, 6, 6, 2, 6, 3, 3]),
            (Reducer::Max, 0, false, [2, 3, 1, 2, 3, 2, 2, 3, 3]),
            (Reducer::Max, 0, true, [2, 3, 3, 2, 3, 3, 2, 1, 3]),
            (Reducer::Max, 1, false, [2, 3, 3, 1, 3, 3, 2, 2, 3]),
            (Reducer::Max, 1, true, [3, 3, 1, 3, 3, 2, 3, 3, 3]),
            (Reducer::Min, 0, false, [2, 3, 1, 1, 3, 1, 1, 1, 1]),
            (Reducer::Min, 0, true, [1, 1, 1, 1, 1, 2, 2, 1, 3]),
            (Reducer::Min, 1, false, [2, 2, 1, 1, 1, 1, 2, 1, 1]),
            (Reducer::Min, 1, true, [1, 1, 1, 1, 2, 2, 1, 1, 3]),
        ] {
            for dtype in DType::NATIVE {
                let operand = [tensor.transpose(&[1, 0]).cast(dtype).transpose(&[1, 0])];
                let result = check_burn(Cumulative { kind, axis, reverse }, &operand, dtype, 0.0);
                assert_eq!(values::<i32>(&result.cast(DType::S32)), expected, "{kind:?} {axis}");
            }
        }
        let bytes = HostTensor::from_vec(vec![100_i8; 3], &[3]);
        let op = Cumulative { kind: Reducer::Sum, axis: 0, reverse: false };
        assert_eq!(values::<i8>(&host(op, &[bytes], DType::S8)), [100, -56, 44]);
    }

    #[test]
    fn nan_stays_and_floats_round_once() {
        let tensor = HostTensor::from_vec(vec![1.0, f64::NAN, 2.0], &[3]);
        for (kind, reverse) in [(Reducer::Max, false), (Reducer::Min, true), (Reducer::Sum, false)]
        {
            let op = Cumulative { kind, axis: 0, reverse };
            let result = values::<f64>(&check_burn(op, from_ref(&tensor), DType::F64, 0.0));
            let nan: Vec<_> = result.iter().map(|x| x.is_nan()).collect();
            assert_eq!(nan, if reverse { [true, true, false] } else { [false, true, true] });
        }
        let tensor = HostTensor::from_vec(vec![1e8_f32, 1.0, -1e8], &[3]);
        let op = Cumulative { kind: Reducer::Sum, axis: 0, reverse: false };
        assert_eq!(values::<f32>(&host(op, &[tensor], DType::F32))[2], 1.0);
    }

    #[test]
    fn large_scans_agree_with_their_differences() {
        let elements: Vec<i64> = (0..120_000).map(|at| at * 7919 % 1009 - 500).collect();
        for (shape, axis) in [
            ([1, 100, 1200], 1),
            ([400, 300, 1], 0),
            ([400, 300, 1], 1),
            ([1, 1, 120_000], 2),
            ([20, 60, 100], 1),
            ([60, 1, 2000], 0),
        ] {
            for reverse in [false, true] {
                let tensor = HostTensor::from_vec(elements.clone(), &shape);
                let result =
                    host(Cumulative { kind: Reducer::Sum, axis, reverse }, &[tensor], DType::S64);
                let result = values::<i64>(&result);
                let inner: usize = shape[axis + 1..].iter().product();
                for at in 0..elements.len() {
                    let position = at / inner % shape[axis];
                    let before = match reverse {
                        false if position > 0 => result[at - inner],
                        true if position + 1 < shape[axis] => result[at + inner],
                        _ => 0,
                    };
                    assert_eq!(result[at], before + elements[at], "{shape:?} {axis} {reverse}");
                }
            }
        }
    }

    #[test]
    fn differentiates() {
        let elements: Vec<f64> = (0..42).map(|at| (f64::from(at) * 1.7).sin() * 1.5).collect();
        let tensor = HostTensor::from_vec(elements, &[2, 7, 3]);
        for kind in KINDS {
            for (axis, reverse) in [(0, false), (1, true), (1, false), (2, true)] {
                let op = Cumulative { kind, axis, reverse };
                let result = check_burn(op.clone(), from_ref(&tensor), DType::F64, 1e-12);
                let single = host(op.clone(), &[tensor.cast(DType::F32)], DType::F32);
                close(&result, &single.cast(DType::F64), 1e-5, "f32");
                check_gradient(op, from_ref(&tensor));
            }
        }
        let zeros = HostTensor::from_vec(vec![0.5, 0.0, 2.0, 0.0, 3.0], &[5]);
        check_gradient(Cumulative { kind: Reducer::Product, axis: 0, reverse: false }, &[zeros]);
    }

    #[test]
    fn refuses_axes_and_types_that_do_not_fit() {
        let spec = [Spec::new(DType::F32, vec![2, 3])];
        let op = |axis| Cumulative { kind: Reducer::Sum, axis, reverse: false };
        assert!(op(1).infer(&spec, DType::F32).is_ok());
        assert!(op(2).infer(&spec, DType::F32).is_err());
        assert!(op(usize::MAX).infer(&spec, DType::F32).is_err());
        assert!(op(0).infer(&spec, DType::F64).is_err());
        assert!(op(0).infer(&[], DType::F32).is_err());
        assert!(op(0).infer(&[Spec::new(DType::F32, vec![])], DType::F32).is_err());
    }
}
