//! Other views of a tensor's elements: none of these operations computes anything.

use crate::op::{Operation, check_kept, take, take_owned};
use crate::{DType, HostTensor, Result, Shape, Spec, Value, ensure, shape};
use burn_backend::Backend;
use serde::Deserialize;

/// The same elements, row-major, under another shape (`Nx.reshape/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reshape {
    /// The size of every axis of the result.
    pub shape: Shape,
}

impl Operation for Reshape {
    fn name(&self) -> &'static str {
        "reshape"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        check_kept(self.name(), operand, dtype)?;
        shape::check(self.name(), &self.shape, dtype.size())?;
        ensure!(
            shape::size(&self.shape) == operand.size(),
            self.name(),
            format!("shape {} for {operand}", shape::show(&self.shape)),
            format!("a shape of {} elements", operand.size())
        );
        Ok(Spec::new(dtype, self.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        Ok(operand.reshape(&out.shape))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let [operand] = take_owned(self.name(), operands)?;
        Ok(operand.reshape(&out.shape))
    }
}

/// The axes in another order (`Nx.transpose/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Transpose {
    /// For every axis of the result, the operand's axis it is.
    pub axes: Vec<usize>,
}

impl Operation for Transpose {
    fn name(&self) -> &'static str {
        "transpose"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        check_kept(self.name(), operand, dtype)?;
        ensure!(
            self.axes.len() == operand.rank(),
            self.name(),
            format!("{} axes", self.axes.len()),
            format!("all {} axes of {operand}", operand.rank())
        );
        shape::check_axes(self.name(), &self.axes, operand.rank())?;
        let shape: Shape = self.axes.iter().map(|&axis| operand.shape[axis]).collect();
        Ok(Spec::new(dtype, shape))
    }

    fn host(&self, operands: &[HostTensor], _out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        Ok(operand.transpose(&self.axes))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let [operand] = take_owned(self.name(), operands)?;
        Ok(operand.permute(&self.axes))
    }
}

/// The tensor stretched along axes of size 1 and along new ones (`Nx.broadcast/3`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Broadcast {
    /// The size of every axis of the result.
    pub shape: Shape,
    /// For every axis of the operand, the axis of the result it becomes.
    pub axes: Vec<usize>,
}

impl Operation for Broadcast {
    fn name(&self) -> &'static str {
        "broadcast"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        check_kept(self.name(), operand, dtype)?;
        ensure!(
            self.axes.len() == operand.rank(),
            self.name(),
            format!("{} axes", self.axes.len()),
            format!("one for each of the {} axes of {operand}", operand.rank())
        );
        shape::check_axes(self.name(), &self.axes, self.shape.len())?;
        for (&own, &axis) in operand.shape.iter().zip(&self.axes) {
            ensure!(
                own == 1 || own == self.shape[axis],
                self.name(),
                format!("{operand} to shape {}", shape::show(&self.shape)),
                "axes of size 1 or of the size they are stretched to"
            );
        }
        Ok(Spec::new(dtype, self.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let mut strides = vec![0; out.rank()];
        for (own, &axis) in self.axes.iter().enumerate() {
            if operand.shape()[own] == out.shape[axis] {
                strides[axis] = operand.strides()[own];
            }
        }
        Ok(operand.view(out.shape.clone(), strides, operand.offset()))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let [operand] = take_owned(self.name(), operands)?;
        let mut order: Vec<usize> = (0..self.axes.len()).collect();
        order.sort_by_key(|&own| self.axes[own]);
        let mut aligned = vec![1; out.rank()];
        for (&size, &axis) in operand.shape().iter().zip(&self.axes) {
            aligned[axis] = size;
        }
        Ok(operand.permute(&order).reshape(&aligned).broadcast(&out.shape))
    }
}

/// The elements in reverse order along some axes (`Nx.reverse/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Reverse {
    /// The axes to reverse.
    pub axes: Vec<usize>,
}

impl Operation for Reverse {
    fn name(&self) -> &'static str {
        "reverse"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        check_kept(self.name(), operand, dtype)?;
        shape::check_axes(self.name(), &self.axes, operand.rank())?;
        Ok(operand.clone())
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        let mut strides = operand.strides().to_vec();
        let mut offset = operand.offset() as isize;
        for &axis in &self.axes {
            offset += strides[axis] * (out.shape[axis] as isize - 1);
            strides[axis] = -strides[axis];
        }
        Ok(operand.view(out.shape.clone(), strides, offset as usize))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let [operand] = take_owned(self.name(), operands)?;
        Ok(operand.flip(&self.axes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;
    use crate::testing::{check_burn, check_gradient};

    fn sample() -> HostTensor {
        HostTensor::from_vec((0..6).map(f64::from).collect(), &[1, 2, 3]).transpose(&[2, 0, 1])
    }

    fn operations() -> Vec<Op> {
        vec![
            Reshape { shape: vec![2, 3, 1, 1] }.into(),
            Reshape { shape: vec![6] }.into(),
            Transpose { axes: vec![2, 0, 1] }.into(),
            Broadcast { shape: vec![3, 4, 5, 2], axes: vec![0, 2, 3] }.into(),
            Broadcast { shape: vec![2, 3, 5, 4], axes: vec![1, 3, 0] }.into(),
            Reverse { axes: vec![0, 2] }.into(),
            Reverse { axes: vec![] }.into(),
        ]
    }

    #[test]
    fn both_paths_agree_and_differentiate() {
        for op in operations() {
            check_burn(op.clone(), &[sample()], DType::F64, 0.0);
            check_burn(op.clone(), &[sample().cast(DType::S16)], DType::S16, 0.0);
            check_gradient(op, &[sample()]);
        }
    }

    // The values are those of Nx.BinaryBackend.
    #[test]
    fn reads_the_elements_in_their_new_order() {
        let tensor = HostTensor::from_vec(vec![1_u8, 2, 3, 4, 5, 6], &[2, 3]);
        let elements = |op: Op| {
            check_burn(op, std::slice::from_ref(&tensor), DType::U8, 0.0)
                .elements::<u8>()
                .into_owned()
        };
        assert_eq!(elements(Reverse { axes: vec![1] }.into()), [3, 2, 1, 6, 5, 4]);
        assert_eq!(elements(Reverse { axes: vec![0] }.into()), [4, 5, 6, 1, 2, 3]);
        assert_eq!(
            elements(Broadcast { shape: vec![3, 2], axes: vec![1, 0] }.into()),
            [1, 4, 2, 5, 3, 6]
        );
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let spec = sample().spec();
        let refused = |op: Op| op.infer(std::slice::from_ref(&spec), DType::F64).unwrap_err();
        refused(Reshape { shape: vec![4] }.into());
        refused(Reshape { shape: vec![usize::MAX, usize::MAX] }.into());
        refused(Transpose { axes: vec![0, 1] }.into());
        refused(Transpose { axes: vec![0, 1, 1] }.into());
        refused(Broadcast { shape: vec![3, 1, 3], axes: vec![0, 1, 2] }.into());
        refused(Broadcast { shape: vec![3, 1, 2], axes: vec![0, 1, 9] }.into());
        refused(Broadcast { shape: vec![3, 1, 2, usize::MAX], axes: vec![0, 1, 2] }.into());
        refused(Reverse { axes: vec![3] }.into());
        let error = Op::from(Reverse { axes: vec![0] }).infer(&[spec], DType::F32).unwrap_err();
        assert_eq!(error.to_string(), "reverse: given f64 {3, 1, 2} to f32, expected f64");
    }
}
