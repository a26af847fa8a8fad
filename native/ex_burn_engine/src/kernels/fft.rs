//! Discrete Fourier transforms along an axis.

use super::axis;
use crate::host::parallel;
use crate::op::{Operation, unsupported};
use crate::{DType, Float, HostTensor, Result, Spec, ensure, shape, with_float};
use num_complex::Complex64;
use rustfft::{FftDirection, FftPlanner};
use serde::Deserialize;

/// Which transform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FourierKind {
    /// From positions to frequencies.
    Fft,
    /// From frequencies to positions, scaled so that it undoes the other.
    Ifft,
}

/// A discrete Fourier transform along an axis, as `Nx.fft/2` and `Nx.ifft/2`.
///
/// Complex tensors are lowered to the pair of their parts: the operands are the real part and, but
/// for real tensors, the imaginary one. The last axis of the lowered result holds both parts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Fourier {
    /// Which transform.
    pub kind: FourierKind,
    /// The axis.
    pub axis: usize,
    /// The length of the transform: the axis is cut or padded with zeros to it.
    pub length: usize,
    /// Parts of the result up to this magnitude are zero.
    pub eps: f64,
}

impl Operation for Fourier {
    fn name(&self) -> &'static str {
        match self.kind {
            FourierKind::Fft => "fft",
            FourierKind::Ifft => "ifft",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let name = self.name();
        let given = operands.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
        let [first, rest @ ..] = operands else {
            return Err(crate::Error::new(name, "no operand", "a tensor"));
        };
        let fits = rest.len() < 2
            && rest.iter().all(|spec| spec == first)
            && matches!(dtype, DType::F32 | DType::F64);
        ensure!(fits, name, format!("{given} to {dtype}"), "a tensor and a complex result");
        shape::check_axes(name, &[self.axis], first.rank())?;
        ensure!(self.length > 0, name, "a length of 0", "at least 1");
        let mut shape = first.shape.clone();
        shape[self.axis] = self.length;
        shape.push(2);
        Ok(Spec::new(dtype, shape))
    }

    fn work(&self, _operands: &[Spec], out: &Spec) -> usize {
        out.size().saturating_mul(self.length.ilog2() as usize + 8)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        with_float!(out.dtype, T => Ok(self.transform::<T>(operands, out)),
            else Err(unsupported(self.name())))
    }
}

impl Fourier {
    fn transform<T: Float>(&self, operands: &[HostTensor], out: &Spec) -> HostTensor {
        let direction = match self.kind {
            FourierKind::Fft => FftDirection::Forward,
            FourierKind::Ifft => FftDirection::Inverse,
        };
        let plan = FftPlanner::<f64>::new().plan_fft(self.length, direction);
        let scale = match self.kind {
            FourierKind::Fft => 1.0,
            FourierKind::Ifft => 1.0 / self.length as f64,
        };
        let moved: Vec<_> = operands
            .iter()
            .map(|operand| axis::last(&operand.cast(DType::F64), self.axis).0)
            .collect();
        let parts: Vec<_> = moved.iter().map(|part| part.elements::<f64>()).collect();
        let given = operands[0].shape()[self.axis];
        let used = given.min(self.length);
        let clean = |value: f64| if value.abs() <= self.eps { 0.0 } else { value };

        let mut elements = vec![T::ZERO; out.size()];
        parallel::for_each_part(&mut elements, 2 * self.length, 16, |start, part| {
            let mut line = vec![Complex64::default(); self.length];
            let mut scratch = vec![Complex64::default(); plan.get_inplace_scratch_len()];
            let first = start / (2 * self.length);
            for (row, target) in (first..).zip(part.chunks_exact_mut(2 * self.length)) {
                line.fill(Complex64::default());
                for (at, value) in line[..used].iter_mut().enumerate() {
                    value.re = parts[0][row * given + at];
                    value.im = parts.get(1).map_or(0.0, |part| part[row * given + at]);
                }
                plan.process_with_scratch(&mut line, &mut scratch);
                for (pair, value) in target.chunks_exact_mut(2).zip(&line) {
                    pair[0] = T::from_f64(clean(value.re * scale));
                    pair[1] = T::from_f64(clean(value.im * scale));
                }
            }
        });

        // The transformed axis was moved to the end of the tensor's own, before the parts.
        let rank = out.rank() - 1;
        let mut shape = out.shape.clone();
        let length = shape.remove(self.axis);
        shape.insert(rank - 1, length);
        let mut order: Vec<usize> = (0..rank - 1).collect();
        order.insert(self.axis, rank - 1);
        order.push(rank);
        HostTensor::from_vec(elements, &shape).transpose(&order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{close, host};
    use std::slice::from_ref;

    fn op(kind: FourierKind, axis: usize, length: usize) -> Fourier {
        Fourier { kind, axis, length, eps: 0.0 }
    }

    /// The definition, element by element.
    fn naive(values: &[f64], length: usize) -> Vec<f64> {
        (0..length)
            .flat_map(|frequency| {
                let sum = values.iter().take(length).enumerate().map(|(at, &value)| {
                    let turn = -std::f64::consts::TAU * (frequency * at) as f64 / length as f64;
                    Complex64::from_polar(value, turn)
                });
                let sum: Complex64 = sum.sum();
                [sum.re, sum.im]
            })
            .collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        let values: Vec<f64> = (0..12).map(|at| (at as f64 * 0.7).sin()).collect();
        let tensor = HostTensor::from_vec(values.clone(), &[12]);
        for length in [1, 5, 12, 16] {
            let result = host(op(FourierKind::Fft, 0, length), from_ref(&tensor), DType::F64);
            let expected = HostTensor::from_vec(naive(&values, length), &[length, 2]);
            close(&expected, &result, 1e-13, "fft");
        }
    }

    #[test]
    fn undoes_itself_along_any_axis() {
        let tensor = crate::testing::floats(&[3, 4, 5]);
        for axis in 0..3 {
            let length = tensor.shape()[axis];
            let image = host(op(FourierKind::Fft, axis, length), from_ref(&tensor), DType::F64);
            let part = |number: usize| {
                image.view(
                    tensor.shape().to_vec(),
                    image.strides()[..3].to_vec(),
                    image.offset() + number,
                )
            };
            let parts = [part(0), part(1)];
            let back = host(op(FourierKind::Ifft, axis, length), &parts, DType::F64);
            let real =
                back.view(tensor.shape().to_vec(), back.strides()[..3].to_vec(), back.offset());
            close(&tensor, &real, 1e-14, "ifft");
        }
    }
}
