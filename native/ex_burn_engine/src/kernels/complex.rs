//! Functions of complex numbers whose parts come as separate tensors.
//!
//! Operations on complex tensors are lowered ([`crate::lower`]) to operations on their parts. What
//! mixes the parts in one step is computed here, in `f64`, and rounded once.

use crate::host::elementwise::map;
use crate::host::parallel;
use crate::op::{Operation, take, unsupported};
use crate::{DType, Element, Float, HostTensor, Result, Spec, ensure, shape, with_float};
use num_complex::Complex64;
use serde::Deserialize;

/// A part of a complex number, or its conjugate. A real number is its own real part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The real part (`Nx.real/1`).
    Real,
    /// The imaginary part (`Nx.imag/1`).
    Imag,
    /// The number with its imaginary part negated (`Nx.conjugate/1`); the result is complex.
    Conjugate,
}

impl Operation for Part {
    fn name(&self) -> &'static str {
        match self {
            Part::Real => "real",
            Part::Imag => "imag",
            Part::Conjugate => "conjugate",
        }
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [operand] = take(self.name(), operands)?;
        ensure!(dtype.is_float(), self.name(), format!("{operand} to {dtype}"), "a float result");
        Ok(Spec::new(dtype, operand.shape.clone()))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [operand] = take(self.name(), operands)?;
        Ok(match self {
            Part::Real | Part::Conjugate => operand.cast(out.dtype),
            Part::Imag => HostTensor::filled(out, 0.0),
        })
    }
}

/// The table of the family. Each row: variant, name, and the function.
macro_rules! complex {
    (
        unary { $($unary:ident $unary_name:literal $unary_host:expr;)* }
        binary { $($binary:ident $binary_name:literal $binary_host:expr;)* }
    ) => {
        /// A function of one or two complex tensors. The operands are the parts of each, real
        /// before imaginary; the last axis of the result holds both parts.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)]
        pub enum Complex { $($unary,)* $($binary,)* }

        impl Complex {
            /// The function of the name of an operation of [`crate::kernels::Unary`] or
            /// [`crate::kernels::Binary`].
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($unary_name => Some(Complex::$unary),)*
                    $($binary_name => Some(Complex::$binary),)*
                    _ => None,
                }
            }

            fn function(self) -> Function {
                match self {
                    $(Complex::$unary => Function::Unary($unary_host),)*
                    $(Complex::$binary => Function::Binary($binary_host),)*
                }
            }
        }

        impl Operation for Complex {
            fn name(&self) -> &'static str {
                match self {
                    $(Complex::$unary => $unary_name,)*
                    $(Complex::$binary => $binary_name,)*
                }
            }

            fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
                self.infer_parts(operands, dtype)
            }

            fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
                with_float!(out.dtype, T => Ok(self.apply::<T>(operands, out)),
                    else Err(unsupported(self.name())))
            }
        }
    };
}

enum Function {
    Unary(fn(Complex64) -> Complex64),
    Binary(fn(Complex64, Complex64) -> Complex64),
}

complex! {
    unary {
        Abs "abs" |z| real(z.re.hypot(z.im));
        Sign "sign" sign;
        Exp "exp" Complex64::exp;
        Expm1 "expm1" |z| {
            let half = (z.im / 2.0).sin();
            let (growth, turn) = (z.re.exp_m1(), -2.0 * half * half);
            Complex64::new(growth + turn + growth * turn, z.re.exp() * z.im.sin())
        };
        Log "log" Complex64::ln;
        Log1p "log1p" |z| {
            // |1 + z|² - 1 without the digits that 1 + z loses.
            let growth = z.re * (2.0 + z.re) + z.im * z.im;
            Complex64::new(0.5 * growth.ln_1p(), z.im.atan2(1.0 + z.re))
        };
        Sigmoid "sigmoid" |z| ONE / (ONE + (-z).exp());
        Sin "sin" Complex64::sin;
        Cos "cos" Complex64::cos;
        Tan "tan" Complex64::tan;
        Asin "asin" Complex64::asin;
        Acos "acos" Complex64::acos;
        Atan "atan" Complex64::atan;
        Sinh "sinh" Complex64::sinh;
        Cosh "cosh" Complex64::cosh;
        Tanh "tanh" Complex64::tanh;
        Asinh "asinh" Complex64::asinh;
        Acosh "acosh" Complex64::acosh;
        Atanh "atanh" Complex64::atanh;
        Sqrt "sqrt" sqrt;
        Rsqrt "rsqrt" |z| {
            let root = sqrt(z);
            if root.is_infinite() { ZERO } else { ONE / root }
        };
        Cbrt "cbrt" |z| Complex64::from_polar(z.norm().cbrt(), z.arg() / 3.0);
        // These are defined for real numbers alone.
        Erf "erf" |z| of_real(z, libm::erf);
        Erfc "erfc" |z| of_real(z, libm::erfc);
        ErfInv "erf_inv" |z| of_real(z, super::unary::erf_inv::<f64>);
    }
    binary {
        Multiply "multiply" |a, b| a * b;
        Divide "divide" divide;
        Pow "pow" pow;
        Atan2 "atan2" |a, b| {
            if a.im == 0.0 && b.im == 0.0 { real(a.re.atan2(b.re)) } else { NAN }
        };
    }
}

