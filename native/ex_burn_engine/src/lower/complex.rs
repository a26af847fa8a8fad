//! Complex numbers: every operation in terms of operations on the real and the imaginary part.

use super::narrow::moved;
use super::{Builder, Lowered};
use crate::kernels::{
    Binary, Choose, Complex, Concatenate, Convert, Cumulative, Number, Pad, Part, Reduce,
    ReduceKind, Reducer, Reshape, Reverse, Slice, Transpose, Unary, Window,
};
use crate::{DType, Error, Op, Operation, Result, Shape, Spec};

/// The values of the real and the imaginary part.
type Pair = [usize; 2];

/// Refuses operations that complex numbers don't have.
pub(super) fn check(op: &Op, operands: &[Spec], dtype: DType) -> Result<()> {
    let known = match op {
        Op::Unary(Unary::Negate | Unary::IsNan | Unary::IsInfinity) => true,
        Op::Unary(_) => Complex::named(op.name()).is_some(),
        Op::Binary(
            Binary::Add
            | Binary::Subtract
            | Binary::Equal
            | Binary::NotEqual
            | Binary::LogicalAnd
            | Binary::LogicalOr
            | Binary::LogicalXor,
        ) => true,
        Op::Binary(_) => Complex::named(op.name()).is_some(),
        Op::Convert(Convert::AsType) | Op::Part(_) | Op::Fourier(_) => true,
        Op::Constant(_) | Op::Iota(_) | Op::Eye(_) | Op::Dot(_) | Op::Conv(_) => true,
        Op::Reduce(reduce) => !matches!(reduce.kind, ReduceKind::ReduceMax | ReduceKind::ReduceMin),
        Op::Window(Window { kind, .. }) | Op::Cumulative(Cumulative { kind, .. }) => {
            matches!(kind, Reducer::Sum | Reducer::Product)
        }
        Op::Indexed(_) => true,
        op => moved(op, operands.len()).is_some(),
    };
    let is_index = |(operand, moved): (&Spec, bool)| !moved && operand.dtype.is_complex();
    let indices = match op {
        Op::Indexed(_) => Some(vec![true, false, true]),
        Op::Choose(_) => None,
        op => moved(op, operands.len()),
    };
    let complex_index = indices.is_some_and(|moved| operands.iter().zip(moved).any(is_index));
    if known && !complex_index {
        return Ok(());
    }
    let given = operands.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
    Err(Error::new(op.name(), format!("{given} to {dtype}"), "no complex numbers"))
}

