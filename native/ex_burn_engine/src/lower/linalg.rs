//! Functions of matrices: one operation on their parts, out of which the results are cut.

use super::{Builder, Lowered};
use crate::kernels::{Reshape, Slice};
use crate::program::Factor;
use crate::{DType, Operation, Result, Shape, Spec, ensure, shape};

/// Adds a function of matrices, and returns its results.
pub(super) fn apply(
    builder: &mut Builder,
    factor: &Factor,
    operands: &[Lowered],
) -> Result<Vec<Lowered>> {
    let Factor { op, dtypes, .. } = factor;
    let specs: Vec<Spec> = operands.iter().map(|operand| operand.spec.clone()).collect();
    let shapes = op.shapes(&specs)?;
    ensure!(
        shapes.len() == dtypes.len(),
        op.name(),
        format!("{} types", dtypes.len()),
        format!("one for each of {} results", shapes.len())
    );
    let complex = operands.iter().any(Lowered::is_complex);
    let dtype = match dtypes.iter().all(|dtype| dtype.computed() != DType::F64) {
        true => DType::F32,
        false => DType::F64,
    };

    let mut values = vec![];
    for operand in operands {
        if complex {
            values.extend(builder.pair(operand, DType::F64)?);
        } else {
            values.push(builder.decode(operand)?);
        }
    }
    let packed = builder.apply(op.clone(), &values, dtype)?;

    let batch = specs[0].rank() - 2;
    let mut start = 0;
    let mut cut = |builder: &mut Builder, shape: &Shape| {
        let mut lengths = builder.specs[packed].shape.clone();
        let mut starts = vec![0; lengths.len()];
        let length = shape::size(&shape[batch..]);
        (starts[batch], lengths[batch]) = (start, length);
        start += length;
        let strides = vec![1; lengths.len()];
        let part = builder.apply(Slice { starts, lengths, strides }, &[packed], dtype)?;
        builder.apply(Reshape { shape: shape.clone() }, &[part], dtype)
    };
    let mut results = Vec::with_capacity(shapes.len());
    for (shape, &out) in shapes.into_iter().zip(dtypes) {
        let re = cut(builder, &shape)?;
        let im = if complex { Some(cut(builder, &shape)?) } else { None };
        let value = builder.of_parts(re, im, out)?;
        results.push(Lowered { spec: Spec::new(out, shape), parts: value });
    }
    Ok(results)
}

impl Builder {
    /// What stores a value of `dtype` that was computed as floats.
    fn of_parts(&mut self, re: usize, im: Option<usize>, dtype: DType) -> Result<Vec<usize>> {
        if !dtype.is_complex() {
            let value = self.cast(re, dtype.computed())?;
            return Ok(vec![self.encode(value, dtype, true)?]);
        }
        let re = self.cast(re, dtype.stored())?;
        let im = match im {
            Some(im) => self.cast(im, dtype.stored())?,
            None => self.apply(crate::kernels::Binary::Subtract, &[re, re], dtype.stored())?,
        };
        Ok(vec![re, im])
    }
}