const ZERO: Complex64 = Complex64::new(0.0, 0.0);
const ONE: Complex64 = Complex64::new(1.0, 0.0);
const NAN: Complex64 = Complex64::new(f64::NAN, f64::NAN);

fn real(re: f64) -> Complex64 {
    Complex64::new(re, 0.0)
}

fn of_real(z: Complex64, function: fn(f64) -> f64) -> Complex64 {
    if z.im == 0.0 { real(function(z.re)) } else { NAN }
}

/// The number of magnitude 1 of the same direction, or zero.
fn sign(z: Complex64) -> Complex64 {
    // A power of two keeps all digits, and the magnitude among those that have them.
    let z = match z.re.abs().max(z.im.abs()) {
        0.0 => return z,
        tiny if tiny < 1e-150 => z * 2.0_f64.powi(600),
        huge if huge > 1e150 => z * 2.0_f64.powi(-600),
        _ => z,
    };
    z / z.re.hypot(z.im)
}

/// With infinities as `csqrt` of C99, Annex G.
fn sqrt(z: Complex64) -> Complex64 {
    if z.im.is_infinite() {
        Complex64::new(f64::INFINITY, z.im)
    } else if z.re.is_infinite() && z.im.is_finite() {
        let (large, none) = (f64::INFINITY, 0.0_f64);
        if z.re > 0.0 {
            Complex64::new(large, none.copysign(z.im))
        } else {
            Complex64::new(none, large.copysign(z.im))
        }
    } else {
        z.sqrt()
    }
}

