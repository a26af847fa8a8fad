//! The Rust types behind the dtypes, with the arithmetic of Nx: integers wrap, floats are IEEE-754.

use crate::DType;
use bytemuck::Pod;
use half::{bf16, f16};

/// A value a tensor can hold.
pub trait Element: Pod + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// The element's type.
    const DTYPE: DType;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// The identity of a maximum: the least value.
    const LOWEST: Self;
    /// The identity of a minimum: the greatest value.
    const HIGHEST: Self;

    /// Sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// Difference; integers wrap.
    fn subtract(self, other: Self) -> Self;
    /// Product; integers wrap.
    fn multiply(self, other: Self) -> Self;
    /// Remainder with the sign of the dividend. An integer's remainder by zero is the dividend.
    fn remainder(self, other: Self) -> Self;
    /// Power; an integer wraps, and its negative exponents give what truncating the real power would.
    fn power(self, exponent: Self) -> Self;
    /// Greater of the two, 0.0 being above -0.0; NaN if either is (`maximum` of IEEE 754-2019).
    fn max(self, other: Self) -> Self;
    /// Lesser of the two, -0.0 being below 0.0; NaN if either is (`minimum` of IEEE 754-2019).
    fn min(self, other: Self) -> Self;
    /// Absolute value; the least signed integer is its own.
    fn abs(self) -> Self;
    /// Negation; integers wrap.
    fn negate(self) -> Self;
    /// -1, 0 or 1; a NaN and the zeros of floats stay as they are.
    fn sign(self) -> Self;
    /// Whether the value is NaN.
    fn is_nan(self) -> bool;
    /// Nearest value of this type. NaN becomes 0 in an integer, and what is out of its range saturates.
    fn from_f64(value: f64) -> Self;
    /// The value as an `f64`, rounded to nearest where 64-bit integers need it.
    fn to_f64(self) -> f64;
    /// The value cast to `T`: integers wrap, floats round to nearest even.
    fn cast<T: Element>(self) -> T;
    /// An integer wrapped into this type (for floats, the nearest value).
    fn from_i64(value: i64) -> Self;
    /// As [`Element::from_i64`], for the unsigned half of the 64-bit range.
    fn from_u64(value: u64) -> Self;
    /// The total order of Nx's sorts: NaN above everything, both zeros equal.
    fn order(&self, other: &Self) -> std::cmp::Ordering;
    /// Whether the value counts as true: everything but zero.
    fn truthy(self) -> bool {
        self != Self::ZERO
    }
}

/// An element that is an integer.
pub trait Integer: Element + Ord {
    /// The width in bits.
    const BITS: u32;
    /// Quotient truncated towards zero; by zero, all bits set. The least value by -1 wraps.
    fn quotient(self, other: Self) -> Self;
    /// Bits in both.
    fn and(self, other: Self) -> Self;
    /// Bits in either.
    fn or(self, other: Self) -> Self;
    /// Bits in one of the two.
    fn xor(self, other: Self) -> Self;
    /// All bits flipped.
    fn not(self) -> Self;
    /// Bits moved up; an amount of the width or more gives 0.
    fn shift_left(self, amount: Self) -> Self;
    /// Bits moved down, keeping the sign of a signed value; an amount of the width or more gives 0 or -1.
    fn shift_right(self, amount: Self) -> Self;
    /// Zeros above the highest set bit.
    fn leading_zeros(self) -> u32;
    /// Number of set bits.
    fn ones(self) -> u32;
}

/// An element that is a float.
pub trait Float: Element {
    /// Quotient.
    fn divide(self, other: Self) -> Self;
    /// Result of a function of `f64`, rounded once into this type.
    fn through(self, function: impl Fn(f64) -> f64) -> Self {
        Self::from_f64(function(self.to_f64()))
    }
}

