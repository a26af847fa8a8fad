//! Functions of two tensors, element by element, over shapes that broadcast.

use crate::host::elementwise::zip;
use crate::op::{Operation, take, take_owned, unsupported};
use crate::{DType, Element, Float, HostTensor, Integer, Result, Spec, Value, ensure, shape};
use crate::{with_element, with_float, with_integer};
use burn_backend::tensor::{BoolTensor, FloatTensor, IntTensor};
use burn_backend::{Backend, BoolDType};
use serde::Deserialize;

/// The table of the family. Each row: variant, name, what it computes on a
/// pair of elements, and the same through Burn (floats, then integers).
///
/// - `number`: any type; both operands are computed in the type of the result.
/// - `float`: floats only, likewise.
/// - `integer`: integers only, likewise.
/// - `compare`: a truth value of two operands in their merged type.
/// - `logical`: a truth value of the operands' own truth values.
macro_rules! binary {
    (
        number { $($number:ident $number_name:literal $number_host:expr, $number_float:expr, $number_integer:expr;)* }
        float { $($float:ident $float_name:literal $float_host:expr, $float_burn:expr;)* }
        integer { $($integer:ident $integer_name:literal $integer_host:expr, $integer_burn:expr;)* }
        compare { $($compare:ident $compare_name:literal $compare_host:expr, $compare_float:expr, $compare_integer:expr;)* }
        logical { $($logical:ident $logical_name:literal $logical_host:expr, $logical_burn:expr;)* }
    ) => {
        /// A function of two tensors, element by element, as the Nx function of the same name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)]
        pub enum Binary { $($number,)* $($float,)* $($integer,)* $($compare,)* $($logical,)* }

        impl Binary {
            /// Every function of the family.
            pub const ALL: &'static [Binary] = &[
                $(Binary::$number,)* $(Binary::$float,)* $(Binary::$integer,)*
                $(Binary::$compare,)* $(Binary::$logical,)*
            ];
        }

        impl Operation for Binary {
            fn name(&self) -> &'static str {
                match self {
                    $(Binary::$number => $number_name,)*
                    $(Binary::$float => $float_name,)*
                    $(Binary::$integer => $integer_name,)*
                    $(Binary::$compare => $compare_name,)*
                    $(Binary::$logical => $logical_name,)*
                }
            }

            fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
                let [left, right] = take(self.name(), operands)?;
                let (fits, expected) = match self {
                    $(Binary::$number)|* => (true, ""),
                    $(Binary::$float)|* => (dtype.is_float(), "a float result"),
                    $(Binary::$integer)|* => (
                        [left.dtype, right.dtype, dtype].into_iter().all(DType::is_integer),
                        "integer operands and result",
                    ),
                    $(Binary::$compare)|* | $(Binary::$logical)|* => (dtype == DType::U8, "a u8 result"),
                };
                ensure!(fits, self.name(), format!("{left} and {right} to {dtype}"), expected);
                Ok(Spec::new(dtype, shape::broadcast(self.name(), &left.shape, &right.shape)?))
            }

            fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
                let [left, right] = take(self.name(), operands)?;
                let shape = &out.shape;
                let common = match self {
                    $(Binary::$compare)|* => left.dtype().merge(right.dtype()),
                    _ => out.dtype,
                };
                let cast = || (left.cast(common), right.cast(common));
                Ok(match self {
                    $(Binary::$number => with_element!(common, T => {
                        let (left, right) = cast();
                        HostTensor::from_vec(zip::<T, T, T>(shape, &left, &right, $number_host), shape)
                    }),)*
                    $(Binary::$float => with_float!(common, T => {
                        let (left, right) = cast();
                        HostTensor::from_vec(zip::<T, T, T>(shape, &left, &right, $float_host), shape)
                    }, else return Err(unsupported(self.name()))),)*
                    $(Binary::$integer => with_integer!(common, T => {
                        let (left, right) = cast();
                        HostTensor::from_vec(zip::<T, T, T>(shape, &left, &right, $integer_host), shape)
                    }, else return Err(unsupported(self.name()))),)*
                    $(Binary::$compare => with_element!(common, T => {
                        let (left, right) = cast();
                        let test = |a: T, b: T| u8::from($compare_host(&a, &b));
                        HostTensor::from_vec(zip(shape, &left, &right, test), shape)
                    }),)*
                    $(Binary::$logical => {
                        let (left, right) = (left.truth(), right.truth());
                        let test = |a: u8, b: u8| u8::from($logical_host(a != 0, b != 0));
                        HostTensor::from_vec(zip(shape, &left, &right, test), shape)
                    })*
                })
            }

            fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
                let name = self.name();
                let [left, right] = take_owned(name, operands)?;
                let common = match self {
                    $(Binary::$compare)|* => left.dtype().merge(right.dtype()),
                    $(Binary::$logical)|* => DType::U8,
                    _ => out.dtype,
                };
                if let $(Binary::$logical)|* = self {
                    let left = left.broadcast(&out.shape).into_bool();
                    let right = right.broadcast(&out.shape).into_bool();
                    return Ok(Value::from_bool(match self {
                        $(Binary::$logical => $logical_burn(left, right),)*
                        _ => return Err(unsupported(name)),
                    }));
                }
                let left = left.cast(common).broadcast(&out.shape);
                let right = right.cast(common).broadcast(&out.shape);
                Ok(match (self, left, right) {
                    $((Binary::$number, Value::Float(a), Value::Float(b)) => Value::Float($number_float(a, b)),
                      (Binary::$number, Value::Int(a), Value::Int(b)) => {
                        let burn: fn(_, _) -> Result<_> = $number_integer;
                        Value::Int(burn(a, b)?)
                      })*
                    $((Binary::$float, Value::Float(a), Value::Float(b)) => Value::Float($float_burn(a, b)),)*
                    $((Binary::$integer, Value::Int(a), Value::Int(b)) => {
                        let burn: fn(_, _) -> Result<_> = $integer_burn;
                        Value::Int(burn(a, b)?)
                    })*
                    $((Binary::$compare, Value::Float(a), Value::Float(b)) => Value::from_bool($compare_float(a, b)),
                      (Binary::$compare, Value::Int(a), Value::Int(b)) => Value::from_bool($compare_integer(a, b)),)*
                    _ => return Err(unsupported(name)),
                })
            }
        }
    };
}

