//! Functions of one tensor, element by element.

use crate::host::elementwise::map;
use crate::op::{Operation, take, take_owned, unsupported};
use crate::{DType, Element, Float, HostTensor, Integer, Result, Spec, Value, ensure};
use crate::{with_element, with_float, with_integer};
use burn_backend::tensor::FloatTensor;
use burn_backend::{Backend, BoolDType, TensorMetadata};
use serde::Deserialize;

/// The table of the family. Each row: variant, name, what it computes on one
/// element, and the same through Burn.
///
/// - `float`: computed in the float type of the result; the host rounds once from `f64`.
/// - `same`: any type, kept.
/// - `integer`: integers only, kept.
/// - `test`: a truth value of a float; integers are never NaN or infinite.
macro_rules! unary {
    (
        float { $($float:ident $float_name:literal $float_host:expr, $float_burn:expr;)* }
        same { $($same:ident $same_name:literal $same_float:expr, $same_integer:expr, $same_burn_float:expr, $same_burn_integer:expr;)* }
        integer { $($integer:ident $integer_name:literal $integer_host:expr, $integer_burn:expr;)* }
        test { $($test:ident $test_name:literal $test_host:expr, $test_burn:expr;)* }
    ) => {
        /// A function of one tensor, element by element, as the Nx function of the same name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)]
        pub enum Unary { $($float,)* $($same,)* $($integer,)* $($test,)* }

        impl Unary {
            /// Every function of the family.
            pub const ALL: &'static [Unary] =
                &[$(Unary::$float,)* $(Unary::$same,)* $(Unary::$integer,)* $(Unary::$test,)*];
        }

        impl Operation for Unary {
            fn name(&self) -> &'static str {
                match self {
                    $(Unary::$float => $float_name,)*
                    $(Unary::$same => $same_name,)*
                    $(Unary::$integer => $integer_name,)*
                    $(Unary::$test => $test_name,)*
                }
            }

            fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
                let [operand] = take(self.name(), operands)?;
                let (fits, expected) = match self {
                    $(Unary::$float)|* => (dtype.is_float(), "a float result"),
                    $(Unary::$same)|* => (dtype == operand.dtype, "a result of the operand's type"),
                    $(Unary::$integer)|* => (
                        dtype == operand.dtype && dtype.is_integer(),
                        "an integer operand and result",
                    ),
                    $(Unary::$test)|* => (dtype == DType::U8, "a u8 result"),
                };
                ensure!(fits, self.name(), format!("{operand} to {dtype}"), expected);
                Ok(Spec::new(dtype, operand.shape.clone()))
            }

            fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
                let [operand] = take(self.name(), operands)?;
                Ok(match self {
                    $(Unary::$float => {
                        let operand = operand.cast(out.dtype);
                        with_float!(out.dtype, T => {
                            let elements = map(&operand, |x: T| Float::through(x, $float_host));
                            HostTensor::from_vec(elements, &out.shape)
                        }, else return Err(unsupported(self.name())))
                    })*
                    $(Unary::$same => with_float!(out.dtype, T => {
                        HostTensor::from_vec(map(operand, |x: T| $same_float(x)), &out.shape)
                    }, else with_integer!(out.dtype, T => {
                        HostTensor::from_vec(map(operand, |x: T| $same_integer(x)), &out.shape)
                    }, else return Err(unsupported(self.name())))),)*
                    $(Unary::$integer => with_integer!(out.dtype, T => {
                        HostTensor::from_vec(map(operand, |x: T| $integer_host(x)), &out.shape)
                    }, else return Err(unsupported(self.name()))),)*
                    $(Unary::$test => with_element!(operand.dtype(), T => {
                        let elements = map(operand, |x: T| u8::from($test_host(x)));
                        HostTensor::from_vec(elements, &out.shape)
                    }),)*
                })
            }

            fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
                let name = self.name();
                let [operand] = take_owned(name, operands)?;
                Ok(match self {
                    $(Unary::$float => {
                        Value::Float($float_burn(operand.cast(out.dtype).into_float(name)?))
                    })*
                    $(Unary::$same => match operand {
                        Value::Float(tensor) => Value::Float($same_burn_float(tensor)),
                        Value::Int(tensor) => Value::Int($same_burn_integer(tensor)),
                    },)*
                    $(Unary::$integer => {
                        let burn: fn(_) -> Result<_> = $integer_burn;
                        Value::Int(burn(operand.into_int(name)?)?)
                    })*
                    $(Unary::$test => match operand {
                        Value::Float(tensor) => Value::from_bool($test_burn(tensor)),
                        Value::Int(tensor) => Value::Int(B::int_zeros(
                            out.shape.clone().into(),
                            &B::int_device(&tensor),
                            burn_backend::IntDType::U8,
                        )),
                    },)*
                })
            }
        }
    };
}