macro_rules! integer_element {
    ($($T:ty, $dtype:ident, $unsigned:ty, $to_wide:ident, $signed:literal;)*) => {$(
        impl Element for $T {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = <$T>::MIN;
            const HIGHEST: Self = <$T>::MAX;

            #[inline] fn add(self, other: Self) -> Self { self.wrapping_add(other) }
            #[inline] fn subtract(self, other: Self) -> Self { self.wrapping_sub(other) }
            #[inline] fn multiply(self, other: Self) -> Self { self.wrapping_mul(other) }
            #[inline] fn remainder(self, other: Self) -> Self {
                if other == 0 { self } else { self.wrapping_rem(other) }
            }
            #[inline] fn power(self, exponent: Self) -> Self { integer_power(self, exponent) }
            #[inline] fn max(self, other: Self) -> Self { Ord::max(self, other) }
            #[inline] fn min(self, other: Self) -> Self { Ord::min(self, other) }
            #[inline] fn abs(self) -> Self { if self < 0 as $T { self.wrapping_neg() } else { self } }
            #[inline] fn negate(self) -> Self { self.wrapping_neg() }
            #[inline] fn sign(self) -> Self {
                if self > 0 { 1 } else if self == 0 { 0 } else { (0 as $T).wrapping_sub(1) }
            }
            #[inline] fn is_nan(self) -> bool { false }
            #[inline] fn from_f64(value: f64) -> Self { value as $T }
            #[inline] fn to_f64(self) -> f64 { self as f64 }
            #[inline] fn cast<T: Element>(self) -> T { T::$to_wide(self.into()) }
            #[inline] fn from_i64(value: i64) -> Self { value as $T }
            #[inline] fn from_u64(value: u64) -> Self { value as $T }
            #[inline] fn order(&self, other: &Self) -> std::cmp::Ordering { self.cmp(other) }
        }

        impl Integer for $T {
            const BITS: u32 = <$T>::BITS;

            #[inline] fn quotient(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }
            #[inline] fn and(self, other: Self) -> Self { self & other }
            #[inline] fn or(self, other: Self) -> Self { self | other }
            #[inline] fn xor(self, other: Self) -> Self { self ^ other }
            #[inline] fn not(self) -> Self { !self }
            #[inline] fn shift_left(self, amount: Self) -> Self {
                u32::try_from(amount).ok().and_then(|amount| self.checked_shl(amount)).unwrap_or(0)
            }
            #[inline] fn shift_right(self, amount: Self) -> Self {
                let last = <$T>::BITS - 1;
                let amount = u32::try_from(amount).unwrap_or(u32::MAX);
                if !$signed && amount > last { 0 } else { self >> Ord::min(amount, last) }
            }
            #[inline] fn leading_zeros(self) -> u32 { <$T>::leading_zeros(self) }
            #[inline] fn ones(self) -> u32 { self.count_ones() }
        }
    )*};
}

integer_element! {
    i8, S8, u8, from_i64, true;
    i16, S16, u16, from_i64, true;
    i32, S32, u32, from_i64, true;
    i64, S64, u64, from_i64, true;
    u8, U8, u8, from_u64, false;
    u16, U16, u16, from_u64, false;
    u32, U32, u32, from_u64, false;
    u64, U64, u64, from_u64, false;
}

/// Power by squaring, wrapping at every step.
fn integer_power<T: Integer>(base: T, exponent: T) -> T {
    if exponent < T::ZERO {
        let even = exponent.and(T::ONE) == T::ZERO;
        return match base {
            one if one == T::ONE => T::ONE,
            minus_one if minus_one == T::ONE.negate() => {
                if even {
                    T::ONE
                } else {
                    minus_one
                }
            }
            _ => T::ZERO,
        };
    }
    let (mut result, mut square, mut rest) = (T::ONE, base, exponent);
    while rest > T::ZERO {
        if rest.and(T::ONE) == T::ONE {
            result = result.multiply(square);
        }
        square = square.multiply(square);
        rest = rest.shift_right(T::ONE);
    }
    result
}

/// The nearest `f32`, but of the two around an inexact value the odd one: rounded once more, to a type
/// of at most 22 bits of mantissa, it is what the value itself would be rounded to.
#[inline]
pub(crate) fn f32_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let inexact = f64::from(nearest) != value && !value.is_nan();
    if !inexact || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    // Bits are in the order of the magnitudes.
    let below = f64::from(nearest).abs() < value.abs();
    f32::from_bits(if below { nearest.to_bits() + 1 } else { nearest.to_bits() - 1 })
}

/// As [`f32_to_odd`], of an integer.
#[inline]
fn f64_to_odd(value: i128) -> f64 {
    let nearest = value as f64;
    let rest = value.abs() - nearest.abs() as i128;
    if rest == 0 || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    f64::from_bits(if rest > 0 { nearest.to_bits() + 1 } else { nearest.to_bits() - 1 })
}