/// Smith's quotient, which neither overflows nor loses digits on the way.
///
/// Source: R. L. Smith, *Algorithm 116: Complex Division*, 1962.
fn divide(a: Complex64, b: Complex64) -> Complex64 {
    if b.im == 0.0 {
        Complex64::new(a.re / b.re, a.im / b.re)
    } else if b.re.abs() >= b.im.abs() {
        let ratio = b.im / b.re;
        let scale = b.re + b.im * ratio;
        Complex64::new((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        Complex64::new((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    }
}

fn pow(base: Complex64, exponent: Complex64) -> Complex64 {
    if exponent == ZERO {
        ONE
    } else if base == ZERO {
        ZERO
    } else if exponent == ONE {
        base
    } else if exponent == -ONE {
        divide(ONE, base)
    } else {
        base.powc(exponent)
    }
}

impl Complex {
    fn infer_parts(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let name = self.name();
        let count = match self.function() {
            Function::Unary(_) => 2,
            Function::Binary(_) => 4,
        };
        let fits = operands.len() == count
            && operands.iter().all(|operand| operand.dtype == dtype)
            && matches!(dtype, DType::F32 | DType::F64);
        let given = operands.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
        ensure!(fits, name, format!("{given} to {dtype}"), format!("{count} parts of that type"));
        let broadcast =
            |shape: Vec<usize>, operand: &Spec| shape::broadcast(name, &shape, &operand.shape);
        let mut shape = operands.iter().try_fold(Vec::new(), broadcast)?;
        shape.push(2);
        Ok(Spec::new(dtype, shape))
    }

    fn apply<T: Float>(&self, operands: &[HostTensor], out: &Spec) -> HostTensor {
        let shape = &out.shape[..out.rank() - 1];
        let parts: Vec<Vec<f64>> = operands
            .iter()
            .map(|operand| map(&operand.broadcast(shape), |x: T| Element::to_f64(x)))
            .collect();
        let at = |number: usize, position: usize| {
            Complex64::new(parts[2 * number][position], parts[2 * number + 1][position])
        };
        let function = self.function();
        let mut elements = vec![T::ZERO; out.size()];
        parallel::for_each_part(&mut elements, 2, 8, |start, part| {
            for (position, pair) in (start / 2..).zip(part.chunks_exact_mut(2)) {
                let result = match function {
                    Function::Unary(function) => function(at(0, position)),
                    Function::Binary(function) => function(at(0, position), at(1, position)),
                };
                pair[0] = T::from_f64(result.re);
                pair[1] = T::from_f64(result.im);
            }
        });
        HostTensor::from_vec(elements, &out.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(op: Complex, operands: &[(f64, f64)]) -> (f64, f64) {
        let scalar = |value| HostTensor::from_vec(vec![value], &[]);
        let parts: Vec<HostTensor> =
            operands.iter().flat_map(|&(re, im)| [scalar(re), scalar(im)]).collect();
        let specs: Vec<Spec> = parts.iter().map(HostTensor::spec).collect();
        let out = op.infer(&specs, DType::F64).unwrap();
        let result = op.host(&parts, &out).unwrap();
        let result = result.elements::<f64>();
        (result[0], result[1])
    }

    // The values are those of Python's cmath.
    #[test]
    fn functions_agree_with_cmath() {
        let z = (1.5, -0.5);
        for (op, re, im) in [
            (Complex::Abs, 1.5811388300841898, 0.0),
            (Complex::Exp, 3.9330521759433617, -2.1486361964033964),
            (Complex::Log, 0.45814536593707755, -0.3217505543966422),
            (Complex::Sqrt, 1.2411967672541269, -0.20141850719855617),
            (Complex::Sin, 1.1248012470579227, -0.03686082371280446),
            (Complex::Cos, 0.07976510530654189, 0.5197899547729212),
            (Complex::Tan, 0.2551492218136518, -2.124799127742997),
            (Complex::Asin, 1.1711572594583726, -1.0693110431581108),
            (Complex::Acos, 0.3996390673365241, 1.0693110431581108),
            (Complex::Atan, 1.0172219678978514, -0.14694666622552977),
            (Complex::Sinh, 1.8686185191826468, -1.1278052468056998),
            (Complex::Cosh, 2.064433656760715, -1.0208309495976966),
            (Complex::Tanh, 0.9443729864226215, -0.0793244548039567),
            (Complex::Asinh, 1.226456871251406, -0.2734872901415568),
            (Complex::Acosh, 1.0693110431581108, -0.3996390673365241),
            (Complex::Atanh, 0.6412373393653842, -1.2767950250211129),
        ] {
            let (given_re, given_im) = call(op, &[z]);
            assert!((given_re - re).abs() < 1e-14, "{op:?}: {given_re}");
            assert!((given_im - im).abs() < 1e-14, "{op:?}: {given_im}");
        }
    }

    #[test]
    fn inverses_undo() {
        for (op, inverse) in [
            (Complex::Exp, Complex::Log),
            (Complex::Sin, Complex::Asin),
            (Complex::Cos, Complex::Acos),
            (Complex::Tan, Complex::Atan),
            (Complex::Sinh, Complex::Asinh),
            (Complex::Cosh, Complex::Acosh),
            (Complex::Tanh, Complex::Atanh),
            (Complex::Expm1, Complex::Log1p),
        ] {
            let z = (0.4, 0.3);
            let (re, im) = call(inverse, &[call(op, &[z])]);
            assert!((re - z.0).abs() + (im - z.1).abs() < 1e-14, "{op:?}: {re} {im}");
        }
    }

    #[test]
    fn products_and_quotients_undo() {
        let (a, b) = ((3.0, -2.0), (0.5, 4.0));
        assert_eq!(call(Complex::Multiply, &[a, b]), (9.5, 11.0));
        assert_eq!(call(Complex::Divide, &[(9.5, 11.0), b]), a);
        assert_eq!(call(Complex::Divide, &[(1e300, 1e300), (1e300, 1e300)]), (1.0, 0.0));
        assert_eq!(call(Complex::Pow, &[(0.0, 0.0), (2.0, 1.0)]), (0.0, 0.0));
        let (re, im) = call(Complex::Pow, &[(0.0, 1.0), (2.0, 0.0)]);
        assert!((re + 1.0).abs() < 1e-15 && im.abs() < 1e-15);
    }

    #[test]
    fn signs_of_the_smallest_and_the_largest_numbers_have_all_digits() {
        let half = 0.5_f64.sqrt();
        for size in [5e-324, 1e-310, 1.0, 1e308, f64::MAX] {
            let (re, im) = call(Complex::Sign, &[(size, -size)]);
            assert!((re - half).abs() <= f64::EPSILON && (im + half).abs() <= f64::EPSILON);
        }
        assert_eq!(call(Complex::Sign, &[(0.0, -0.0)]), (0.0, -0.0));
    }

    // C99, Annex G.6.4.2.
    #[test]
    fn roots_of_infinities_are_infinite() {
        let infinity = f64::INFINITY;
        for (z, root) in [
            ((infinity, infinity), (infinity, infinity)),
            ((-2.0, -infinity), (infinity, -infinity)),
            ((infinity, -3.0), (infinity, -0.0)),
            ((-infinity, 3.0), (0.0, infinity)),
        ] {
            assert_eq!(call(Complex::Sqrt, &[z]), root);
            assert_eq!(call(Complex::Rsqrt, &[z]), (0.0, 0.0));
        }
    }
}
