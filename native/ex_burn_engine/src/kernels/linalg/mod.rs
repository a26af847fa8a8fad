//! Factorisations of matrices and the systems they solve, in 64 bits through faer.

mod matrix;
mod qr;
mod spectral;
mod triangular;

use crate::host::parallel;
use crate::op::{Operation, unsupported};
use crate::{DType, Error, Float, HostTensor, Result, Shape, Spec, ensure, shape, with_float};
use faer::Mat;
use matrix::Scalar;
use num_complex::Complex64;
use qr::qr;
use serde::Deserialize;
use spectral::{eigh, svd};
use std::sync::OnceLock;
use triangular::{cholesky, lu, substitute};

/// Up to this size, LU and Cholesky factors are computed by the plain loops and rounded to the
/// result's type at every step, as are QR factors: small examples give the same digits on every
/// backend of Nx. Beyond, they are computed in blocks and in 64 bits.
const SMALL: usize = 32;

/// A function of matrices, or of batches of them, as those of `Nx.LinAlg`.
///
/// It is one step of a lowered graph: the operands are matrices in parts, the real one and, if the
/// matrices are complex, the imaginary one after it. Every result of every matrix of the batch lies
/// in one row of the lowered result, row-major, the real part before the imaginary one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Linalg {
    /// The lower triangular `L` with `A = L * L^H`, from the lower triangle of `A`.
    ///
    /// The lower triangle is NaN where `A` is not positive.
    Cholesky,
    /// `P`, `L` and `U` with `A = P * L * U`: a permutation, a lower and an upper triangle.
    Lu,
    /// `Q` and `R` with `A = Q * R`: orthonormal columns and an upper triangle.
    Qr {
        /// All columns of `Q`, not only as many as `A` has.
        complete: bool,
    },
    /// The eigenvalues of a Hermitian matrix, the one of the largest magnitude first, and its
    /// eigenvectors as columns, from the lower triangle.
    Eigh,
    /// `U`, the singular values in descending order, and `V^H`.
    Svd {
        /// All columns of `U` and rows of `V^H`, not only one per singular value.
        full: bool,
    },
    /// The `X` with `A * X = B`.
    Solve,
    /// The `X` with `A * X = B` or `X * A = B`, for a triangle `A`.
    TriangularSolve {
        /// Whether `A` stands on the left.
        left_side: bool,
        /// Whether `A` is the lower triangle.
        lower: bool,
        /// What is done to `A` first.
        transform: Transform,
    },
}

/// What is done to a matrix before it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transform {
    /// Nothing.
    None,
    /// Rows become columns.
    Transpose,
    /// Every element becomes its conjugate.
    Conjugate,
}

impl Linalg {
    /// The number of tensors it takes.
    fn arity(&self) -> usize {
        match self {
            Linalg::Solve | Linalg::TriangularSolve { .. } => 2,
            _ => 1,
        }
    }

    /// The shape of every result, for tensors that are not in parts.
    pub fn shapes(&self, operands: &[Spec]) -> Result<Vec<Shape>> {
        let name = self.name();
        let given = || operands.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
        ensure!(operands.len() == self.arity(), name, given(), format!("{} tensors", self.arity()));
        let [batch @ .., rows, columns] = &operands[0].shape[..] else {
            return Err(Error::new(name, given(), "a matrix or a batch of them"));
        };
        let (rows, columns) = (*rows, *columns);
        let square = !matches!(self, Linalg::Qr { .. } | Linalg::Svd { .. });
        ensure!(!square || rows == columns, name, given(), "square matrices");
        let of = |axes: &[usize]| [batch, axes].concat();
        let short = rows.min(columns);
        Ok(match *self {
            Linalg::Cholesky => vec![of(&[rows, rows])],
            Linalg::Lu => vec![of(&[rows, rows]); 3],
            Linalg::Qr { complete: true } => vec![of(&[rows, rows]), of(&[rows, columns])],
            Linalg::Qr { complete: false } => vec![of(&[rows, short]), of(&[short, columns])],
            Linalg::Eigh => vec![of(&[rows]), of(&[rows, rows])],
            Linalg::Svd { full: true } => {
                vec![of(&[rows, rows]), of(&[short]), of(&[columns, columns])]
            }
            Linalg::Svd { full: false } => {
                vec![of(&[rows, short]), of(&[short]), of(&[short, columns])]
            }
            Linalg::Solve | Linalg::TriangularSolve { .. } => {
                let right = &operands[1].shape;
                let axis = match self {
                    Linalg::TriangularSolve { left_side: false, .. } => right.len() - 1,
                    _ => batch.len(),
                };
                let fits = right.starts_with(batch)
                    && (1..=2).contains(&(right.len() - batch.len()))
                    && right[axis] == rows;
                ensure!(fits, name, given(), format!("a right side of {rows} unknowns"));
                vec![right.clone()]
            }
        })
    }