/// Adds an operation with complex numbers, and returns the parts of its result.
pub(super) fn apply(
    builder: &mut Builder,
    op: &Op,
    operands: &[Lowered],
    out: &Spec,
) -> Result<Vec<usize>> {
    // A complex predicate says nothing of the type of what it chooses.
    if let (Op::Choose(Choose::Select), [test, chosen @ ..]) = (op, operands)
        && test.is_complex()
    {
        let spec = Spec::new(DType::U8, test.spec.shape.clone());
        let test = Lowered { spec, parts: vec![builder.truth(test)?] };
        let operands = [&[test], chosen].concat();
        return Ok(super::apply(builder, op, &operands, out.dtype)?.parts);
    }
    // The type of the parts that are computed.
    let dtype = match (out.dtype.is_complex(), operands.iter().find(|o| o.is_complex())) {
        (false, Some(operand)) => operand.spec.dtype.computed(),
        _ => out.dtype.computed(),
    };
    if let Some(moved) = moved(op, operands.len()) {
        return each_part(builder, op, operands, &moved, dtype);
    }
    let zero = Number::Signed(0);
    let pair = match op {
        Op::Convert(_) | Op::Part(Part::Real) => {
            let [re, im] = builder.pair(&operands[0], dtype)?;
            if !out.dtype.is_complex() {
                return builder.real(re, out.dtype, op);
            }
            [re, im]
        }
        Op::Part(Part::Imag) => {
            let [_, im] = builder.pair(&operands[0], dtype)?;
            return builder.real(im, out.dtype, op);
        }
        Op::Part(Part::Conjugate) => {
            let [re, im] = builder.pair(&operands[0], dtype)?;
            [re, builder.apply(Unary::Negate, &[im], dtype)?]
        }
        Op::Constant(constant) => {
            let [re, im] = constant.value.parts();
            [builder.constant(re, &out.shape, dtype)?, builder.constant(im, &out.shape, dtype)?]
        }
        Op::Iota(_) | Op::Eye(_) => {
            let re = builder.apply(op.clone(), &[], dtype)?;
            [re, builder.constant(zero, &out.shape, dtype)?]
        }
        Op::Unary(Unary::Negate) => {
            let [re, im] = builder.pair(&operands[0], dtype)?;
            [builder.apply(op.clone(), &[re], dtype)?, builder.apply(op.clone(), &[im], dtype)?]
        }
        Op::Unary(Unary::IsNan | Unary::IsInfinity) => {
            let parts = builder.pair(&operands[0], dtype)?;
            let [re, im] = parts.map(|part| builder.apply(op.clone(), &[part], DType::U8));
            return Ok(vec![builder.apply(Binary::LogicalOr, &[re?, im?], DType::U8)?]);
        }
        Op::Unary(_) => {
            let [re, im] = builder.pair(&operands[0], dtype)?;
            let [re, im] = builder.function(op, &[re, im], dtype)?;
            if !out.dtype.is_complex() {
                return builder.real(re, out.dtype, op);
            }
            [re, im]
        }
        Op::Binary(binary) => match binary {
            Binary::LogicalAnd | Binary::LogicalOr | Binary::LogicalXor => {
                let left = builder.truth(&operands[0])?;
                let right = builder.truth(&operands[1])?;
                return Ok(vec![builder.apply(op.clone(), &[left, right], DType::U8)?]);
            }
            Binary::Equal | Binary::NotEqual => {
                // The wider of the two types, so that both are compared exactly.
                let dtype = DType::F64;
                let (left, right) =
                    (builder.pair(&operands[0], dtype)?, builder.pair(&operands[1], dtype)?);
                let re = builder.apply(op.clone(), &[left[0], right[0]], DType::U8)?;
                let im = builder.apply(op.clone(), &[left[1], right[1]], DType::U8)?;
                let both = match binary {
                    Binary::Equal => Binary::LogicalAnd,
                    _ => Binary::LogicalOr,
                };
                return Ok(vec![builder.apply(both, &[re, im], DType::U8)?]);
            }
            _ => {
                let left = builder.pair(&operands[0], dtype)?;
                let right = builder.pair(&operands[1], dtype)?;
                match binary {
                    Binary::Add | Binary::Subtract => [
                        builder.apply(op.clone(), &[left[0], right[0]], dtype)?,
                        builder.apply(op.clone(), &[left[1], right[1]], dtype)?,
                    ],
                    _ => builder.function(op, &[left, right].concat(), dtype)?,
                }
            }
        },
        Op::Reduce(Reduce { kind: ReduceKind::All | ReduceKind::Any, .. }) => {
            let truth = builder.truth(&operands[0])?;
            return Ok(vec![builder.apply(op.clone(), &[truth], DType::U8)?]);
        }
        Op::Reduce(Reduce { kind: ReduceKind::Product, axes, .. }) => {
            let pair = builder.pair(&operands[0], dtype)?;
            let product = builder.product(pair, &operands[0].spec.shape, axes, dtype)?;
            builder.both(Reshape { shape: out.shape.clone() }, product, dtype)?
        }
        Op::Window(window) if window.kind == Reducer::Product => {
            let pair = builder.pair(&operands[0], dtype)?;
            builder.window_product(pair, window, &operands[0].spec.shape, &out.shape, dtype)?
        }
        Op::Cumulative(cumulative) if cumulative.kind == Reducer::Product => {
            let pair = builder.pair(&operands[0], dtype)?;
            builder.cumulative_product(pair, cumulative, &out.shape, dtype)?
        }
        Op::Reduce(_) | Op::Window(_) | Op::Cumulative(_) => {
            let pair = builder.pair(&operands[0], dtype)?;
            builder.both(op.clone(), pair, dtype)?
        }
        Op::Indexed(_) => {
            return each_part(builder, op, operands, &[true, false, true], dtype);
        }
        Op::Dot(_) | Op::Conv(_) => builder.bilinear(op, &operands[0], &operands[1], dtype)?,
        Op::Fourier(_) => {
            let values = match operands[0].is_complex() {
                true => builder.pair(&operands[0], dtype)?.to_vec(),
                false => {
                    let value = builder.decode(&operands[0])?;
                    vec![builder.cast(value, dtype)?]
                }
            };
            let both = builder.apply(op.clone(), &values, dtype)?;
            builder.split(both, dtype)?
        }
        op => return Err(Error::new(op.name(), out, "no complex numbers")),
    };
    Ok(pair.to_vec())
}

