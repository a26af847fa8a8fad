//! Tensors made from nothing.

use crate::host::parallel;
use crate::op::{Operation, take};
use crate::{DType, Element, HostTensor, Result, Shape, Spec, ensure, shape, with_element};
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use std::fmt;

/// One value everywhere (`Nx.broadcast/2` of a number).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Constant {
    /// The value, converted as `Nx.as_type/2` does.
    pub value: Number,
    /// The size of every axis.
    pub shape: Shape,
}

/// A number of the caller, before it has a type: written as an integer or a float, as `infinity`,
/// `neg_infinity` or `nan`, or as a pair of such parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An integer that fits in 64 bits with its sign.
    Signed(i64),
    /// An integer that fits in 64 bits without one.
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
}

impl Number {
    /// The real and the imaginary part.
    pub(crate) fn parts(self) -> [Number; 2] {
        match self {
            Number::Complex(re, im) => [Number::Float(re), Number::Float(im)],
            real => [real, Number::Signed(0)],
        }
    }

    fn to_f64(self) -> f64 {
        self.element()
    }

    fn element<T: Element>(self) -> T {
        match self {
            Number::Signed(value) => T::from_i64(value),
            Number::Unsigned(value) => T::from_u64(value),
            Number::Float(value) | Number::Complex(value, _) => T::from_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct NumberVisitor;

        impl<'de> Visitor<'de> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, infinity, neg_infinity or nan, or a pair of them")
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut parts: A,
            ) -> std::result::Result<Number, A::Error> {
                let mut part = |at| {
                    let number: Option<Number> = parts.next_element()?;
                    number.map(Number::to_f64).ok_or_else(|| de::Error::invalid_length(at, &self))
                };
                Ok(Number::Complex(part(0)?, part(1)?))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> std::result::Result<Number, E> {
                Ok(Number::Signed(value))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> std::result::Result<Number, E> {
                Ok(Number::Unsigned(value))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> std::result::Result<Number, E> {
                Ok(Number::Float(value))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> std::result::Result<Number, E> {
                match value {
                    "infinity" => Ok(Number::Float(f64::INFINITY)),
                    "neg_infinity" => Ok(Number::Float(f64::NEG_INFINITY)),
                    "nan" => Ok(Number::Float(f64::NAN)),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

impl Operation for Constant {
    fn name(&self) -> &'static str {
        "constant"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [] = take(self.name(), operands)?;
        Ok(Spec::new(dtype, self.shape.clone()))
    }

    fn host(&self, _operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        Ok(with_element!(out.dtype, T => {
            HostTensor::from_vec(vec![self.value.element::<T>()], &[]).broadcast(&out.shape)
        }))
    }
}

/// The position of every element along an axis, or in row-major order (`Nx.iota/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Iota {
    /// The size of every axis.
    pub shape: Shape,
    /// The axis to count along; none counts all elements.
    pub axis: Option<usize>,
}

impl Operation for Iota {
    fn name(&self) -> &'static str {
        "iota"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [] = take(self.name(), operands)?;
        if let Some(axis) = self.axis {
            shape::check_axes(self.name(), &[axis], self.shape.len())?;
        }
        Ok(Spec::new(dtype, self.shape.clone()))
    }

    fn host(&self, _operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        Ok(with_element!(out.dtype, T => match self.axis {
            None => HostTensor::from_vec(count::<T>(out.size()), &out.shape),
            Some(axis) => {
                let mut aligned = vec![1; out.rank()];
                aligned[axis] = out.shape[axis];
                HostTensor::from_vec(count::<T>(out.shape[axis]), &aligned).broadcast(&out.shape)
            }
        }))
    }
}

#[inline(never)]
fn count<T: Element>(length: usize) -> Vec<T> {
    let mut output = vec![T::ZERO; length];
    parallel::for_each_part(&mut output, 1, 1, |start, part| {
        for (at, element) in (start as u64..).zip(part) {
            *element = T::from_u64(at);
        }
    });
    output
}

/// Matrices of ones on the diagonal and zeros elsewhere (`Nx.eye/2`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Eye {
    /// The size of every axis; the last two are the matrices'.
    pub shape: Shape,
}

impl Operation for Eye {
    fn name(&self) -> &'static str {
        "eye"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [] = take(self.name(), operands)?;
        ensure!(
            self.shape.len() >= 2,
            self.name(),
            format!("shape {}", shape::show(&self.shape)),
            "at least two axes"
        );
        Ok(Spec::new(dtype, self.shape.clone()))
    }

    fn host(&self, _operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let matrix = &out.shape[out.rank() - 2..];
        Ok(with_element!(out.dtype, T => {
            let mut elements = vec![T::ZERO; matrix[0] * matrix[1]];
            let diagonal = matrix[0].min(matrix[1]);
            elements.iter_mut().step_by(matrix[1] + 1).take(diagonal).for_each(|it| *it = T::ONE);
            HostTensor::from_vec(elements, matrix).broadcast(&out.shape)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::host;

    #[test]
    fn counts_along_an_axis_or_all() {
        let iota = |axis| {
            let tensor = host(Iota { shape: vec![2, 3], axis }, &[], DType::U8);
            tensor.elements::<u8>().into_owned()
        };
        assert_eq!(iota(None), [0, 1, 2, 3, 4, 5]);
        assert_eq!(iota(Some(0)), [0, 0, 0, 1, 1, 1]);
        assert_eq!(iota(Some(1)), [0, 1, 2, 0, 1, 2]);
        let wrapped = host(Iota { shape: vec![258], axis: Some(0) }, &[], DType::U8);
        assert_eq!(wrapped.elements::<u8>()[255..], [255, 0, 1]);
        assert!(Iota { shape: vec![2], axis: Some(1) }.infer(&[], DType::U8).is_err());
        let vast = crate::Op::from(Iota { shape: vec![usize::MAX], axis: None });
        assert!(vast.infer(&[], DType::F32).is_err());
    }

    #[test]
    fn sets_the_diagonal() {
        let wide = host(Eye { shape: vec![2, 3] }, &[], DType::F32);
        assert_eq!(wide.elements::<f32>().as_ref(), [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        let tall = host(Eye { shape: vec![2, 3, 1] }, &[], DType::S64);
        assert_eq!(tall.elements::<i64>().as_ref(), [1, 0, 0, 1, 0, 0]);
        assert!(Eye { shape: vec![3] }.infer(&[], DType::F32).is_err());
    }

    #[test]
    fn keeps_every_bit_of_a_number() {
        let constant = |value, dtype| host(Constant { value, shape: vec![2] }, &[], dtype);
        let large = constant(Number::Unsigned(u64::MAX), DType::U64);
        assert_eq!(large.elements::<u64>().as_ref(), [u64::MAX; 2]);
        let odd = constant(Number::Signed((1 << 53) + 1), DType::S64);
        assert_eq!(odd.elements::<i64>().as_ref(), [(1 << 53) + 1; 2]);
        assert!(
            constant(Number::Float(f64::NAN), DType::F16).cast(DType::F64).elements::<f64>()[0]
                .is_nan()
        );
    }
}