    /// The shapes of the results and of what one matrix of every operand has, of operands in parts;
    /// and the number of parts.
    fn lowered(&self, operands: &[Spec]) -> Result<(Vec<Shape>, usize)> {
        let parts = operands.len() / self.arity();
        let whole: Vec<Spec> = operands.iter().step_by(parts.max(1)).cloned().collect();
        let fits = parts <= 2
            && operands.chunks(parts.max(1)).all(|parts| parts.iter().all(|p| p == &parts[0]));
        ensure!(fits, self.name(), format!("{} parts", operands.len()), "1 or 2 of each matrix");
        Ok((self.shapes(&whole)?, parts))
    }
}

impl Operation for Linalg {
    fn name(&self) -> &'static str {
        match self {
            Linalg::Cholesky => "cholesky",
            Linalg::Lu => "lu",
            Linalg::Qr { .. } => "qr",
            Linalg::Eigh => "eigh",
            Linalg::Svd { .. } => "svd",
            Linalg::Solve => "solve",
            Linalg::TriangularSolve { .. } => "triangular_solve",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let (shapes, parts) = self.lowered(operands)?;
        let fits = matches!(dtype, DType::F32 | DType::F64);
        ensure!(fits, self.name(), dtype, "f32 or f64");
        let batch = &operands[0].shape[..operands[0].rank() - 2];
        let total: usize =
            shapes.iter().map(|shape| parts * shape::size(&shape[batch.len()..])).sum();
        Ok(Spec::new(dtype, [batch, &[total]].concat()))
    }

    fn work(&self, operands: &[Spec], out: &Spec) -> usize {
        let [.., rows, columns] = operands[0].shape[..] else { return out.size() };
        out.size().saturating_mul(8 * rows.max(columns))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        with_float!(out.dtype, T => {
            if operands.len() == self.arity() {
                self.each::<f64, T>(operands, out)
            } else {
                self.each::<Complex64, T>(operands, out)
            }
        }, else Err(unsupported(self.name())))
    }
}

impl Linalg {
    /// Every matrix of the batch.
    fn each<S: Scalar, T: Float>(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let batch_rank = out.rank() - 1;
        let operands: Vec<HostTensor> =
            operands.iter().map(|operand| operand.cast(DType::F64)).collect();
        let parts: Vec<_> = operands.iter().map(|operand| operand.elements::<f64>()).collect();
        let matrix = |operand: usize, item: usize| {
            let axes = &operands[operand * S::PARTS].shape()[batch_rank..];
            let (rows, columns) = (axes[0], axes.get(1).copied().unwrap_or(1));
            Mat::from_fn(rows, columns, |row, column| {
                let at = (item * rows + row) * columns + column;
                let both = [0, S::PARTS - 1].map(|part| parts[operand * S::PARTS + part][at]);
                S::from_parts(&both)
            })
        };

        let total = out.shape[batch_rank];
        let steps = self.work(&[operands[0].spec()], &Spec::new(out.dtype, [1]));
        let refused = OnceLock::new();
        let mut elements = vec![T::ZERO; out.size()];
        parallel::for_each_part(&mut elements, total, steps, |start, rows| {
            for (item, row) in (start / total..).zip(rows.chunks_exact_mut(total)) {
                let matrices: Vec<Mat<S>> =
                    (0..self.arity()).map(|operand| matrix(operand, item)).collect();
                match self.compute::<S, T>(&matrices) {
                    Ok(results) => write(&results, row),
                    Err(error) => _ = refused.set(error),
                }
            }
        });
        match refused.into_inner() {
            Some(error) => Err(error),
            None => Ok(HostTensor::from_vec(elements, &out.shape)),
        }
    }

