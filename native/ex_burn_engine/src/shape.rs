//! Shapes: the size of every axis, outermost first. A scalar has none.

use crate::{Error, Result, ensure};

/// The size of every axis of a tensor.
pub type Shape = Vec<usize>;

/// The number of elements a shape holds.
pub fn size(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// A shape as people write it: `{2, 3}`.
pub fn show(shape: &[usize]) -> String {
    let axes: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("{{{}}}", axes.join(", "))
}

/// Refuses a shape with an empty axis or one whose size in bytes overflows.
pub fn check(op: &str, shape: &[usize], element_size: usize) -> Result<()> {
    let bytes = shape.iter().try_fold(element_size, |bytes, &axis| bytes.checked_mul(axis));
    let fits = bytes.is_some_and(|bytes| bytes > 0 && bytes <= isize::MAX as usize);
    ensure!(
        fits,
        op,
        format!("shape {}", show(shape)),
        "axes of at least 1 whose product fits in memory"
    );
    Ok(())
}

/// The shape two operands broadcast to: axes align at the end, and an axis of 1 stretches.
pub fn broadcast(op: &str, left: &[usize], right: &[usize]) -> Result<Shape> {
    let rank = left.len().max(right.len());
    let axis = |shape: &[usize], index: usize| {
        (index + shape.len()).checked_sub(rank).map_or(1, |at| shape[at])
    };
    (0..rank)
        .map(|index| match (axis(left, index), axis(right, index)) {
            (l, r) if l == r || r == 1 => Ok(l),
            (1, r) => Ok(r),
            _ => Err(Error::new(
                op,
                format!("shapes {} and {}", show(left), show(right)),
                "shapes that broadcast",
            )),
        })
        .collect()
}

/// Refuses axes that are out of range or named twice.
pub fn check_axes(op: &str, axes: &[usize], rank: usize) -> Result<()> {
    let mut seen = vec![false; rank];
    for &axis in axes {
        ensure!(axis < rank, op, format!("axis {axis}"), format!("an axis below the rank {rank}"));
        ensure!(!seen[axis], op, format!("axis {axis} twice"), "each axis once");
        seen[axis] = true;
    }
    Ok(())
}

/// Row-major strides, in elements.
pub fn strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts_from_the_last_axis() {
        assert_eq!(broadcast("add", &[4, 1, 3], &[2, 1]), Ok(vec![4, 2, 3]));
        assert_eq!(broadcast("add", &[], &[2]), Ok(vec![2]));
        let error = broadcast("add", &[2, 3], &[4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "add: given shapes {2, 3} and {4}, expected shapes that broadcast"
        );
    }

    #[test]
    fn refuses_empty_and_overflowing_shapes() {
        assert!(check("zeros", &[2, 0], 4).is_err());
        assert!(check("zeros", &[usize::MAX, 2], 4).is_err());
        assert!(check("zeros", &[], 4).is_ok());
    }

    #[test]
    fn refuses_axes_out_of_range_or_twice() {
        assert!(check_axes("sum", &[0, 2], 3).is_ok());
        assert!(check_axes("sum", &[3], 3).is_err());
        assert!(check_axes("sum", &[1, 1], 3).is_err());
    }
}
