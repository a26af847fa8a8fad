//! Factorisations of matrices and the systems they solve, in 64 bits through faer.

use crate::host::parallel;
use crate::op::{Operation, unsupported};
use crate::{DType, Error, Float, HostTensor, Result, Shape, Spec, ensure, shape, with_float};
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::traits::ComplexField;
use faer::{Mat, MatRef, Par, Side};
use num_complex::Complex64;
use num_traits::NumAssign;
use serde::Deserialize;
use std::cmp::Ordering;
use std::ops::Neg;
use std::sync::OnceLock;

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

/// A real or complex number.
trait Scalar: ComplexField<Real = f64> + NumAssign + Neg<Output = Self> + Copy + Send + Sync {
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
        let singular = || Error::new(self.name(), "a singular matrix", "an invertible one");
        let a = &matrices[0];
        Ok(match *self {
            Linalg::Cholesky => vec![cholesky::<S, T>(a)],
            Linalg::Lu => lu::<S, T>(a),
            Linalg::Qr { complete } => qr::<S, T>(a, complete),
            Linalg::Eigh => eigh(a),
            Linalg::Svd { full } => svd::<S, T>(a, full),
            Linalg::Solve => {
                let [p, l, u] = &lu::<S, T>(a)[..] else { unreachable!("three factors") };
                let zero = (0..a.nrows()).any(|at| u[(at, at)].is_zero());
                ensure_invertible(!zero, singular)?;
                let mut x = p.transpose() * &matrices[1];
                substitute::<S, T>(l, true, &mut x);
                substitute::<S, T>(u, false, &mut x);
                vec![x]
            }
            Linalg::TriangularSolve { left_side, lower, transform } => {
                let zero = (0..a.nrows()).any(|at| a[(at, at)].is_zero());
                ensure_invertible(!zero, singular)?;
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

fn ensure_invertible(invertible: bool, error: impl Fn() -> Error) -> Result<()> {
    if invertible { Ok(()) } else { Err(error()) }
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

fn is_finite<S: Scalar>(a: &Mat<S>) -> bool {
    (0..a.ncols()).all(|column| a.col(column).iter().all(|value| value.magnitude().is_finite()))
}

fn nan<S: Scalar>(rows: usize, columns: usize) -> Mat<S> {
    Mat::from_fn(rows, columns, |_, _| S::from_real(f64::NAN))
}

/// Solves in place, row by row.
fn substitute<S: Scalar, T: Float>(triangle: &Mat<S>, lower: bool, x: &mut Mat<S>) {
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

fn cholesky<S: Scalar, T: Float>(a: &Mat<S>) -> Mat<S> {
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

fn lu<S: Scalar, T: Float>(a: &Mat<S>) -> Vec<Mat<S>> {
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

/// By Householder reflections that make the diagonal of a real `R` positive. A column that is a
/// multiple of the unit vector already is left as it is.
fn qr<S: Scalar, T: Float>(a: &Mat<S>, complete: bool) -> Vec<Mat<S>> {
    let (rows, columns) = (a.nrows(), a.ncols());
    let short = rows.min(columns);
    let mut r = a.clone();
    let mut reflectors = Vec::with_capacity(short);
    for step in 0..short {
        let reflector = Reflector::new::<T>(&r.col_as_slice(step)[step..]);
        if let Some(reflector) = &reflector {
            for column in step..columns {
                reflector.reflect::<T>(&mut r.col_as_slice_mut(column)[step..]);
            }
            r.col_as_slice_mut(step)[step + 1..].fill(S::zero());
        }
        reflectors.push(reflector);
    }
    let width = if complete { rows } else { short };
    let reflect = |reflector: &Option<Reflector<S>>, q: &mut Mat<S>, step, column| {
        if let Some(reflector) = reflector {
            reflector.reflect::<T>(&mut q.col_as_slice_mut(column)[step..]);
        }
    };
    let q = if rows > SMALL {
        let mut q: Mat<S> = Mat::identity(rows, width);
        for (step, reflector) in reflectors.iter().enumerate().rev() {
            for column in step..width {
                reflect(reflector, &mut q, step, column);
            }
        }
        q
    } else {
        // First to last, as Nx: a reflection of the columns of `Q^H` is one of `Q` from the right.
        let mut adjoint: Mat<S> = Mat::identity(rows, rows);
        for (step, reflector) in reflectors.iter().enumerate() {
            for column in 0..rows {
                reflect(reflector, &mut adjoint, step, column);
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

/// What is left of a zero after that many roundings is zero.
fn without_noise<S: Scalar>(mut a: Mat<S>, size: usize) -> Mat<S> {
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

/// What turns a column so that its largest component is positive: of components that are nearly as
/// large, the first.
fn turn<S: Scalar>(columns: MatRef<'_, S>, column: usize) -> S {
    let column = columns.col(column);
    let largest = column.iter().fold(0.0_f64, |largest, value| largest.max(value.magnitude()));
    let mut large = column.iter().filter(|value| value.magnitude() >= largest * (1.0 - 1e-9));
    large.next().map_or(S::one(), |value| value.direction().conjugate())
}

fn eigh<S: Scalar>(a: &Mat<S>) -> Vec<Mat<S>> {
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

fn svd<S: Scalar, T: Float>(a: &Mat<S>, full: bool) -> Vec<Mat<S>> {
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

#[cfg(test)]
mod tests {
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
