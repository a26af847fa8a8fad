//! Orthonormal and triangular factors.

use super::SMALL;
use super::matrix::{Scalar, without_noise};
use crate::Float;
use faer::Mat;

/// By Householder reflections that make the diagonal of a real `R` positive. A column that is a
/// multiple of the unit vector already is left as it is.
pub(super) fn qr<S: Scalar, T: Float>(a: &Mat<S>, complete: bool) -> Vec<Mat<S>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let short = rows.min(columns);
    let mut r = a.clone();
    let mut reflectors = Vec::with_capacity(short);
    for step in 0..short {
        let Some(reflector) = Reflector::new::<T>(&r.col_as_slice(step)[step..]) else { continue };
        for column in step..columns {
            reflector.reflect::<T>(&mut r.col_as_slice_mut(column)[step..]);
        }
        r.col_as_slice_mut(step)[step + 1..].fill(S::zero());
        reflectors.push((step, reflector));
    }
    let width = if complete { rows } else { short };
    let q = if rows > SMALL {
        let mut q: Mat<S> = Mat::identity(rows, width);
        for (step, reflector) in reflectors.iter().rev() {
            for column in *step..width {
                reflector.reflect::<T>(&mut q.col_as_slice_mut(column)[*step..]);
            }
        }
        q
    } else {
        // First to last, as Nx: a reflection of the columns of `Q^H` is one of `Q` from the right.
        let mut adjoint: Mat<S> = Mat::identity(rows, rows);
        for (step, reflector) in &reflectors {
            for column in 0..rows {
                reflector.reflect::<T>(&mut adjoint.col_as_slice_mut(column)[*step..]);
            }
        }
        adjoint.adjoint().submatrix(0, 0, rows, width).to_owned()
    };
    let r = r.submatrix(0, 0, width, columns).to_owned();
    vec![without_noise(q, rows), without_noise(r, rows)]
}

/// The reflection `1 - scale * v * v^H`.
struct Reflector<S> {
    v: Vec<S>,
    scale: S,
}

impl<S: Scalar> Reflector<S> {
    /// What turns a vector into a multiple of the first unit vector; `None` if it is one.
    fn new<T: Float>(vector: &[S]) -> Option<Self> {
        let (&first, rest) = vector.split_first()?;
        if rest.iter().all(|value| value.is_zero()) {
            return None;
        }
        // Neither squares nor their sum leave the range of floats.
        let unit = S::from_real(vector.iter().fold(0.0, |unit: f64, v| unit.max(v.magnitude())));
        let square = |values: &[S]| {
            let sum = values.iter().map(|&v| (v / unit).magnitude().powi(2)).sum::<f64>();
            S::from_real(sum).round::<T>()
        };
        let length = (unit * S::from_real(square(vector).part(0).sqrt())).round::<T>();
        let start = if S::PARTS == 2 {
            first + first.direction() * length
        } else if first.part(0) <= 0.0 {
            first - length
        } else {
            // Their difference would cancel.
            -(unit * unit * square(rest)) / (first + length).round::<T>()
        };
        let start = start.round::<T>();
        let mut v: Vec<S> = rest.iter().map(|&value| (value / start).round::<T>()).collect();
        v.insert(0, S::one());
        let norm = v.iter().map(|v| v.magnitude().powi(2)).sum::<f64>();
        let scale = S::from_real(2.0 / S::from_real(norm).round::<T>().part(0)).round::<T>();
        Some(Self { v, scale })
    }

    fn reflect<T: Float>(&self, x: &mut [S]) {
        let product =
            self.v.iter().zip(&*x).fold(S::zero(), |sum, (v, &x)| sum + v.conjugate() * x);
        let product = product.round::<T>();
        for (x, &v) in x.iter_mut().zip(&self.v) {
            let part = (self.scale * (v * product).round::<T>()).round::<T>();
            *x = (*x - part).round::<T>();
        }
    }
}