/// An operation that treats both parts alike; what is not `moved` are indices or a predicate.
fn each_part(
    builder: &mut Builder,
    op: &Op,
    operands: &[Lowered],
    moved: &[bool],
    dtype: DType,
) -> Result<Vec<usize>> {
    let mut parts = [vec![], vec![]];
    for (operand, &moved) in operands.iter().zip(moved) {
        let [re, im] = if moved {
            builder.pair(operand, dtype)?
        } else {
            let shared = builder.truth(operand)?;
            [shared, shared]
        };
        parts[0].push(re);
        parts[1].push(im);
    }
    parts.iter().map(|operands| builder.apply(op.clone(), operands, dtype)).collect()
}

impl Builder {
    /// The parts as the float type `dtype`; those of a real value are itself and zeros.
    pub(super) fn pair(&mut self, value: &Lowered, dtype: DType) -> Result<Pair> {
        if let [re, im] = value.parts[..] {
            return Ok([self.cast(re, dtype)?, self.cast(im, dtype)?]);
        }
        let real = self.decode(value)?;
        let real = self.cast(real, dtype)?;
        let zeros = self.constant(Number::Signed(0), &value.spec.shape, dtype)?;
        Ok([real, zeros])
    }

    /// A real result of another type than it was computed in.
    fn real(&mut self, value: usize, dtype: DType, op: &Op) -> Result<Vec<usize>> {
        let saturate = matches!(op, Op::Convert(_));
        let value = match dtype.float8() {
            // Stored from any type, and rounded once.
            Some(_) => value,
            None => self.cast(value, dtype.computed())?,
        };
        Ok(vec![self.encode(value, dtype, saturate)?])
    }

    fn both(&mut self, op: impl Into<Op>, [re, im]: Pair, dtype: DType) -> Result<Pair> {
        let op = op.into();
        Ok([self.apply(op.clone(), &[re], dtype)?, self.apply(op, &[im], dtype)?])
    }

    /// A function that mixes the parts.
    fn function(&mut self, op: &Op, parts: &[usize], dtype: DType) -> Result<Pair> {
        let function = Complex::named(op.name())
            .ok_or_else(|| Error::new(op.name(), "complex numbers", "real numbers"))?;
        let both = self.apply(function, parts, dtype)?;
        self.split(both, dtype)
    }

    fn multiply(&mut self, left: Pair, right: Pair, dtype: DType) -> Result<Pair> {
        self.function(&Op::Binary(Binary::Multiply), &[left, right].concat(), dtype)
    }

    /// The parts along the last axis of a value.
    fn split(&mut self, both: usize, dtype: DType) -> Result<Pair> {
        let shape = self.specs[both].shape.clone();
        let (axis, kept) = (shape.len() - 1, shape[..shape.len() - 1].to_vec());
        let mut part = |number: usize| {
            let value = self.slice(both, axis, [number, number + 1, 1], dtype)?;
            self.apply(Reshape { shape: kept.clone() }, &[value], dtype)
        };
        Ok([part(0)?, part(1)?])
    }

    /// Every `step`-th position of `axis` from `start` to before `end`.
    fn slice(
        &mut self,
        value: usize,
        axis: usize,
        [start, end, step]: [usize; 3],
        dtype: DType,
    ) -> Result<usize> {
        let mut lengths = self.specs[value].shape.clone();
        let (mut starts, mut strides) = (vec![0; lengths.len()], vec![1; lengths.len()]);
        (starts[axis], lengths[axis], strides[axis]) = (start, end - start, step);
        self.apply(Slice { starts, lengths, strides }, &[value], dtype)
    }

    fn slices(
        &mut self,
        [re, im]: Pair,
        axis: usize,
        range: [usize; 3],
        dtype: DType,
    ) -> Result<Pair> {
        Ok([self.slice(re, axis, range, dtype)?, self.slice(im, axis, range, dtype)?])
    }

