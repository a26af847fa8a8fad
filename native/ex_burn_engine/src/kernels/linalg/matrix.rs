//! The elements of matrices, and what is asked of all of them.

use crate::{DType, Float};
use faer::Mat;
use faer::traits::ComplexField;
use num_complex::Complex64;
use num_traits::NumAssign;
use std::ops::Neg;

/// A real or complex number.
pub(super) trait Scalar:
    ComplexField<Real = f64> + NumAssign + Neg<Output = Self> + Copy + Send + Sync
{
    const PARTS: usize;

    fn from_parts(parts: &[f64]) -> Self;
    fn part(self, number: usize) -> f64;
    fn conjugate(self) -> Self;
    fn magnitude(self) -> f64;

    fn from_real(value: f64) -> Self {
        Self::from_parts(&[value, 0.0])
    }

    /// The nearest number whose parts are of type `T`.
    fn round<T: Float>(self) -> Self {
        if T::DTYPE == DType::F64 {
            return self;
        }
        Self::from_parts(&[0, Self::PARTS - 1].map(|at| T::from_f64(self.part(at)).to_f64()))
    }

    /// The number of magnitude 1 in the same direction.
    fn direction(self) -> Self {
        match self.magnitude() {
            0.0 => Self::one(),
            magnitude => self / Self::from_real(magnitude),
        }
    }
}

impl Scalar for f64 {
    const PARTS: usize = 1;

    fn from_parts(parts: &[f64]) -> Self {
        parts[0]
    }

    fn part(self, _number: usize) -> f64 {
        self
    }

    fn conjugate(self) -> Self {
        self
    }

    fn magnitude(self) -> f64 {
        self.abs()
    }
}

impl Scalar for Complex64 {
    const PARTS: usize = 2;

    fn from_parts(parts: &[f64]) -> Self {
        Self::new(parts[0], parts[1])
    }

    fn part(self, number: usize) -> f64 {
        [self.re, self.im][number]
    }

    fn conjugate(self) -> Self {
        self.conj()
    }

    fn magnitude(self) -> f64 {
        self.norm()
    }
}

pub(super) fn is_finite<S: Scalar>(a: &Mat<S>) -> bool {
    (0..a.ncols()).all(|column| a.col(column).iter().all(|value| value.magnitude().is_finite()))
}

pub(super) fn nan<S: Scalar>(rows: usize, columns: usize) -> Mat<S> {
    Mat::from_fn(rows, columns, |_, _| S::from_real(f64::NAN))
}

/// What is left of a zero after that many roundings is zero.
pub(super) fn without_noise<S: Scalar>(mut a: Mat<S>, size: usize) -> Mat<S> {
    let columns = 0..a.ncols();
    let largest = columns
        .clone()
        .flat_map(|column| a.col_as_slice(column).iter())
        .fold(0.0_f64, |largest, value| largest.max(value.magnitude()));
    let noise = 4.0 * size as f64 * f64::EPSILON * largest;
    for column in columns {
        for value in a.col_as_slice_mut(column) {
            let parts = [0, S::PARTS - 1].map(|part| value.part(part));
            *value = S::from_parts(&parts.map(|part| if part.abs() <= noise { 0.0 } else { part }));
        }
    }
    a
}