    fn compute<S: Scalar, T: Float>(&self, matrices: &[Mat<S>]) -> Result<Vec<Mat<S>>> {
        let a = &matrices[0];
        let ensure_invertible = |triangle: &Mat<S>| {
            let zero = (0..triangle.nrows()).any(|at| triangle[(at, at)].is_zero());
            ensure!(!zero, self.name(), "a singular matrix", "an invertible one");
            Ok(())
        };
        Ok(match *self {
            Linalg::Cholesky => vec![cholesky::<S, T>(a)],
            Linalg::Lu => lu::<S, T>(a),
            Linalg::Qr { complete } => qr::<S, T>(a, complete),
            Linalg::Eigh => eigh(a),
            Linalg::Svd { full } => svd::<S, T>(a, full),
            Linalg::Solve => {
                let [p, l, u] = &lu::<S, T>(a)[..] else { unreachable!("three factors") };
                ensure_invertible(u)?;
                let mut x = p.transpose() * &matrices[1];
                substitute::<S, T>(l, true, &mut x);
                substitute::<S, T>(u, false, &mut x);
                vec![x]
            }
            Linalg::TriangularSolve { left_side, lower, transform } => {
                ensure_invertible(a)?;
                // X * A = B is A^T * X^T = B^T; a vector is its own transpose.
                let (size, right) = (a.nrows(), &matrices[1]);
                let vector = right.nrows() == size && right.ncols() == 1;
                let turned = !left_side && !vector;
                let transposed = (transform == Transform::Transpose) == left_side;
                let element = |row, column| match transform {
                    Transform::Conjugate => a[(row, column)].conjugate(),
                    _ => a[(row, column)],
                };
                let triangle: Mat<S> = Mat::from_fn(size, size, |row, column| {
                    if transposed { element(column, row) } else { element(row, column) }
                });
                let mut x = if turned { right.transpose().to_owned() } else { right.clone() };
                substitute::<S, T>(&triangle, lower != transposed, &mut x);
                vec![if turned { x.transpose().to_owned() } else { x }]
            }
        })
    }
}

