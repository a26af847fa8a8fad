//! A choice between tensors, element by element.

use crate::host::elementwise::zip3;
use crate::kernels::Binary;
use crate::op::{Operation, take, take_owned};
use crate::{DType, Element, HostTensor, Result, Spec, Value, ensure, shape, with_element};
use burn_backend::Backend;
use serde::Deserialize;

/// A choice between three tensors, in the type of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choose {
    /// The second operand where the first is not zero, else the third (`Nx.select/3`).
    Select,
    /// The first operand, but not below the second nor above the third, both scalars (`Nx.clip/3`).
    Clip,
}

impl Operation for Choose {
    fn name(&self) -> &'static str {
        match self {
            Choose::Select => "select",
            Choose::Clip => "clip",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let name = self.name();
        let [first, second, third] = take(name, operands)?;
        let shape = match self {
            Choose::Select => {
                let pair = shape::broadcast(name, &second.shape, &third.shape)?;
                shape::broadcast(name, &first.shape, &pair)?
            }
            Choose::Clip => {
                ensure!(
                    second.rank() == 0 && third.rank() == 0,
                    name,
                    format!("bounds {second} and {third}"),
                    "scalar bounds"
                );
                first.shape.clone()
            }
        };
        Ok(Spec::new(dtype, shape))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [first, second, third] = take(self.name(), operands)?;
        let (second, third) = (second.cast(out.dtype), third.cast(out.dtype));
        let shape = &out.shape;
        Ok(with_element!(out.dtype, T => HostTensor::from_vec(match self {
            Choose::Select => {
                let select = |test: u8, yes: T, no: T| if test != 0 { yes } else { no };
                zip3(shape, [&first.truth(), &second, &third], select)
            }
            Choose::Clip => {
                let first = first.cast(out.dtype);
                let clip = |value: T, low, high| Element::min(Element::max(value, low), high);
                zip3(shape, [&first, &second, &third], clip)
            }
        }, shape)))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [first, second, third] = take_owned(name, operands)?;
        match self {
            Choose::Select => {
                let mask = first.broadcast(&out.shape).into_bool();
                let yes = second.cast(out.dtype).broadcast(&out.shape);
                let no = third.cast(out.dtype).broadcast(&out.shape);
                no.mask_where(name, mask, yes)
            }
            Choose::Clip => {
                let raised = Binary::Max.burn(vec![first, second], out)?;
                Binary::Min.burn(vec![raised, third], out)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient};

    #[test]
    fn selects_over_broadcast_operands() {
        let mask = HostTensor::from_vec(vec![0_u8, 2, 1], &[3]);
        let yes = HostTensor::from_vec(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]);
        let no = HostTensor::from_vec(vec![-1.0], &[]);
        let operands = [mask, yes.transpose(&[1, 0]), no];
        let result = check_burn(Choose::Select, &operands, DType::F32, 0.0);
        assert_eq!(result.shape(), [2, 3]);
        assert_eq!(result.elements::<f32>().as_ref(), [-1.0, 3.0, 5.0, -1.0, 4.0, 6.0]);
        check_gradient(Choose::Select, &operands);
    }

    #[test]
    fn clips_and_keeps_nan() {
        let tensor = HostTensor::from_vec(vec![-2.0, 0.5, 7.0], &[3]);
        let [low, high] = [-1.0, 3.0].map(|bound| HostTensor::from_vec(vec![bound], &[]));
        let operands = [tensor, low, high];
        let result = check_burn(Choose::Clip, &operands, DType::F64, 0.0);
        assert_eq!(result.elements::<f64>().as_ref(), [-1.0, 0.5, 3.0]);
        check_gradient(Choose::Clip, &operands);

        let nan = [&[HostTensor::from_vec(vec![f64::NAN], &[])], &operands[1..]].concat();
        assert!(check_burn(Choose::Clip, &nan, DType::F64, 0.0).scalar::<f64>().is_nan());
    }

    #[test]
    fn refuses_bounds_that_are_no_scalars() {
        let spec = Spec::new(DType::F32, [2]);
        let error = Choose::Clip.infer(&[spec.clone(), spec.clone(), spec], DType::F32);
        assert_eq!(
            error.unwrap_err().to_string(),
            "clip: given bounds f32 {2} and f32 {2}, expected scalar bounds"
        );
    }
}
