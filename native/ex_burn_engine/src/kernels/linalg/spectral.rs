//! Eigenvalues and singular values.

use super::matrix::{Scalar, is_finite, nan, without_noise};
use crate::{DType, Float};
use faer::{Mat, MatRef, Side};

/// What turns a column so that its largest component is positive: of components that are nearly as
/// large, the first.
fn turn<S: Scalar>(columns: MatRef<'_, S>, column: usize) -> S {
    let column = columns.col(column);
    let largest = column.iter().fold(0.0_f64, |largest, value| largest.max(value.magnitude()));
    let mut large = column.iter().filter(|value| value.magnitude() >= largest * (1.0 - 1e-9));
    large.next().map_or(S::one(), |value| value.direction().conjugate())
}

pub(super) fn eigh<S: Scalar>(a: &Mat<S>) -> Vec<Mat<S>> {
    let size = a.nrows();
    let eigen = match a.self_adjoint_eigen(Side::Lower) {
        Ok(eigen) if is_finite(a) => eigen,
        _ => return vec![nan(size, 1), nan(size, size)],
    };
    let (values, vectors) = (eigen.S().column_vector(), eigen.U());
    let mut order: Vec<usize> = (0..size).collect();
    let magnitude = |at: usize| values[at].magnitude();
    order.sort_by(|&left, &right| magnitude(right).total_cmp(&magnitude(left)));
    let sorted = Mat::from_fn(size, 1, |at, _| values[order[at]]);
    vec![without_noise(sorted, size), without_noise(turned(vectors, &order), size)]
}

/// The columns in the order given, each turned by [`turn`].
fn turned<S: Scalar>(columns: MatRef<'_, S>, order: &[usize]) -> Mat<S> {
    let turns: Vec<S> = order.iter().map(|&column| turn(columns, column)).collect();
    Mat::from_fn(columns.nrows(), order.len(), |row, column| {
        columns[(row, order[column])] * turns[column]
    })
}

pub(super) fn svd<S: Scalar, T: Float>(a: &Mat<S>, full: bool) -> Vec<Mat<S>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let short = rows.min(columns);
    let (left, right) = if full { (rows, columns) } else { (short, short) };
    let svd = match if full { a.svd() } else { a.thin_svd() } {
        Ok(svd) if is_finite(a) => svd,
        _ => return vec![nan(rows, left), nan(short, 1), nan(right, columns)],
    };
    let (u, v) = (svd.U(), svd.V());
    let values = svd.S().column_vector();
    // What the rounding of the elements may have made of a zero, no one can tell from it: whoever
    // divides by the others, as a pseudoinverse does, must see it.
    let epsilon = if T::DTYPE == DType::F32 { f32::EPSILON.into() } else { f64::EPSILON };
    let largest = (0..short).map(|at| values[at].magnitude()).fold(0.0, f64::max);
    let noise = rows.max(columns) as f64 * epsilon * largest;
    let values = Mat::from_fn(short, 1, |at, _| match values[at] {
        value if value.magnitude() > noise => value,
        _ => S::zero(),
    });
    // A pair of vectors turns together, as the shorter one asks, which Nx has of `eigh`; those of
    // no singular value are free.
    let pairs: Vec<S> =
        (0..short).map(|at| if rows < columns { turn(u, at) } else { turn(v, at) }).collect();
    let turns = |vectors: MatRef<'_, S>| -> Vec<S> {
        let free = (short..vectors.ncols()).map(|at| turn(vectors, at));
        pairs.iter().copied().chain(free).collect()
    };
    let (u_turns, v_turns) = (turns(u), turns(v));
    let u = Mat::from_fn(rows, left, |row, at| u[(row, at)] * u_turns[at]);
    let v = Mat::from_fn(right, columns, |at, column| (v[(column, at)] * v_turns[at]).conjugate());
    let size = rows.max(columns);
    vec![without_noise(u, size), without_noise(values, size), without_noise(v, size)]
}
