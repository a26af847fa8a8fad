//! Triangular factors, and systems of them.

use super::SMALL;
use super::matrix::{Scalar, is_finite};
use crate::Float;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{Mat, Par, Side};
use std::cmp::Ordering;

/// Solves in place, row by row.
pub(super) fn substitute<S: Scalar, T: Float>(triangle: &Mat<S>, lower: bool, x: &mut Mat<S>) {
    if triangle.nrows() > SMALL {
        return match lower {
            true => solve_lower_triangular_in_place(triangle.as_ref(), x.as_mut(), Par::Seq),
            false => solve_upper_triangular_in_place(triangle.as_ref(), x.as_mut(), Par::Seq),
        };
    }
    let size = triangle.nrows();
    for step in 0..size {
        let row = if lower { step } else { size - 1 - step };
        let known = if lower { 0..row } else { row + 1..size };
        for column in 0..x.ncols() {
            let sum = known
                .clone()
                .fold(S::zero(), |sum, at| sum + triangle[(row, at)] * x[(at, column)]);
            x[(row, column)] = (x[(row, column)] - sum) / triangle[(row, row)];
        }
    }
    for column in 0..x.ncols() {
        x.col_as_slice_mut(column).iter_mut().for_each(|value| *value = value.round::<T>());
    }
}

pub(super) fn cholesky<S: Scalar, T: Float>(a: &Mat<S>) -> Mat<S> {
    let size = a.nrows();
    if size > SMALL
        && let Ok(llt) = a.llt(Side::Lower)
    {
        let l = llt.L();
        return Mat::from_fn(
            size,
            size,
            |row, column| {
                if row >= column { l[(row, column)] } else { S::zero() }
            },
        );
    }
    // A semidefinite matrix has a factor too, whose zero pivots have zeros below them.
    let mut l: Mat<S> = Mat::zeros(size, size);
    for row in 0..size {
        for column in 0..=row {
            let sum = (0..column)
                .fold(S::zero(), |sum, at| sum + l[(row, at)] * l[(column, at)].conjugate());
            let rest = (a[(row, column)] - sum.round::<T>()).round::<T>();
            let value = if row == column {
                S::from_real(rest.part(0).sqrt())
            } else if rest.is_zero() && l[(column, column)].is_zero() {
                S::zero()
            } else {
                rest / l[(column, column)]
            };
            l[(row, column)] = value.round::<T>();
        }
    }
    let positive = (0..size).all(|at| l[(at, at)].part(0) >= 0.0);
    if positive && is_finite(&l) {
        return l;
    }
    Mat::from_fn(size, size, |row, column| S::from_real(if row >= column { f64::NAN } else { 0.0 }))
}

pub(super) fn lu<S: Scalar, T: Float>(a: &Mat<S>) -> Vec<Mat<S>> {
    let size = a.nrows();
    let (order, l, u) = if size > SMALL {
        let lu = a.partial_piv_lu();
        (lu.P().arrays().0.to_vec(), lu.L().to_owned(), lu.U().to_owned())
    } else {
        small_lu::<S, T>(a)
    };
    let mut permutation: Mat<S> = Mat::zeros(size, size);
    for (column, &row) in order.iter().enumerate() {
        permutation[(row, column)] = S::one();
    }
    vec![permutation, l, u]
}

/// The order of the rows, and both triangles.
fn small_lu<S: Scalar, T: Float>(a: &Mat<S>) -> (Vec<usize>, Mat<S>, Mat<S>) {
    let size = a.nrows();
    let mut order: Vec<usize> = (0..size).collect();
    let mut a = a.clone();
    for step in 0..size {
        let larger = |best: usize, row: usize| {
            if a[(row, step)].magnitude() > a[(best, step)].magnitude() { row } else { best }
        };
        let pivot = (step..size).fold(step, larger);
        order.swap(step, pivot);
        for column in 0..size {
            a.col_as_slice_mut(column).swap(step, pivot);
        }
        let diagonal = a[(step, step)];
        for row in step + 1..size {
            if !diagonal.is_zero() {
                a[(row, step)] = (a[(row, step)] / diagonal).round::<T>();
            }
            for column in step + 1..size {
                let product = (a[(row, step)] * a[(step, column)]).round::<T>();
                a[(row, column)] = (a[(row, column)] - product).round::<T>();
            }
        }
    }
    let l = Mat::from_fn(size, size, |row, column| match row.cmp(&column) {
        Ordering::Less => S::zero(),
        Ordering::Equal => S::one(),
        Ordering::Greater => a[(row, column)],
    });
    let u = Mat::from_fn(
        size,
        size,
        |row, column| {
            if row <= column { a[(row, column)] } else { S::zero() }
        },
    );
    (order, l, u)
}