    /// A product of matrices or the like: four of them, or two with a real operand.
    fn bilinear(&mut self, op: &Op, left: &Lowered, right: &Lowered, dtype: DType) -> Result<Pair> {
        let (a, b) = (self.pair(left, dtype)?, self.pair(right, dtype)?);
        let mut product = |x: usize, y: usize| self.apply(op.clone(), &[x, y], dtype);
        if !right.is_complex() {
            return Ok([product(a[0], b[0])?, product(a[1], b[0])?]);
        }
        if !left.is_complex() {
            return Ok([product(a[0], b[0])?, product(a[0], b[1])?]);
        }
        let (rr, ii) = (product(a[0], b[0])?, product(a[1], b[1])?);
        let (ri, ir) = (product(a[0], b[1])?, product(a[1], b[0])?);
        Ok([
            self.apply(Binary::Subtract, &[rr, ii], dtype)?,
            self.apply(Binary::Add, &[ri, ir], dtype)?,
        ])
    }

    /// The product over `axes`, along a last axis of size 1: halves are multiplied with each other.
    fn product(
        &mut self,
        pair: Pair,
        shape: &[usize],
        axes: &[usize],
        dtype: DType,
    ) -> Result<Pair> {
        let kept: Shape = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let order = [&kept[..], axes].concat();
        let mut pair = self.both(Transpose { axes: order }, pair, dtype)?;
        let mut length = axes.iter().map(|&axis| shape[axis]).product();
        let mut flat: Shape = kept.iter().map(|&axis| shape[axis]).collect();
        flat.push(length);
        pair = self.both(Reshape { shape: flat }, pair, dtype)?;
        let axis = kept.len();
        while length > 1 {
            let half = length / 2;
            let first = self.slices(pair, axis, [0, half, 1], dtype)?;
            let second = self.slices(pair, axis, [half, 2 * half, 1], dtype)?;
            let product = self.multiply(first, second, dtype)?;
            pair = match length % 2 {
                0 => product,
                _ => {
                    let last = self.slices(pair, axis, [length - 1, length, 1], dtype)?;
                    self.join(product, last, axis, dtype)?
                }
            };
            length = length.div_ceil(2);
        }
        Ok(pair)
    }

    fn join(&mut self, left: Pair, right: Pair, axis: usize, dtype: DType) -> Result<Pair> {
        Ok([
            self.apply(Concatenate { axis }, &[left[0], right[0]], dtype)?,
            self.apply(Concatenate { axis }, &[left[1], right[1]], dtype)?,
        ])
    }

    /// One axis after the other, the elements at every place of the window multiplied.
    fn window_product(
        &mut self,
        mut pair: Pair,
        window: &Window,
        shape: &[usize],
        out: &[usize],
        dtype: DType,
    ) -> Result<Pair> {
        for axis in 0..shape.len() {
            let mut padding = vec![(0, 0, 0); shape.len()];
            (padding[axis].0, padding[axis].1) = window.padding[axis];
            let fill = [
                self.constant(Number::Signed(1), &[], dtype)?,
                self.constant(Number::Signed(0), &[], dtype)?,
            ];
            let pad = Pad { padding };
            pair = [
                self.apply(pad.clone(), &[pair[0], fill[0]], dtype)?,
                self.apply(pad, &[pair[1], fill[1]], dtype)?,
            ];
            let (stride, dilation) = (window.strides[axis], window.dilations[axis]);
            let mut result = None;
            for tap in 0..window.dimensions[axis] {
                let start = tap * dilation;
                let end = start + (out[axis] - 1) * stride + 1;
                let taken = self.slices(pair, axis, [start, end, stride], dtype)?;
                result = Some(match result {
                    None => taken,
                    Some(product) => self.multiply(product, taken, dtype)?,
                });
            }
            pair = result.unwrap_or(pair);
        }
        Ok(pair)
    }

    /// Combines every element with those before it, at distances that double.
    fn cumulative_product(
        &mut self,
        mut pair: Pair,
        cumulative: &Cumulative,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Pair> {
        let (axis, length) = (cumulative.axis, shape[cumulative.axis]);
        let reverse = Reverse { axes: vec![axis] };
        if cumulative.reverse {
            pair = self.both(reverse.clone(), pair, dtype)?;
        }
        let mut distance = 1;
        while distance < length {
            let head = self.slices(pair, axis, [0, distance, 1], dtype)?;
            let before = self.slices(pair, axis, [0, length - distance, 1], dtype)?;
            let after = self.slices(pair, axis, [distance, length, 1], dtype)?;
            let product = self.multiply(before, after, dtype)?;
            pair = self.join(head, product, axis, dtype)?;
            distance *= 2;
        }
        if cumulative.reverse {
            pair = self.both(reverse, pair, dtype)?;
        }
        Ok(pair)
    }
}
