//! Sums of products over contracted axes: products of vectors, matrices and batches of them.

use crate::host::matmul::{group_axes, matmul};
use crate::op::{Operation, take, take_owned, unsupported};
use crate::shape::{check_axes, show, size};
use crate::{DType, HostTensor, Result, Shape, Spec, Value, ensure};
use burn_backend::Backend;
use serde::Deserialize;

/// The sum of products over the contracted axes, as `Nx.dot/6`.
///
/// The axes of the result are the batch axes, then what is left of the left operand's, then what
/// is left of the right operand's. Both operands are cast to the type of the result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Dot {
    /// Axes of the left operand summed over.
    pub contract_left: Vec<usize>,
    /// Axes of the left operand that count the products.
    pub batch_left: Vec<usize>,
    /// Axes of the right operand summed over, each with its partner of the left.
    pub contract_right: Vec<usize>,
    /// Axes of the right operand that count the products.
    pub batch_right: Vec<usize>,
}

impl Dot {
    /// The axes below `rank` that are neither summed over nor count the products.
    fn free(contract: &[usize], batch: &[usize], rank: usize) -> Vec<usize> {
        (0..rank).filter(|axis| !contract.contains(axis) && !batch.contains(axis)).collect()
    }

    fn left_free(&self, rank: usize) -> Vec<usize> {
        Self::free(&self.contract_left, &self.batch_left, rank)
    }

    fn right_free(&self, rank: usize) -> Vec<usize> {
        Self::free(&self.contract_right, &self.batch_right, rank)
    }
}

/// The sizes of `axes`.
fn pick(shape: &[usize], axes: &[usize]) -> Shape {
    axes.iter().map(|&axis| shape[axis]).collect()
}

