//! Values of narrow types to and from the native types that store and compute them.

use crate::element::f32_to_odd;
use crate::host::elementwise::map;
use crate::op::{Operation, take};
use crate::{DType, HostTensor, Result, Spec, ensure, with_element, with_integer};
use serde::Deserialize;

/// A conversion between a narrow type's values and what stores or computes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Narrow {
    /// Integers wrapped into so many bits.
    Wrap(u32),
    /// Integers clamped into so many bits.
    Saturate(u32),
    /// Floats to the bits of an 8-bit float: the nearest, ties to even.
    Encode(Float8),
    /// The floats that such bits stand for.
    Decode(Float8),
}

/// A format of 8-bit floats.
///
/// Source: *OCP 8-bit Floating Point Specification*, 2023. What overflows the format without
/// infinities saturates, as in Nx.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Float8 {
    /// 5 bits of exponent, 2 of mantissa.
    E5M2,
    /// 4 bits of exponent, 3 of mantissa, no infinities.
    E4M3Fn,
}

impl Float8 {
    const fn mantissa(self) -> u32 {
        match self {
            Float8::E5M2 => 2,
            Float8::E4M3Fn => 3,
        }
    }

    /// The exponent of the least normal number.
    const fn least_exponent(self) -> i32 {
        match self {
            Float8::E5M2 => -14,
            Float8::E4M3Fn => -6,
        }
    }

    /// The value of `bits`.
    pub fn decode(self, bits: u8) -> f32 {
        let magnitude = u32::from(bits & 0x7F);
        let (field, fraction) =
            (magnitude >> self.mantissa(), magnitude & ((1 << self.mantissa()) - 1));
        let value = match (self, magnitude) {
            (Float8::E5M2, 0x7C) => f32::INFINITY,
            (Float8::E5M2, 0x7D..) | (Float8::E4M3Fn, 0x7F) => f32::NAN,
            _ => {
                // Below the least normal number, there is no implicit one.
                let whole = if field == 0 { fraction } else { fraction | 1 << self.mantissa() };
                let exponent = self.least_exponent() + (field.max(1) as i32 - 1);
                whole as f32 * 2_f32.powi(exponent - self.mantissa() as i32)
            }
        };
        if bits & 0x80 == 0 { value } else { -value }
    }

    /// The bits of the value nearest to `value`.
    pub fn encode(self, value: f32) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        if value.is_nan() {
            return 0x7F;
        }
        let magnitude = value.abs();
        // In `f32`s, a unit in the last place is exact, and so is the quotient by it.
        let exponent = (magnitude.to_bits() >> 23) as i32 - 127;
        let exponent = exponent.max(self.least_exponent());
        let unit = 2_f32.powi(exponent - self.mantissa() as i32);
        let largest: u8 = match self {
            Float8::E5M2 => 0x7C,
            Float8::E4M3Fn => 0x7E,
        };
        let overflow = match self {
            Float8::E5M2 => 61440.0,
            Float8::E4M3Fn => 448.0,
        };
        if magnitude >= overflow {
            return sign | largest;
        }
        // The field of the exponent and the mantissa count on from each other.
        let units = (magnitude / unit).round_ties_even() as i32;
        let field = exponent - self.least_exponent();
        sign | (units + (field << self.mantissa())) as u8
    }
}

fn clamp(dtype: DType, bits: u32) -> (i64, i64) {
    if dtype == DType::U8 {
        (0, (1 << bits) - 1)
    } else {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    }
}

