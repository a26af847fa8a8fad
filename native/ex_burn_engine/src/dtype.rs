//! Element types, named as in Nx, and the rules that relate them.

use burn_backend::{BoolStore, FloatDType, IntDType};
use serde::Deserialize;
use std::fmt;

/// The type of a tensor's elements.
///
/// The types that Burn has, the *native* ones, are stored and computed as themselves. The others
/// are stored in native ones ([`DType::stored`]) and computed in native ones
/// ([`DType::computed`]); [`crate::lower`] is where that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// Signed integer, 2 bits.
    S2,
    /// Signed integer, 4 bits.
    S4,
    /// Signed integer, 8 bits.
    S8,
    /// Signed integer, 16 bits.
    S16,
    /// Signed integer, 32 bits.
    S32,
    /// Signed integer, 64 bits.
    S64,
    /// Unsigned integer, 2 bits.
    U2,
    /// Unsigned integer, 4 bits.
    U4,
    /// Unsigned integer, 8 bits; also the type of truth values.
    U8,
    /// Unsigned integer, 16 bits.
    U16,
    /// Unsigned integer, 32 bits.
    U32,
    /// Unsigned integer, 64 bits.
    U64,
    /// 8-bit float with 5 bits of exponent, as IEEE-754 would have it.
    F8,
    /// 8-bit float with 4 bits of exponent and no infinities, which saturates.
    #[serde(rename = "f8_e4m3fn")]
    F8E4M3Fn,
    /// IEEE-754 half precision.
    F16,
    /// bfloat16: the upper half of an [`DType::F32`].
    BF16,
    /// IEEE-754 single precision.
    F32,
    /// IEEE-754 double precision.
    F64,
    /// Complex number of two [`DType::F32`].
    C64,
    /// Complex number of two [`DType::F64`].
    C128,
}

/// The family a type belongs to, in the order in which Nx merges them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
    /// bfloat16.
    Brain,
    /// IEEE-754 floats.
    Float,
}

impl DType {
    /// The types that Burn has.
    pub const NATIVE: [DType; 12] = [
        DType::S8,
        DType::S16,
        DType::S32,
        DType::S64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// The name Nx gives the type, such as `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::S2 => "s2",
            DType::S4 => "s4",
            DType::S8 => "s8",
            DType::S16 => "s16",
            DType::S32 => "s32",
            DType::S64 => "s64",
            DType::U2 => "u2",
            DType::U4 => "u4",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F8 => "f8",
            DType::F8E4M3Fn => "f8_e4m3fn",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::C64 => "c64",
            DType::C128 => "c128",
        }
    }

    /// The width of one element in bits, as it is read and written.
    pub const fn bits(self) -> usize {
        match self {
            DType::S2 | DType::U2 => 2,
            DType::S4 | DType::U4 => 4,
            DType::S8 | DType::U8 | DType::F8 | DType::F8E4M3Fn => 8,
            DType::S16 | DType::U16 | DType::F16 | DType::BF16 => 16,
            DType::S32 | DType::U32 | DType::F32 => 32,
            DType::S64 | DType::U64 | DType::F64 | DType::C64 => 64,
            DType::C128 => 128,
        }
    }

    /// The size of one element in bytes, as it is stored.
    pub const fn size(self) -> usize {
        self.bits().div_ceil(8)
    }

    /// The native type that holds the elements: narrow integers with a byte each, 8-bit floats by
    /// their bits, complex numbers as a pair of tensors.
    pub const fn stored(self) -> DType {
        match self {
            DType::F8 | DType::F8E4M3Fn => DType::U8,
            other => other.computed(),
        }
    }

    /// The native type that the elements are computed in, each part of a complex number by itself.
    pub const fn computed(self) -> DType {
        match self {
            DType::S2 | DType::S4 => DType::S8,
            DType::U2 | DType::U4 => DType::U8,
            DType::F8 | DType::F8E4M3Fn | DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            native => native,
        }
    }

    /// Whether Burn has the type.
    pub fn is_native(self) -> bool {
        self.computed() == self
    }

    /// Whether the type is of complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self, DType::C64 | DType::C128)
    }

    /// The family of the type; of a complex number, that of its parts.
    pub const fn class(self) -> Class {
        match self.computed() {
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Class::Unsigned,
            DType::S8 | DType::S16 | DType::S32 | DType::S64 => Class::Signed,
            DType::BF16 => Class::Brain,
            _ => Class::Float,
        }
    }

    /// Whether the type is a float of any kind.
    pub fn is_float(self) -> bool {
        self.class() >= Class::Brain
    }

    /// Whether the type is an integer of any kind.
    pub fn is_integer(self) -> bool {
        !self.is_float()
    }

    /// The type two operands of native types are computed in, as `Nx.Type.merge/2`.
    pub fn merge(self, other: DType) -> DType {
        let (low, high) = if self.class() <= other.class() { (self, other) } else { (other, self) };
        if low.class() == high.class() {
            if low.size() > high.size() { low } else { high }
        } else if (low.class(), high.class()) == (Class::Unsigned, Class::Signed) {
            match (low.size() * 2).min(8).max(high.size()) {
                2 => DType::S16,
                4 => DType::S32,
                _ => DType::S64,
            }
        } else {
            high
        }
    }

    /// Burn's name of the type that holds the elements.
    pub const fn to_burn(self) -> burn_backend::DType {
        use burn_backend::DType as Burn;
        match self.stored() {
            DType::S8 => Burn::I8,
            DType::S16 => Burn::I16,
            DType::S32 => Burn::I32,
            DType::S64 => Burn::I64,
            DType::U8 => Burn::U8,
            DType::U16 => Burn::U16,
            DType::U32 => Burn::U32,
            DType::U64 => Burn::U64,
            DType::F16 => Burn::F16,
            DType::BF16 => Burn::BF16,
            DType::F32 => Burn::F32,
            _ => Burn::F64,
        }
    }

    /// The type behind Burn's name of it; truth values are [`DType::U8`].
    pub fn from_burn(dtype: burn_backend::DType) -> Option<DType> {
        use burn_backend::DType as Burn;
        match dtype {
            Burn::Bool(BoolStore::Native | BoolStore::U8) => Some(DType::U8),
            other => DType::NATIVE.into_iter().find(|own| own.to_burn() == other),
        }
    }

    /// Burn's float type, or `None` for an integer.
    pub fn float(self) -> Option<FloatDType> {
        match self {
            DType::F16 => Some(FloatDType::F16),
            DType::BF16 => Some(FloatDType::BF16),
            DType::F32 => Some(FloatDType::F32),
            DType::F64 => Some(FloatDType::F64),
            _ => None,
        }
    }

    /// Burn's integer type, or `None` for a float.
    pub fn integer(self) -> Option<IntDType> {
        match self {
            DType::S8 => Some(IntDType::I8),
            DType::S16 => Some(IntDType::I16),
            DType::S32 => Some(IntDType::I32),
            DType::S64 => Some(IntDType::I64),
            DType::U8 => Some(IntDType::U8),
            DType::U16 => Some(IntDType::U16),
            DType::U32 => Some(IntDType::U32),
            DType::U64 => Some(IntDType::U64),
            _ => None,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Runs `$body` with `$T` bound to the Rust type of `$dtype`, which must be native.
#[macro_export]
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::F16 => {
                type $T = half::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $T = half::bf16;
                $body
            }
            $crate::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::DType::S8 => {
                type $T = i8;
                $body
            }
            $crate::DType::S16 => {
                type $T = i16;
                $body
            }
            $crate::DType::S32 => {
                type $T = i32;
                $body
            }
            $crate::DType::S64 => {
                type $T = i64;
                $body
            }
            $crate::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::DType::U16 => {
                type $T = u16;
                $body
            }
            $crate::DType::U32 => {
                type $T = u32;
                $body
            }
            $crate::DType::U64 => {
                type $T = u64;
                $body
            }
            other => unreachable!("{other} is lowered before it reaches a kernel"),
        }
    };
}

