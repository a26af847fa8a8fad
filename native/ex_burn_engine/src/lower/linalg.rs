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
        let mut parts = vec![cut(builder, &shape)?];
        if complex {
            parts.push(cut(builder, &shape)?);
        }
        let parts = if out.is_complex() {
            let computed = Lowered { spec: Spec::new(dtype, shape.clone()), parts };
            builder.pair(&computed, out.stored())?.to_vec()
        } else {
            let value = builder.cast(parts[0], out.computed())?;
            vec![builder.encode(value, out, true)?]
        };
        results.push(Lowered { spec: Spec::new(out, shape), parts });
    }
    Ok(results)
}