const BOOL: BoolDType = BoolDType::Native;

binary! {
    number {
        Add "add" Element::add, B::float_add, |a, b| Ok(B::int_add(a, b));
        Subtract "subtract" Element::subtract, B::float_sub, |a, b| Ok(B::int_sub(a, b));
        Multiply "multiply" Element::multiply, B::float_mul, |a, b| Ok(B::int_mul(a, b));
        Remainder "remainder" Element::remainder, burn_remainder::<B>, |_, _| Err(unsupported("remainder"));
        Pow "pow" Element::power, B::float_powf, |_, _| Err(unsupported("pow"));
        Max "max" Element::max, burn_max::<B>, |a: IntTensor<B>, b: IntTensor<B>| {
            let greater = B::int_greater(a.clone(), b.clone(), BOOL);
            Ok(B::int_mask_where(b, greater, a))
        };
        Min "min" Element::min, burn_min::<B>, |a: IntTensor<B>, b: IntTensor<B>| {
            let lower = B::int_lower(a.clone(), b.clone(), BOOL);
            Ok(B::int_mask_where(b, lower, a))
        };
    }
    float {
        Divide "divide" Float::divide, B::float_div;
        Atan2 "atan2" |a, b| T::from_f64(a.to_f64().atan2(b.to_f64())), B::float_atan2;
    }
    integer {
        Quotient "quotient" Integer::quotient, |_, _| Err(unsupported("quotient"));
        BitwiseAnd "bitwise_and" Integer::and, |a, b| Ok(B::bitwise_and(a, b));
        BitwiseOr "bitwise_or" Integer::or, |a, b| Ok(B::bitwise_or(a, b));
        BitwiseXor "bitwise_xor" Integer::xor, |a, b| Ok(B::bitwise_xor(a, b));
        LeftShift "left_shift" Integer::shift_left, |_, _| Err(unsupported("left_shift"));
        RightShift "right_shift" Integer::shift_right, |_, _| Err(unsupported("right_shift"));
    }
    compare {
        Equal "equal" PartialEq::eq, |a, b| B::float_equal(a, b, BOOL), |a, b| B::int_equal(a, b, BOOL);
        NotEqual "not_equal" PartialEq::ne, |a, b| B::float_not_equal(a, b, BOOL), |a, b| B::int_not_equal(a, b, BOOL);
        Greater "greater" PartialOrd::gt, |a, b| B::float_greater(a, b, BOOL), |a, b| B::int_greater(a, b, BOOL);
        GreaterEqual "greater_equal" PartialOrd::ge, |a, b| B::float_greater_equal(a, b, BOOL), |a, b| B::int_greater_equal(a, b, BOOL);
        Less "less" PartialOrd::lt, |a, b| B::float_lower(a, b, BOOL), |a, b| B::int_lower(a, b, BOOL);
        LessEqual "less_equal" PartialOrd::le, |a, b| B::float_lower_equal(a, b, BOOL), |a, b| B::int_lower_equal(a, b, BOOL);
    }
    logical {
        LogicalAnd "logical_and" |a, b| a && b, B::bool_and;
        LogicalOr "logical_or" |a, b| a || b, B::bool_or;
        LogicalXor "logical_xor" |a: bool, b: bool| a != b, B::bool_xor;
    }
}

