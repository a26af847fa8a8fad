//! Element types, named as in Nx, and the rules that relate them.

use burn_backend::{BoolStore, FloatDType, IntDType};
use serde::Deserialize;
use std::fmt;

/// The type of a tensor's elements.
///
/// Every value is stored and computed as its own type; nothing is widened behind the caller's back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// Signed integer, 8 bits.
    S8,
    /// Signed integer, 16 bits.
    S16,
    /// Signed integer, 32 bits.
    S32,
    /// Signed integer, 64 bits.
    S64,
    /// Unsigned integer, 8 bits; also the type of truth values.
    U8,
    /// Unsigned integer, 16 bits.
    U16,
    /// Unsigned integer, 32 bits.
    U32,
    /// Unsigned integer, 64 bits.
    U64,
    /// IEEE-754 half precision.
    F16,
    /// bfloat16: the upper half of an [`DType::F32`].
    BF16,
    /// IEEE-754 single precision.
    F32,
    /// IEEE-754 double precision.
    F64,
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
    /// Every type, in the order of the declaration.
    pub const ALL: [DType; 12] = [
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
            DType::S8 => "s8",
            DType::S16 => "s16",
            DType::S32 => "s32",
            DType::S64 => "s64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// The size of one element in bytes.
    pub const fn size(self) -> usize {
        match self {
            DType::S8 | DType::U8 => 1,
            DType::S16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::S32 | DType::U32 | DType::F32 => 4,
            DType::S64 | DType::U64 | DType::F64 => 8,
        }
    }

    /// The family of the type.
    pub const fn class(self) -> Class {
        match self {
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Class::Unsigned,
            DType::S8 | DType::S16 | DType::S32 | DType::S64 => Class::Signed,
            DType::BF16 => Class::Brain,
            DType::F16 | DType::F32 | DType::F64 => Class::Float,
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

    /// The type two operands are computed in, as `Nx.Type.merge/2`.
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

    /// Burn's name of the type.
    pub const fn to_burn(self) -> burn_backend::DType {
        use burn_backend::DType as Burn;
        match self {
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
            DType::F64 => Burn::F64,
        }
    }

    /// The type behind Burn's name of it; truth values are [`DType::U8`].
    pub fn from_burn(dtype: burn_backend::DType) -> Option<DType> {
        use burn_backend::DType as Burn;
        match dtype {
            Burn::Bool(BoolStore::Native | BoolStore::U8) => Some(DType::U8),
            other => DType::ALL.into_iter().find(|own| own.to_burn() == other),
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

/// Runs `$body` with `$T` bound to the Rust type of `$dtype`.
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
        for dtype in DType::ALL {
            assert_eq!(DType::from_burn(dtype.to_burn()), Some(dtype));
            assert_eq!(dtype.to_burn().size(), dtype.size());
        }
    }
}