impl Operation for Dot {
    fn name(&self) -> &'static str {
        "dot"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [left, right] = take(self.name(), operands)?;
        check_axes(
            self.name(),
            &[&self.batch_left[..], &self.contract_left].concat(),
            left.rank(),
        )?;
        let right_axes = [&self.batch_right[..], &self.contract_right].concat();
        check_axes(self.name(), &right_axes, right.rank())?;
        for (kind, left_axes, right_axes) in [
            ("batch", &self.batch_left, &self.batch_right),
            ("contracted", &self.contract_left, &self.contract_right),
        ] {
            let (ours, theirs) = (pick(&left.shape, left_axes), pick(&right.shape, right_axes));
            ensure!(
                ours == theirs,
                self.name(),
                format!("{kind} axes of sizes {} and {}", show(&ours), show(&theirs)),
                format!("{kind} axes of equal sizes")
            );
        }
        let shape = [
            pick(&left.shape, &self.batch_left),
            pick(&left.shape, &self.left_free(left.rank())),
            pick(&right.shape, &self.right_free(right.rank())),
        ];
        Ok(Spec::new(dtype, shape.concat()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [left, right] = take(self.name(), operands)?;
        let (rows, columns) = (self.left_free(left.rank()), self.right_free(right.rank()));
        let (batch, inner) = (self.batch_left.len(), self.contract_left.len());
        let left = left.cast(out.dtype);
        let left = left.transpose(&[&self.batch_left[..], &rows, &self.contract_left].concat());
        let right = right.cast(out.dtype);
        let right =
            right.transpose(&[&self.batch_right[..], &self.contract_right, &columns].concat());
        let left = group_axes(&left, &[batch, rows.len(), inner]);
        let right = group_axes(&right, &[batch, inner, columns.len()]);
        Ok(matmul(&left, &right).reshape(&out.shape))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [left, right] = take_owned(name, operands)?;
        // Burn's devices multiply few of the integer types.
        if out.dtype.is_integer() {
            return Err(unsupported(name));
        }
        let (left_shape, right_shape) = (left.shape(), right.shape());
        let (rows, columns) =
            (self.left_free(left_shape.len()), self.right_free(right_shape.len()));
        let sizes = |shape: &[usize], axes: &[usize]| size(&pick(shape, axes));
        let batch = sizes(&left_shape, &self.batch_left);
        let inner = sizes(&left_shape, &self.contract_left);
        let (m, n) = (sizes(&left_shape, &rows), sizes(&right_shape, &columns));
        // Burn's tensors of rank 0 take no permutation; theirs is the empty one, which is skipped.
        let left = left
            .cast(out.dtype)
            .permute(&[&self.batch_left[..], &rows, &self.contract_left].concat())
            .reshape(&[batch, m, inner])
            .into_float(name)?;
        let right = right
            .cast(out.dtype)
            .permute(&[&self.batch_right[..], &self.contract_right, &columns].concat())
            .reshape(&[batch, inner, n])
            .into_float(name)?;
        Ok(Value::Float(B::float_matmul(left, right)).reshape(&out.shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, close, host};
    use half::{bf16, f16};

    fn dot(left: [&[usize]; 2], right: [&[usize]; 2]) -> Dot {
        Dot {
            contract_left: left[0].into(),
            batch_left: left[1].into(),
            contract_right: right[0].into(),
            batch_right: right[1].into(),
        }
    }

    fn wave(shape: &[usize], phase: f64) -> HostTensor {
        let values = (0..size(shape)).map(|at| (at as f64 * 0.37 + phase).sin() * 2.0).collect();
        HostTensor::from_vec::<f64>(values, shape)
    }

    /// The definition, element by element.
    fn naive(op: &Dot, left: &HostTensor, right: &HostTensor) -> HostTensor {
        let out = op.infer(&[left.spec(), right.spec()], DType::F64).unwrap();
        let inner = pick(left.shape(), &op.contract_left);
        let (rows, columns) = (op.left_free(left.rank()), op.right_free(right.rank()));
        let index = |mut position: usize, shape: &[usize]| -> Vec<usize> {
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = position % shape[axis];
                position /= shape[axis];
            }
            index
        };
        let read = |tensor: &HostTensor, axes: &[&[usize]], at: &[usize]| {
            let axes = axes.concat();
            let mut offset = tensor.offset() as isize;
            for (&axis, &at) in axes.iter().zip(at) {
                offset += tensor.strides()[axis] * at as isize;
            }
            tensor.storage::<f64>()[offset as usize]
        };
        let batch = op.batch_left.len();
        let values = (0..out.size()).map(|position| {
            let at = index(position, &out.shape);
            let (batches, free) = at.split_at(batch);
            let (row, column) = free.split_at(rows.len());
            (0..size(&inner))
                .map(|position| {
                    let inner = index(position, &inner);
                    let left_at = [batches, row, &inner].concat();
                    let right_at = [batches, &inner[..], column].concat();
                    read(left, &[&op.batch_left, &rows, &op.contract_left], &left_at)
                        * read(right, &[&op.batch_right, &op.contract_right, &columns], &right_at)
                })
                .sum::<f64>()
        });
        HostTensor::from_vec(values.collect(), &out.shape)
    }

    fn cases() -> Vec<(Dot, HostTensor, HostTensor)> {
        vec![
            (dot([&[0], &[]], [&[0], &[]]), wave(&[5], 0.1), wave(&[5], 0.2)),
            (dot([&[1], &[]], [&[0], &[]]), wave(&[4, 3], 0.1), wave(&[3, 2], 0.2)),
            (dot([&[1], &[]], [&[0], &[]]), wave(&[4, 3], 0.1), wave(&[3], 0.2)),
            (dot([&[0], &[]], [&[1], &[]]), wave(&[3], 0.1), wave(&[4, 3], 0.2)),
            (dot([&[], &[]], [&[], &[]]), wave(&[3], 0.1), wave(&[2, 2], 0.2)),
            (dot([&[], &[]], [&[], &[]]), wave(&[], 0.1), wave(&[], 0.2)),
            (dot([&[], &[]], [&[], &[]]), wave(&[], 0.1), wave(&[2, 3], 0.2)),
            (dot([&[2], &[0]], [&[1], &[0]]), wave(&[2, 3, 4], 0.1), wave(&[2, 4, 2], 0.2)),
            (
                dot([&[3, 0], &[2, 1]], [&[0, 2], &[3, 1]]),
                wave(&[3, 2, 4, 5], 0.1),
                wave(&[5, 2, 3, 4], 0.2),
            ),
            (
                dot([&[0, 2], &[]], [&[1, 0], &[]]),
                wave(&[4, 2, 3], 0.1).transpose(&[2, 1, 0]),
                wave(&[3, 4, 2], 0.2).transpose(&[1, 0, 2]),
            ),
        ]
    }

    #[test]
    fn agrees_with_the_definition_on_every_path() {
        for (op, left, right) in cases() {
            let expected = naive(&op, &left, &right);
            for (dtype, tolerance) in
                [(DType::F64, 1e-12), (DType::F32, 1e-6), (DType::F16, 4e-3), (DType::BF16, 4e-2)]
            {
                let operands = [left.clone(), right.clone()];
                let given = check_burn(op.clone(), &operands, dtype, tolerance);
                close(&expected, &given.cast(DType::F64), tolerance, &format!("{op:?} {dtype}"));
            }
        }
    }

    #[test]
    fn differentiates() {
        for (op, left, right) in cases() {
            check_gradient(op, &[left, right]);
        }
    }

    // Values from Nx.BinaryBackend.
    #[test]
    fn multiplies_integers() {
        let left = HostTensor::from_vec(vec![100_u8, 200, 3, 4, 5, 6], &[2, 3]);
        let right = HostTensor::from_vec(vec![7_u8, 8, 9, 10, 11, 12], &[2, 3]);
        let op = dot([&[1], &[]], [&[1], &[]]);
        let wrapped = host(op.clone(), &[left.clone(), right.clone()], DType::U8);
        assert_eq!(*wrapped.elements::<u8>(), [23, 164, 122, 167]);
        let mixed = host(op, &[left, right.cast(DType::S8)], DType::S16);
        assert_eq!(*mixed.elements::<i16>(), [2327, 3236, 122, 167]);
        let vector = HostTensor::from_vec(vec![i64::MAX, 2], &[2]);
        let product = host(dot([&[0], &[]], [&[0], &[]]), &[vector.clone(), vector], DType::S64);
        assert_eq!(*product.elements::<i64>(), [5]);
    }

    #[test]
    fn reads_reversed_and_stretched_views() {
        let row = HostTensor::from_vec(vec![1.0_f32, 2.0, 3.0], &[3]);
        let reversed = row.view(vec![3], vec![-1], 2);
        let op = dot([&[0], &[]], [&[0], &[]]);
        let sum = host(op.clone(), &[row.clone(), reversed.clone()], DType::F32);
        assert_eq!(*sum.elements::<f32>(), [10.0]);
        let op = dot([&[1], &[]], [&[0], &[]]);
        let product = host(op, &[row.broadcast(&[2, 3]), reversed], DType::F32);
        assert_eq!(*product.elements::<f32>(), [10.0, 10.0]);
    }

    #[test]
    fn sums_half_floats_in_single_precision() {
        // One rounding per addition would stop at 2048 (f16) and at 256 (bf16).
        let op = dot([&[0], &[]], [&[0], &[]]);
        let ones = HostTensor::from_vec(vec![f16::ONE; 10_000], &[10_000]);
        let sum = host(op.clone(), &[ones.clone(), ones.clone()], DType::F16);
        assert_eq!(sum.elements::<f16>()[0].to_f32(), 10_000.0);
        let ones = ones.cast(DType::BF16);
        let sum = host(op, &[ones.clone(), ones], DType::BF16);
        assert_eq!(sum.elements::<bf16>()[0].to_f32(), 9_984.0);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let matrix = Spec::new(DType::F32, [2, 3]);
        for op in [
            dot([&[1], &[]], [&[0], &[]]),
            dot([&[1], &[]], [&[], &[]]),
            dot([&[1], &[0]], [&[1], &[]]),
            dot([&[1, 1], &[]], [&[1, 1], &[]]),
            dot([&[1], &[1]], [&[1], &[1]]),
            dot([&[usize::MAX], &[]], [&[1], &[]]),
        ] {
            assert!(op.infer(&[matrix.clone(), matrix.clone()], DType::F32).is_err(), "{op:?}");
        }
        let op = dot([&[1], &[]], [&[1], &[]]);
        assert!(op.infer(&[], DType::F32).is_err());
        let wide = Spec::new(DType::F32, [usize::MAX / 2]);
        let outer = crate::Op::from(dot([&[], &[]], [&[], &[]]));
        assert!(outer.infer(&[wide.clone(), wide], DType::F32).is_err());
    }
}
