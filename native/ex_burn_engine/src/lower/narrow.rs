//! Narrow integers and 8-bit floats: moved as they are stored, computed as wider numbers.

use super::{Builder, Lowered};
use crate::kernels::{
    Binary, Choose, Constant, Convert, Float8, IndexedKind, Narrow, Number, Reducer, Unary,
};
use crate::op::take;
use crate::{DType, Op, Result, Spec, ensure};

impl DType {
    /// The format of an 8-bit float.
    pub(super) fn float8(self) -> Option<Float8> {
        match self {
            DType::F8 => Some(Float8::E5M2),
            DType::F8E4M3Fn => Some(Float8::E4M3Fn),
            _ => None,
        }
    }
}

/// Type and shape of a bitcast with at least one type that is not native.
pub(super) fn infer_bitcast(operands: &[Spec], dtype: DType) -> Result<Spec> {
    let [operand] = take("bitcast", operands)?;
    let fits = operand.dtype.bits() == dtype.bits();
    ensure!(fits, "bitcast", format!("{operand} to {dtype}"), "two types of one width");
    Ok(Spec::new(dtype, operand.shape.clone()))
}

impl Builder {
    /// A value that is not complex, in the native type it is computed in.
    pub(super) fn decode(&mut self, value: &Lowered) -> Result<usize> {
        match value.spec.dtype.float8() {
            Some(format) => self.apply(Narrow::Decode(format), &value.parts, DType::F32),
            None => Ok(value.parts[0]),
        }
    }

    /// What stores a value of `dtype`, from the type it was computed in.
    pub(super) fn encode(&mut self, value: usize, dtype: DType, saturate: bool) -> Result<usize> {
        let bits = dtype.bits() as u32;
        let op = match dtype.float8() {
            Some(format) => Narrow::Encode(format),
            None if dtype.is_native() => return Ok(value),
            None if saturate => Narrow::Saturate(bits),
            None => Narrow::Wrap(bits),
        };
        self.apply(op, &[value], dtype.stored())
    }
}

/// Which of `count` operands hold the elements of the result, of an operation that only moves
/// them; `None` of one that computes.
pub(super) fn moved(op: &Op, count: usize) -> Option<Vec<bool>> {
    let first = |moved: usize| (0..count).map(|operand| operand < moved).collect();
    match op {
        Op::Reshape(_)
        | Op::Transpose(_)
        | Op::Broadcast(_)
        | Op::Reverse(_)
        | Op::Pad(_)
        | Op::Concatenate(_)
        | Op::Stack(_)
        | Op::Slice(_)
        | Op::PutSlice(_) => Some(first(count)),
        Op::DynamicPutSlice(_) => Some(first(2)),
        Op::DynamicSlice(_) | Op::Gather(_) | Op::Take(_) | Op::TakeAlongAxis(_) => Some(first(1)),
        Op::Choose(Choose::Select) => Some(vec![false, true, true]),
        Op::Indexed(indexed) if indexed.kind == IndexedKind::Put => Some(vec![true, false, true]),
        _ => None,
    }
}

/// Adds an operation without complex numbers, and returns what stores its result.
pub(super) fn apply(
    builder: &mut Builder,
    op: &Op,
    operands: &[Lowered],
    out: &Spec,
) -> Result<usize> {
    let dtype = out.dtype;
    if let Some(moved) = moved(op, operands.len()) {
        let mut pairs = operands.iter().zip(&moved);
        if pairs.all(|(operand, &moved)| !moved || operand.spec.dtype == dtype) {
            let operands: Result<Vec<usize>> = operands
                .iter()
                .zip(moved)
                .map(
                    |(operand, moved)| {
                        if moved { Ok(operand.parts[0]) } else { builder.decode(operand) }
                    },
                )
                .collect();
            return builder.apply(op.clone(), &operands?, dtype.stored());
        }
    }
    match op {
        Op::Convert(Convert::Bitcast) => {
            let bits = builder.apply(Convert::Bitcast, &operands[0].parts, dtype.stored())?;
            return if dtype.float8().is_some() {
                Ok(bits)
            } else {
                builder.encode(bits, dtype, false)
            };
        }
        Op::Unary(Unary::PopulationCount | Unary::CountLeadingZeros) => {
            return count_bits(builder, op, &operands[0]);
        }
        _ => {}
    }
    let values: Result<Vec<usize>> =
        operands.iter().map(|operand| builder.decode(operand)).collect();
    let value = builder.apply(op.clone(), &values?, computed(op, operands, dtype))?;
    builder.encode(value, dtype, saturates(op, operands))
}

/// The type that a result is computed in: one that no digit is rounded in before it is stored.
fn computed(op: &Op, operands: &[Lowered], dtype: DType) -> DType {
    let wide = match op {
        Op::Constant(_) => true,
        Op::Convert(_) => operands[0].spec.dtype == DType::F64,
        _ => false,
    };
    if wide && dtype.float8().is_some() { DType::F64 } else { dtype.computed() }
}

/// Whether a result outside the range of a narrow integer is its nearest end.
fn saturates(op: &Op, operands: &[Lowered]) -> bool {
    match op {
        Op::Convert(_) => operands[0].spec.dtype.is_float(),
        Op::Constant(Constant { value, .. }) => matches!(value, Number::Float(_)),
        // The identity of an extreme is the end of the range.
        Op::Window(window) => matches!(window.kind, Reducer::Max | Reducer::Min),
        _ => false,
    }
}

/// A count over the bits that a narrow integer has.
fn count_bits(builder: &mut Builder, op: &Op, operand: &Lowered) -> Result<usize> {
    let dtype = operand.spec.dtype;
    let bits = builder.apply(Convert::Bitcast, &operand.parts, DType::U8)?;
    let bits = builder.apply(Narrow::Wrap(dtype.bits() as u32), &[bits], DType::U8)?;
    let mut count = builder.apply(op.clone(), &[bits], DType::U8)?;
    if let Op::Unary(Unary::CountLeadingZeros) = op {
        let more = Number::Unsigned(8 - dtype.bits() as u64);
        let more = builder.constant(more, &[], DType::U8)?;
        count = builder.apply(Binary::Subtract, &[count, more], DType::U8)?;
    }
    let count = builder.cast(count, dtype.stored())?;
    builder.encode(count, dtype, false)
}