unary! {
    float {
        Exp "exp" f64::exp, B::float_exp;
        Expm1 "expm1" f64::exp_m1, |x| B::float_sub_scalar(B::float_exp(x), 1.0.into());
        Log "log" f64::ln, B::float_log;
        Log1p "log1p" log1p, B::float_log1p;
        Sigmoid "sigmoid" |x: f64| 1.0 / (1.0 + (-x).exp()), B::sigmoid;
        Sin "sin" f64::sin, B::float_sin;
        Cos "cos" f64::cos, B::float_cos;
        Tan "tan" f64::tan, B::float_tan;
        Asin "asin" f64::asin, B::float_asin;
        Acos "acos" f64::acos, B::float_acos;
        Atan "atan" f64::atan, B::float_atan;
        Sinh "sinh" f64::sinh, B::float_sinh;
        Cosh "cosh" f64::cosh, B::float_cosh;
        Tanh "tanh" f64::tanh, B::float_tanh;
        Asinh "asinh" libm::asinh, B::float_asinh;
        Acosh "acosh" libm::acosh, B::float_acosh;
        Atanh "atanh" libm::atanh, B::float_atanh;
        Sqrt "sqrt" f64::sqrt, B::float_sqrt;
        Rsqrt "rsqrt" |x: f64| 1.0 / x.sqrt(), |x| B::float_recip(B::float_sqrt(x));
        Cbrt "cbrt" f64::cbrt, |x: FloatTensor<B>| {
            let root = B::float_powf_scalar(B::float_abs(x.clone()), (1.0 / 3.0).into());
            B::float_mul(B::float_sign(x), root)
        };
        Erf "erf" libm::erf, B::float_erf;
        Erfc "erfc" libm::erfc, |x| B::float_add_scalar(B::float_neg(B::float_erf(x)), 1.0.into());
        ErfInv "erf_inv" erf_inv::<T>, burn_erf_inv::<B>;
    }
    same {
        Abs "abs" Element::abs, Element::abs, B::float_abs, B::int_abs;
        Negate "negate" Element::negate, Element::negate, B::float_neg, B::int_neg;
        Sign "sign" Element::sign, Element::sign, B::float_sign, B::int_sign;
        Ceil "ceil" |x| Float::through(x, f64::ceil), std::convert::identity, B::float_ceil, std::convert::identity;
        Floor "floor" |x| Float::through(x, f64::floor), std::convert::identity, B::float_floor, std::convert::identity;
        Round "round" |x| Float::through(x, f64::round), std::convert::identity, burn_round::<B>, std::convert::identity;
    }
    integer {
        BitwiseNot "bitwise_not" Integer::not, |x| Ok(B::bitwise_not(x));
        CountLeadingZeros "count_leading_zeros" |x: T| count::<T>(x.leading_zeros()), |_| Err(unsupported("count_leading_zeros"));
        PopulationCount "population_count" |x: T| count::<T>(x.ones()), |_| Err(unsupported("population_count"));
    }
    test {
        IsNan "is_nan" Element::is_nan, |x| B::float_is_nan(x, BoolDType::Native);
        IsInfinity "is_infinity" is_infinite, |x| B::float_is_inf(x, BoolDType::Native);
    }
}

/// A number of bits in the type they were counted in.
fn count<T: Integer>(bits: u32) -> T {
    T::from_u64(bits.into())
}