impl Operation for Narrow {
    fn name(&self) -> &'static str {
        match self {
            Narrow::Wrap(_) => "wrap",
            Narrow::Saturate(_) => "saturate",
            Narrow::Encode(_) => "encode",
            Narrow::Decode(_) => "decode",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        let fits = match self {
            Narrow::Wrap(bits) | Narrow::Saturate(bits) => {
                (1..8).contains(bits)
                    && operand.dtype == dtype
                    && matches!(dtype, DType::S8 | DType::U8)
            }
            Narrow::Encode(_) => operand.dtype.is_native() && dtype == DType::U8,
            Narrow::Decode(_) => operand.dtype == DType::U8 && dtype == DType::F32,
        };
        ensure!(
            fits,
            self.name(),
            format!("{operand} to {dtype}"),
            "a type that stores the values"
        );
        Ok(Spec::new(dtype, operand.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        Ok(match *self {
            Narrow::Wrap(bits) => {
                let unused = 8 - bits;
                if out.dtype == DType::U8 {
                    let wrap = |x: u8| x << unused >> unused;
                    HostTensor::from_vec(map(operand, wrap), &out.shape)
                } else {
                    let wrap = |x: i8| x << unused >> unused;
                    HostTensor::from_vec(map(operand, wrap), &out.shape)
                }
            }
            Narrow::Saturate(bits) => {
                let (low, high) = clamp(out.dtype, bits);
                with_integer!(out.dtype, T => {
                    let saturate = |x: T| Ord::clamp(x, low as T, high as T);
                    HostTensor::from_vec(map(operand, saturate), &out.shape)
                }, else operand.clone())
            }
            Narrow::Encode(format) => with_element!(operand.dtype(), T => {
                let encode = |x: T| format.encode(f32_to_odd(crate::Element::to_f64(x)));
                HostTensor::from_vec(map(operand, encode), &out.shape)
            }),
            Narrow::Decode(format) => {
                let table: [f32; 256] = std::array::from_fn(|bits| format.decode(bits as u8));
                let decode = |bits: u8| table[usize::from(bits)];
                HostTensor::from_vec(map(operand, decode), &out.shape)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The values are those of the specification's tables.
    #[test]
    fn decodes_as_specified() {
        for (format, bits, value) in [
            (Float8::E5M2, 0x3C, 1.0),
            (Float8::E5M2, 0x7B, 57344.0),
            (Float8::E5M2, 0x04, 2_f32.powi(-14)),
            (Float8::E5M2, 0x01, 2_f32.powi(-16)),
            (Float8::E5M2, 0xFC, f32::NEG_INFINITY),
            (Float8::E4M3Fn, 0x38, 1.0),
            (Float8::E4M3Fn, 0x7E, 448.0),
            (Float8::E4M3Fn, 0x08, 2_f32.powi(-6)),
            (Float8::E4M3Fn, 0x01, 2_f32.powi(-9)),
            (Float8::E4M3Fn, 0xC0, -2.0),
        ] {
            assert_eq!(format.decode(bits), value, "{format:?} {bits:#x}");
        }
        assert!(Float8::E5M2.decode(0x7D).is_nan() && Float8::E4M3Fn.decode(0xFF).is_nan());
    }

    #[test]
    fn encodes_what_it_decodes() {
        for format in [Float8::E5M2, Float8::E4M3Fn] {
            for bits in 0..=u8::MAX {
                let value = format.decode(bits);
                if value.is_nan() {
                    assert!(format.decode(format.encode(value)).is_nan());
                } else {
                    assert_eq!(format.encode(value), bits, "{format:?} {bits:#x}");
                }
            }
        }
    }

    #[test]
    fn rounds_to_the_nearest_and_ties_to_even() {
        let round = |format: Float8, value| format.decode(format.encode(value));
        for (value, rounded) in [(1.125, 1.0), (1.375, 1.5), (1.9, 2.0), (61439.0, 57344.0)] {
            assert_eq!(round(Float8::E5M2, value), rounded);
        }
        for (value, rounded) in [(1.0625, 1.0), (1.1875, 1.25), (1.97, 2.0), (460.0, 448.0)] {
            assert_eq!(round(Float8::E4M3Fn, value), rounded);
        }
        assert_eq!(round(Float8::E5M2, 61440.0), f32::INFINITY);
        assert_eq!(round(Float8::E4M3Fn, f32::NEG_INFINITY), -448.0);
        assert_eq!(round(Float8::E5M2, 2_f32.powi(-18)), 0.0);
        assert_eq!(round(Float8::E4M3Fn, 1.5 * 2_f32.powi(-9)), 2_f32.powi(-8));
    }

    #[test]
    fn integers_wrap_or_saturate() {
        let run = |op: Narrow, tensor: HostTensor| {
            let out = op.infer(&[tensor.spec()], tensor.dtype()).unwrap();
            op.host(&[tensor], &out).unwrap()
        };
        let signed = HostTensor::from_vec(vec![7_i8, 8, -8, -9, 100], &[5]);
        let wrapped = run(Narrow::Wrap(4), signed.clone());
        assert_eq!(wrapped.elements::<i8>().as_ref(), [7, -8, -8, 7, 4]);
        let clamped = run(Narrow::Saturate(4), signed);
        assert_eq!(clamped.elements::<i8>().as_ref(), [7, 7, -8, -8, 7]);
        let unsigned = HostTensor::from_vec(vec![3_u8, 4, 255], &[3]);
        assert_eq!(run(Narrow::Wrap(2), unsigned).elements::<u8>().as_ref(), [3, 0, 3]);
    }
}