/// Runs `$body` with `$T` bound to the Rust type of the float `$dtype`; `$otherwise` for integers.
#[macro_export]
macro_rules! with_float {
    ($dtype:expr, $T:ident => $body:expr, else $otherwise:expr) => {
        match $dtype {
            $crate::DType::F16 => {
                type $T = half::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $T = half::bf16;
                $body
            }
            $crate::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::DType::F64 => {
                type $T = f64;
                $body
            }
            _ => $otherwise,
        }
    };
}

/// Runs `$body` with `$T` bound to the Rust type of the integer `$dtype`; `$otherwise` for floats.
#[macro_export]
macro_rules! with_integer {
    ($dtype:expr, $T:ident => $body:expr, else $otherwise:expr) => {
        match $dtype {
            $crate::DType::S8 => {
                type $T = i8;
                $body
            }
            $crate::DType::S16 => {
                type $T = i16;
                $body
            }
            $crate::DType::S32 => {
                type $T = i32;
                $body
            }
            $crate::DType::S64 => {
                type $T = i64;
                $body
            }
            $crate::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::DType::U16 => {
                type $T = u16;
                $body
            }
            $crate::DType::U32 => {
                type $T = u32;
                $body
            }
            $crate::DType::U64 => {
                type $T = u64;
                $body
            }
            _ => $otherwise,
        }
    };
}

#[cfg(test)]
mod tests {
    use super::DType::{self, *};

    // The values are those of `Nx.Type.merge/2`.
    #[test]
    fn merges_as_nx() {
        for (left, right, merged) in [
            (U8, S8, S16),
            (U32, S8, S64),
            (U64, S8, S64),
            (U8, S64, S64),
            (S64, F16, F16),
            (BF16, F16, F16),
            (BF16, F32, F32),
            (U8, U32, U32),
            (BF16, S64, BF16),
        ] {
            assert_eq!(left.merge(right), merged, "{left} with {right}");
            assert_eq!(right.merge(left), merged, "{right} with {left}");
        }
    }

    #[test]
    fn every_type_round_trips_through_burn() {
        for dtype in DType::NATIVE {
            assert_eq!(DType::from_burn(dtype.to_burn()), Some(dtype));
            assert_eq!(dtype.to_burn().size(), dtype.size());
        }
    }
}