macro_rules! float_element {
    ($($T:ty, $dtype:ident, $wide:ty, $zero:expr, $one:expr, $low:expr, $high:expr,
       $to_wide:expr, $from_wide:expr, $from_f64:expr, $to_f64:expr, $from_integer:expr;)*) => {$(
        impl Element for $T {
            const DTYPE: DType = DType::$dtype;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const LOWEST: Self = $low;
            const HIGHEST: Self = $high;

            #[inline] fn add(self, other: Self) -> Self { $from_wide($to_wide(self) + $to_wide(other)) }
            #[inline] fn subtract(self, other: Self) -> Self { $from_wide($to_wide(self) - $to_wide(other)) }
            #[inline] fn multiply(self, other: Self) -> Self { $from_wide($to_wide(self) * $to_wide(other)) }
            #[inline] fn remainder(self, other: Self) -> Self { $from_wide($to_wide(self) % $to_wide(other)) }
            #[inline] fn power(self, exponent: Self) -> Self {
                <Self as Element>::from_f64(self.to_f64().powf(exponent.to_f64()))
            }
            #[inline] fn max(self, other: Self) -> Self {
                // Of equal numbers, only zeros differ.
                let tie = <$T>::from_bits(self.to_bits() & other.to_bits());
                if self.is_nan() || self > other { self } else if self == other { tie } else { other }
            }
            #[inline] fn min(self, other: Self) -> Self {
                let tie = <$T>::from_bits(self.to_bits() | other.to_bits());
                if self.is_nan() || self < other { self } else if self == other { tie } else { other }
            }
            #[inline] fn abs(self) -> Self { $from_wide($to_wide(self).abs()) }
            #[inline] fn negate(self) -> Self { -self }
            #[inline] fn sign(self) -> Self {
                if self > Self::ZERO { $one } else if self < Self::ZERO { -$one } else { self }
            }
            #[inline] fn is_nan(self) -> bool { <$T>::is_nan(self) }
            #[inline] fn from_f64(value: f64) -> Self { $from_f64(value) }
            #[inline] fn to_f64(self) -> f64 { $to_f64(self) }
            #[inline] fn cast<T: Element>(self) -> T { T::from_f64(self.to_f64()) }
            #[inline] fn from_i64(value: i64) -> Self { $from_integer(value.into()) }
            #[inline] fn from_u64(value: u64) -> Self { $from_integer(value.into()) }
            #[inline] fn order(&self, other: &Self) -> std::cmp::Ordering {
                self.partial_cmp(other)
                    .unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }
        }

        impl Float for $T {
            #[inline] fn divide(self, other: Self) -> Self { $from_wide($to_wide(self) / $to_wide(other)) }
        }
    )*};
}