fn is_infinite<T: Element>(value: T) -> bool {
    T::DTYPE.is_float() && value.to_f64().is_infinite()
}

/// Half away from zero, where Burn rounds half to even.
fn burn_round<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    let whole = B::float_trunc(x.clone());
    let rest = B::float_abs(B::float_sub(x.clone(), whole.clone()));
    let up = B::bool_into_float(
        B::float_greater_equal_elem(rest, 0.5.into(), BoolDType::Native),
        whole.dtype().into(),
    );
    B::float_add(whole, B::float_mul(B::float_sign(x), up))
}

/// Logarithm of 1 + x; where that sum is exact, its logarithm has the smaller error.
fn log1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    if sum - 1.0 == x { sum.ln() } else { x.ln_1p() }
}

/// Inverse of the error function: a polynomial, refined by Halley's method to full precision of
/// 64-bit floats. For the types below it stays as it is, 2.2 units in the last place of `f32` off at
/// most, since the random streams of Nx are made of it.
///
/// Source of the start: M. Giles, *Approximating the erfinv function*, 2010.
pub(super) fn erf_inv<T: Float>(x: f64) -> f64 {
    if x.is_nan() || x.abs() > 1.0 {
        return f64::NAN;
    }
    if x.abs() == 1.0 {
        return x * f64::INFINITY;
    }
    let start = giles(x, -((1.0 - x) * (1.0 + x)).ln());
    if T::DTYPE != DType::F64 {
        return start;
    }
    // The polynomial was made for 32 bits: closer to ±1 it is a poor start.
    let mut y = start;
    for _ in 0..8 {
        // Near ±1 the complement keeps the digits that `erf(y) - x` would lose.
        let error = if x > 0.5 {
            (1.0 - x) - libm::erfc(y)
        } else if x < -0.5 {
            libm::erfc(-y) - (1.0 + x)
        } else {
            libm::erf(y) - x
        };
        let newton = error / (std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp());
        let step = newton / (1.0 + y * newton);
        y -= step;
        // Each step has three times the right digits of the one before.
        if step.abs() <= 1e-6 * y.abs() {
            break;
        }
    }
    y
}

const GILES_CENTRE: [f64; 9] = [
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
];
const GILES_TAIL: [f64; 9] = [
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
];

fn giles(x: f64, w: f64) -> f64 {
    let (at, coefficients) =
        if w < 5.0 { (w - 2.5, GILES_CENTRE) } else { (w.sqrt() - 3.0, GILES_TAIL) };
    x * coefficients.into_iter().fold(0.0, |sum, coefficient| sum * at + coefficient)
}

fn burn_erf_inv<B: Backend>(x: FloatTensor<B>) -> FloatTensor<B> {
    let polynomial = |at: FloatTensor<B>, coefficients: [f64; 9]| {
        let mut sum = B::float_mul_scalar(at.clone(), 0.0.into());
        for coefficient in coefficients {
            sum = B::float_add_scalar(B::float_mul(sum, at.clone()), coefficient.into());
        }
        sum
    };
    let square = B::float_mul(x.clone(), x.clone());
    let complement = B::float_add_scalar(B::float_neg(square), 1.0.into());
    let w = B::float_neg(B::float_log(complement));
    let centre = polynomial(B::float_sub_scalar(w.clone(), 2.5.into()), GILES_CENTRE);
    let root = B::float_sqrt(B::float_clamp_min(w.clone(), 5.0.into()));
    let tail = polynomial(B::float_sub_scalar(root, 3.0.into()), GILES_TAIL);
    let in_tail = B::float_greater_equal_elem(w, 5.0.into(), BoolDType::Native);
    B::float_mul(B::float_mask_where(centre, in_tail, tail), x)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The values are mpmath's.
    #[test]
    fn erf_inv_keeps_its_digits_next_to_its_poles() {
        for (x, expected) in [
            (-0.9999999999989113, -5.033753797355556),
            (0.9999999, 3.766562581638471),
            (0.1, 0.08885599049425769),
        ] {
            let given = erf_inv::<f64>(x);
            assert!((given - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{given}");
        }
    }
}