/// Writes the results one after the other, of each the real parts before the imaginary ones.
fn write<S: Scalar, T: Float>(results: &[Mat<S>], row: &mut [T]) {
    let mut target = row.iter_mut();
    for result in results {
        for part in 0..S::PARTS {
            for at in 0..result.nrows() {
                for column in 0..result.ncols() {
                    let value = result[(at, column)].part(part);
                    if let Some(target) = target.next() {
                        *target = T::from_f64(value);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::matrix::is_finite;
    use super::*;
    use std::slice::from_ref;

    fn real(rows: usize, columns: usize) -> Mat<f64> {
        Mat::from_fn(rows, columns, |row, column| {
            2.0 * (1.3 * ((row + 1) * (column + 2)) as f64).sin()
        })
    }

    fn complex(rows: usize, columns: usize) -> Mat<Complex64> {
        let parts = (real(rows, columns), real(columns, rows));
        Mat::from_fn(rows, columns, |row, column| {
            Complex64::new(parts.0[(row, column)], 0.5 * parts.1[(column, row)])
        })
    }

    #[track_caller]
    fn close<S: Scalar>(expected: &Mat<S>, given: &Mat<S>) {
        assert_eq!(expected.shape(), given.shape());
        for column in 0..expected.ncols() {
            for row in 0..expected.nrows() {
                let (expected, given) = (expected[(row, column)], given[(row, column)]);
                let far = (expected - given).magnitude();
                assert!(far < 1e-11, "{expected:?} and {given:?} at {row}, {column}");
            }
        }
    }

    fn identity<S: Scalar>(size: usize) -> Mat<S> {
        Mat::identity(size, size)
    }

    fn diagonal<S: Scalar>(values: &Mat<S>, rows: usize, columns: usize) -> Mat<S> {
        Mat::from_fn(
            rows,
            columns,
            |row, column| {
                if row == column { values[(row, 0)] } else { S::zero() }
            },
        )
    }

    fn run<S: Scalar>(op: Linalg, matrices: &[Mat<S>]) -> Vec<Mat<S>> {
        op.compute::<S, f64>(matrices).unwrap()
    }

    fn checks_factors<S: Scalar>(make: impl Fn(usize, usize) -> Mat<S>) {
        for (rows, columns) in [(3, 3), (4, 4), (5, 3), (2, 4), (1, 1), (3, 1), (1, 3)] {
            let a = make(rows, columns);
            for complete in [false, true] {
                let [q, r] = &run(Linalg::Qr { complete }, from_ref(&a))[..] else { panic!() };
                close(&a, &(q * r));
                close(&identity(q.ncols()), &(q.adjoint() * q));
            }
            for full in [false, true] {
                let [u, s, v] = &run(Linalg::Svd { full }, from_ref(&a))[..] else { panic!() };
                close(&a, &(u * diagonal(s, u.ncols(), v.nrows()) * v));
                close(&identity(u.ncols()), &(u.adjoint() * u));
                close(&identity(v.nrows()), &(v * v.adjoint()));
                assert!((1..s.nrows()).all(|at| s[(at, 0)].part(0) <= s[(at - 1, 0)].part(0)));
            }
        }
        for size in [1, 2, 3, 4, SMALL + 1] {
            let a = make(size, size);
            let [p, l, u] = &run(Linalg::Lu, from_ref(&a))[..] else { panic!() };
            close(&a, &(p * l * u));
            let positive = &a * a.adjoint() + identity::<S>(size);
            let l = &run(Linalg::Cholesky, from_ref(&positive))[0];
            close(&positive, &(l * l.adjoint()));
            let hermitian = &a + a.adjoint();
            let [values, vectors] = &run(Linalg::Eigh, from_ref(&hermitian))[..] else { panic!() };
            close(&(&hermitian * vectors), &(vectors * diagonal(values, size, size)));
            close(&identity(size), &(vectors.adjoint() * vectors));
            let x = make(size, 2);
            let solved = &run(Linalg::Solve, &[a.clone(), x.clone()])[0];
            close(&x, &(&a * solved));
        }
    }

    #[test]
    fn factors_give_the_matrix_back() {
        checks_factors(real);
        checks_factors(complex);
    }

    #[test]
    fn triangles_are_solved_on_either_side() {
        let full = complex(3, 3);
        for lower in [true, false] {
            let a = Mat::from_fn(3, 3, |row, column| {
                if row == column || (row > column) == lower {
                    full[(row, column)]
                } else {
                    Complex64::ZERO
                }
            });
            for transform in [Transform::None, Transform::Transpose, Transform::Conjugate] {
                let used = match transform {
                    Transform::None => a.clone(),
                    Transform::Transpose => a.transpose().to_owned(),
                    Transform::Conjugate => a.conjugate().to_owned(),
                };
                // The triangle of a transposed matrix is that of the matrix given.
                let op = |left_side| Linalg::TriangularSolve { left_side, lower, transform };
                let (tall, wide) = (complex(3, 2), complex(2, 3));
                close(&tall, &run(op(true), &[a.clone(), &used * &tall])[0]);
                close(&wide, &run(op(false), &[a.clone(), &wide * &used])[0]);
            }
        }
    }

    #[test]
    fn a_singular_value_that_rounding_makes_is_zero() {
        // The third row is the sum of the others, up to the rounding of f32.
        let rows = [[0.1_f32, 0.7, 0.3], [0.9, 0.2, 0.4]];
        let a = Mat::from_fn(3, 3, |row, column| match row {
            2 => f64::from(rows[0][column] + rows[1][column]),
            _ => f64::from(rows[row][column]),
        });
        let op = Linalg::Svd { full: true };
        assert_eq!(op.compute::<f64, f32>(from_ref(&a)).unwrap()[1][(2, 0)], 0.0);
        assert!(op.compute::<f64, f64>(&[a]).unwrap()[1][(2, 0)] > 1e-10);
    }

    #[test]
    fn what_has_no_factor_is_nan_or_refused() {
        let indefinite = Mat::from_fn(2, 2, |row, column| if row == column { 1.0 } else { 2.0 });
        let l = &run(Linalg::Cholesky, &[indefinite])[0];
        assert!(l[(0, 0)].is_nan() && l[(1, 0)].is_nan() && l[(0, 1)] == 0.0);
        let semidefinite = Mat::from_fn(2, 2, |_, _| 4.0);
        let l = &run(Linalg::Cholesky, &[semidefinite])[0];
        close(&Mat::from_fn(2, 2, |_, column| if column == 0 { 2.0 } else { 0.0 }), l);
        let singular = Mat::from_fn(2, 2, |row, _| 1.0 + row as f64);
        for op in [
            Linalg::Solve,
            Linalg::TriangularSolve { left_side: true, lower: true, transform: Transform::None },
        ] {
            let mut singular = singular.clone();
            if op != Linalg::Solve {
                singular[(1, 1)] = 0.0;
            }
            let error = op.compute::<f64, f64>(&[singular, real(2, 1)]).unwrap_err();
            assert_eq!(error.given, "a singular matrix");
        }
        let hostile = Mat::from_fn(3, 3, |_, _| f64::NAN);
        for op in [Linalg::Eigh, Linalg::Svd { full: true }, Linalg::Lu, Linalg::Cholesky] {
            let results = run(op, from_ref(&hostile));
            assert!(results.iter().any(|result| !is_finite(result)));
        }
    }
}