// `half`'s own conversions from `f64` drop its lower bits before they round.
float_element! {
    f16, F16, f32, f16::ZERO, f16::ONE, f16::NEG_INFINITY, f16::INFINITY,
        f16::to_f32, f16::from_f32, |value| f16::from_f32(f32_to_odd(value)), f16::to_f64,
        |value| <Self as Element>::from_f64(f64_to_odd(value));
    bf16, BF16, f32, bf16::ZERO, bf16::ONE, bf16::NEG_INFINITY, bf16::INFINITY,
        bf16::to_f32, bf16::from_f32, |value| bf16::from_f32(f32_to_odd(value)), bf16::to_f64,
        |value| <Self as Element>::from_f64(f64_to_odd(value));
    f32, F32, f32, 0.0, 1.0, f32::NEG_INFINITY, f32::INFINITY,
        std::convert::identity, std::convert::identity, |value: f64| value as f32, f64::from,
        |value: i128| value as f32;
    f64, F64, f64, 0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY,
        std::convert::identity, std::convert::identity, std::convert::identity, std::convert::identity,
        |value: i128| value as f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    // Values from Nx.BinaryBackend, but where it raises (quotients by zero): the rules above.
    #[test]
    fn integers_wrap_and_never_panic() {
        assert_eq!(i32::MAX.multiply(2), -2);
        assert_eq!(i64::MIN.quotient(-1), i64::MIN);
        assert_eq!(i64::MIN.remainder(-1), 0);
        assert_eq!(7_i32.quotient(0), -1);
        assert_eq!(7_u8.remainder(0), 7);
        assert_eq!((-7_i32).remainder(3), -1);
        assert_eq!(i8::MIN.abs(), i8::MIN);
    }

    #[test]
    fn integer_powers_never_pass_through_a_float() {
        assert_eq!(3_i64.power(39), 4_052_555_153_018_976_267);
        assert_eq!(3_i64.power(41), -420_491_770_248_316_829);
        assert_eq!(2_i64.power(64), 0);
        assert_eq!(3_u8.power(6), 217);
        assert_eq!((-3_i32).power(3), -27);
        assert_eq!((-1_i32).power(-3), -1);
        assert_eq!(2_i32.power(-1), 0);
    }

    #[test]
    fn shifts_past_the_width_empty_the_value() {
        assert_eq!(1_i32.shift_left(32), 0);
        assert_eq!((-8_i32).shift_right(40), -1);
        assert_eq!(8_i32.shift_right(40), 0);
        assert_eq!(u64::MAX.shift_right(63), 1);
        assert_eq!(u64::MAX.shift_right(64), 0);
        assert_eq!(u64::MAX.shift_right(u64::MAX), 0);
    }

    #[test]
    fn floats_keep_nan_and_round_to_even() {
        assert!(Element::max(f32::NAN, 1.0).is_nan());
        assert!(Element::max(1.0, f32::NAN).is_nan());
        assert!(Element::min(f64::NAN, 1.0).is_nan());
        assert!(Element::min(1.0, f64::NAN).is_nan());
        assert_eq!(f64::cast::<bf16>(259.0).to_f32(), 260.0);
        assert_eq!(Element::remainder(-2.5_f32, 2.0), -0.5);
        assert!(Element::remainder(1.0_f32, 0.0).is_nan());
    }

    // Each is a tie between two neighbours, and so little more or less.
    #[test]
    fn casts_to_narrower_floats_round_once() {
        let (up, down) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
        for (tie, low, even, high) in [
            (1.0 + 2_f64.powi(-8), 1.0, 1.0, 1.007_812_5),
            (-3.0 - 3.0 * 2_f64.powi(-7), -3.015_625, -3.031_25, -3.031_25),
        ] {
            assert_eq!((tie * down).cast::<bf16>().to_f64(), low);
            assert_eq!(tie.cast::<bf16>().to_f64(), even);
            assert_eq!((tie * up).cast::<bf16>().to_f64(), high);
        }
        let tie = 1.0 + 2_f64.powi(-11);
        assert_eq!(tie.cast::<f16>().to_f64(), 1.0);
        assert_eq!((tie * up).cast::<f16>().to_f64(), 1.0 + 2_f64.powi(-10));
        assert_eq!(f32::from_bits(0x3F80_8001).cast::<bf16>(), bf16::from_bits(0x3F81));
        assert_eq!(65519.999_f64.cast::<f16>(), f16::MAX);
        assert_eq!(65520.0_f64.cast::<f16>(), f16::INFINITY);
        assert_eq!(f64::MAX.cast::<bf16>(), bf16::INFINITY);
        assert!(f64::NAN.cast::<bf16>().is_nan());
        // 2^62 + 2^54, a tie in `bf16`, and 2^62 + 2^38, one in `f32`.
        let (bf16_tie, f32_tie) = ((1_i64 << 62) + (1 << 54), (1_i64 << 62) + (1 << 38));
        assert_eq!(bf16_tie.cast::<bf16>().to_f64(), 2_f64.powi(62));
        assert_eq!((bf16_tie + 1).cast::<bf16>().to_f64(), 2_f64.powi(62) + 2_f64.powi(55));
        assert_eq!(f32_tie.cast::<f32>(), 2_f32.powi(62));
        assert_eq!((f32_tie + 1).cast::<f32>(), 2_f32.powi(62) + 2_f32.powi(39));
        assert_eq!((f32_tie as u64 + 1).cast::<f32>(), 2_f32.powi(62) + 2_f32.powi(39));
    }

    #[test]
    fn extremes_order_zeros_and_keep_nan() {
        fn check<T: Float>() {
            let [zero, less] = [T::ZERO, T::ZERO.negate()];
            for (a, b) in [(zero, less), (less, zero)] {
                let bits = |value: T| value.to_f64().to_bits();
                assert_eq!(bits(Element::max(a, b)), bits(zero));
                assert_eq!(bits(Element::min(a, b)), bits(less));
            }
            let nan = T::from_f64(f64::NAN);
            for (a, b) in [(nan, zero), (zero, nan)] {
                assert!(Element::max(a, b).is_nan() && Element::min(a, b).is_nan());
            }
        }
        check::<f16>();
        check::<bf16>();
        check::<f32>();
        check::<f64>();
    }

    #[test]
    fn casts_saturate_from_floats_and_wrap_from_integers() {
        assert_eq!(f32::NAN.cast::<i32>(), 0);
        assert_eq!(f32::INFINITY.cast::<i64>(), i64::MAX);
        assert_eq!(f32::NEG_INFINITY.cast::<i8>(), i8::MIN);
        assert_eq!(300_i32.cast::<u8>(), 44);
        assert_eq!((-1_i32).cast::<u64>(), u64::MAX);
        assert_eq!(u64::MAX.cast::<i64>(), -1);
    }
}