/// Remainder with the sign of the dividend, where Burn's has the divisor's.
fn burn_remainder<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    let quotient = B::float_trunc(B::float_div(a.clone(), b.clone()));
    B::float_sub(a, B::float_mul(quotient, b))
}

fn burn_max<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    pick::<B>(a, b, |a, b| B::float_greater(a, b, BOOL))
}

fn burn_min<B: Backend>(a: FloatTensor<B>, b: FloatTensor<B>) -> FloatTensor<B> {
    pick::<B>(a, b, |a, b| B::float_lower(a, b, BOOL))
}

/// `a` where it wins or is NaN, else `b`.
fn pick<B: Backend>(
    a: FloatTensor<B>,
    b: FloatTensor<B>,
    wins: impl Fn(FloatTensor<B>, FloatTensor<B>) -> BoolTensor<B>,
) -> FloatTensor<B> {
    let wins = wins(a.clone(), b.clone());
    let nan = B::float_is_nan(a.clone(), BOOL);
    B::float_mask_where(b, B::bool_or(wins, nan), a)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient};

    #[test]
    fn differentiates() {
        let left = HostTensor::from_vec(vec![0.3, 1.7, 2.5, 0.4], &[2, 2]);
        let right = HostTensor::from_vec(vec![1.2, 0.8], &[2]);
        for op in [
            Binary::Add,
            Binary::Subtract,
            Binary::Multiply,
            Binary::Divide,
            Binary::Pow,
            Binary::Max,
            Binary::Min,
            Binary::Atan2,
        ] {
            check_gradient(op, &[left.clone(), right.clone()]);
        }
    }

    #[test]
    fn burn_agrees() {
        let left = HostTensor::from_vec(vec![3_i32, -4, 5, 0], &[2, 2]);
        let right = HostTensor::from_vec(vec![2.5_f32, 3.0], &[2]);
        for op in [Binary::Add, Binary::Max, Binary::Remainder, Binary::Divide] {
            check_burn(op, &[left.clone(), right.clone()], DType::F32, 1e-6);
        }
        for op in [Binary::Less, Binary::Equal, Binary::LogicalXor] {
            check_burn(op, &[left.clone(), right.clone()], DType::U8, 0.0);
        }
    }
}
