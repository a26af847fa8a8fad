//! Several tensors joined into one.

use crate::host::parallel;
use crate::op::Operation;
use crate::{DType, Element, Error, HostTensor, Result, Spec, Value, ensure, with_element};
use burn_backend::Backend;
use serde::Deserialize;
use std::borrow::Cow;

/// Tensors one after the other along an axis (`Nx.concatenate/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Concatenate {
    /// The axis along which the tensors follow each other.
    pub axis: usize,
}

impl Operation for Concatenate {
    fn name(&self) -> &'static str {
        "concatenate"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let first = first(self.name(), operands)?;
        ensure!(
            self.axis < first.rank(),
            self.name(),
            format!("axis {} of {first}", self.axis),
            format!("an axis below {}", first.rank())
        );
        let mut shape = first.shape.clone();
        let mut length = 0_usize;
        for operand in operands {
            let fits = operand.rank() == shape.len()
                && (0..shape.len())
                    .all(|axis| axis == self.axis || operand.shape[axis] == shape[axis]);
            ensure!(
                fits,
                self.name(),
                format!("{first} and {operand}"),
                format!("the same axes but for axis {}", self.axis)
            );
            length = length.saturating_add(operand.shape[self.axis]);
        }
        shape[self.axis] = length;
        Ok(Spec::new(dtype, shape))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        join(operands, self.axis, out)
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let operands = operands.into_iter().map(|operand| operand.cast(out.dtype)).collect();
        Value::concatenate(self.name(), operands, self.axis)
    }
}

/// Tensors of one shape side by side along a new axis (`Nx.stack/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Stack {
    /// The new axis.
    pub axis: usize,
}

impl Operation for Stack {
    fn name(&self) -> &'static str {
        "stack"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let first = first(self.name(), operands)?;
        ensure!(
            self.axis <= first.rank(),
            self.name(),
            format!("axis {} for {first}", self.axis),
            format!("an axis of at most {}", first.rank())
        );
        for operand in operands {
            ensure!(
                operand.shape == first.shape,
                self.name(),
                format!("{first} and {operand}"),
                "one shape"
            );
        }
        let mut shape = first.shape.clone();
        shape.insert(self.axis, operands.len());
        Ok(Spec::new(dtype, shape))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let slice = self.slice(out);
        let operands: Vec<_> = operands.iter().map(|operand| operand.reshape(&slice)).collect();
        join(&operands, self.axis, out)
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let slice = self.slice(out);
        let operands =
            operands.into_iter().map(|operand| operand.cast(out.dtype).reshape(&slice)).collect();
        Value::concatenate(self.name(), operands, self.axis)
    }
}

impl Stack {
    /// The shape of an operand with the new axis.
    fn slice(&self, out: &Spec) -> Vec<usize> {
        let mut shape = out.shape.clone();
        shape[self.axis] = 1;
        shape
    }
}

fn first<'a>(name: &str, operands: &'a [Spec]) -> Result<&'a Spec> {
    operands.first().ok_or_else(|| Error::new(name, "no tensors", "at least one tensor"))
}

/// The operands cast to the result's type, one after the other along `axis`.
fn join(operands: &[HostTensor], axis: usize, out: &Spec) -> Result<HostTensor> {
    let inner: usize = out.shape[axis + 1..].iter().product();
    let row = out.shape[axis] * inner;
    Ok(with_element!(out.dtype, T => {
        let operands: Vec<_> = operands.iter().map(|operand| operand.cast(out.dtype)).collect();
        let sources: Vec<(Cow<'_, [T]>, usize)> = operands
            .iter()
            .map(|operand| (operand.elements::<T>(), operand.shape()[axis] * inner))
            .collect();
        let mut output = vec![T::ZERO; out.size()];
        parallel::for_each_part(&mut output, row, 1, |start, part| {
            for (index, mut row) in (start / row..).zip(part.chunks_mut(row)) {
                for (source, length) in &sources {
                    let (target, rest) = row.split_at_mut(*length);
                    target.copy_from_slice(&source[index * length..][..*length]);
                    row = rest;
                }
            }
        });
        HostTensor::from_vec(output, &out.shape)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient};

    fn pair() -> [HostTensor; 2] {
        [
            HostTensor::from_vec(vec![1.0, 2.0, 3.0, 4.0], &[2, 2]),
            HostTensor::from_vec(vec![5.0, 6.0, 7.0, 8.0], &[2, 2]).transpose(&[1, 0]),
        ]
    }

    #[test]
    fn joins_along_every_axis() {
        let elements = |op: crate::Op| {
            check_gradient(op.clone(), &pair());
            check_burn(op, &pair(), DType::F64, 0.0).elements::<f64>().into_owned()
        };
        let outer = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 6.0, 8.0];
        let inner = [1.0, 2.0, 5.0, 7.0, 3.0, 4.0, 6.0, 8.0];
        let pairs = [1.0, 5.0, 2.0, 7.0, 3.0, 6.0, 4.0, 8.0];
        assert_eq!(elements(Concatenate { axis: 0 }.into()), outer);
        assert_eq!(elements(Concatenate { axis: 1 }.into()), inner);
        assert_eq!(elements(Stack { axis: 0 }.into()), outer);
        assert_eq!(elements(Stack { axis: 1 }.into()), inner);
        assert_eq!(elements(Stack { axis: 2 }.into()), pairs);
    }

    #[test]
    fn casts_to_the_type_of_the_result() {
        let scalars =
            [HostTensor::from_vec(vec![1_u8], &[]), HostTensor::from_vec(vec![-2_i64], &[])];
        let stacked = check_burn(Stack { axis: 0 }, &scalars, DType::F32, 0.0);
        assert_eq!(stacked.elements::<f32>().as_ref(), [1.0, -2.0]);
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let [left, right] = [Spec::new(DType::F32, [2, 2]), Spec::new(DType::F32, [2, 3])];
        let both = [left.clone(), right];
        assert!(Concatenate { axis: 0 }.infer(&both, DType::F32).is_err());
        assert!(Concatenate { axis: 2 }.infer(&both, DType::F32).is_err());
        assert!(Concatenate { axis: 1 }.infer(&both, DType::F32).is_ok());
        assert!(Concatenate { axis: 0 }.infer(&[], DType::F32).is_err());
        assert!(Stack { axis: 0 }.infer(&both, DType::F32).is_err());
        assert!(Stack { axis: 3 }.infer(&[left], DType::F32).is_err());
    }
}
