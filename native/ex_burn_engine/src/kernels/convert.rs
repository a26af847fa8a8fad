//! The elements as another type.

use crate::op::{Operation, take, take_owned, unsupported};
use crate::{DType, HostTensor, Result, Spec, Value, ensure};
use burn_backend::Backend;
use serde::Deserialize;

/// A conversion of every element to the type of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Convert {
    /// The nearest value (`Nx.as_type/2`): floats are truncated towards zero and saturate into
    /// integers, NaN becomes 0; integers wrap.
    AsType,
    /// The same bits (`Nx.bitcast/2`).
    Bitcast,
}

impl Operation for Convert {
    fn name(&self) -> &'static str {
        match self {
            Convert::AsType => "as_type",
            Convert::Bitcast => "bitcast",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        ensure!(
            *self == Convert::AsType || operand.dtype.size() == dtype.size(),
            self.name(),
            format!("{operand} to {dtype}"),
            "two types of one width"
        );
        Ok(Spec::new(dtype, operand.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        match self {
            Convert::AsType => Ok(operand.cast(out.dtype)),
            Convert::Bitcast => HostTensor::from_bytes(self.name(), &operand.to_bytes(), out),
        }
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let [operand] = take_owned(self.name(), operands)?;
        match self {
            Convert::AsType => Ok(operand.cast(out.dtype)),
            Convert::Bitcast => Err(unsupported(self.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, host};

    #[test]
    fn converts_between_all_types() {
        let tensor = HostTensor::from_vec(vec![0_i64, 1, 100, 3], &[2, 2]).transpose(&[1, 0]);
        for from in DType::NATIVE {
            for to in DType::NATIVE {
                let result = check_burn(Convert::AsType, &[tensor.cast(from)], to, 0.0);
                assert_eq!(result.cast(DType::S64).elements::<i64>().as_ref(), [0, 100, 1, 3]);
            }
        }
    }

    #[test]
    fn bitcasts_keep_the_bits() {
        let tensor = HostTensor::from_vec(vec![1.0_f32, -0.0], &[2]);
        let bits = host(Convert::Bitcast, &[tensor], DType::U32);
        assert_eq!(bits.elements::<u32>().as_ref(), [0x3F80_0000, 0x8000_0000]);
        assert!(Convert::Bitcast.infer(&[Spec::new(DType::F32, [2])], DType::F64).is_err());
    }
}
