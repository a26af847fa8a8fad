//! What the kernels' tests share: both paths of an operation, and its gradient.

use crate::{DType, Element, HostTensor, Op, Operation, Spec, Value, shape};
use burn_autodiff::Autodiff;
use burn_backend::ops::FloatTensorOps;
use burn_backend::{AutodiffBackend, Backend};
use burn_flex::Flex;

/// The result on the host.
pub fn host(op: impl Into<Op>, operands: &[HostTensor], dtype: DType) -> HostTensor {
    let op = op.into();
    let out = op.infer(operands.iter().map(HostTensor::spec).collect::<Vec<_>>().as_slice(), dtype);
    let out = out.unwrap_or_else(|error| panic!("{error}"));
    let result = op.host(operands, &out).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.spec(), out);
    result
}

/// The result through Burn, on backend `B`'s default device.
pub fn burn<B: Backend>(op: impl Into<Op>, operands: &[HostTensor], dtype: DType) -> Value<B> {
    let op = op.into();
    let specs: Vec<Spec> = operands.iter().map(HostTensor::spec).collect();
    let out = op.infer(&specs, dtype).unwrap_or_else(|error| panic!("{error}"));
    let device = Default::default();
    let operands = operands.iter().map(|tensor| Value::from_host(tensor, &device)).collect();
    let result = op.burn::<B>(operands, &out).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(result.spec(), out);
    result
}

/// Refuses a path through Burn that differs from the host's by more than `tolerance`, relative to
/// values above 1. Returns the host's result.
pub fn check_burn(
    op: impl Into<Op>,
    operands: &[HostTensor],
    dtype: DType,
    tolerance: f64,
) -> HostTensor {
    let op = op.into();
    let host = host(op.clone(), operands, dtype);
    let burn = burn::<Flex>(op.clone(), operands, dtype).to_host("test").unwrap();
    close(&host, &burn, tolerance, &format!("{op:?} through Burn"));
    host
}

/// Refuses gradients of `sum(op(operands) * weights)` that differ from central differences.
///
/// All float operands must be `f64` and are differentiated; the others are held fixed.
pub fn check_gradient(op: impl Into<Op>, operands: &[HostTensor]) {
    type B = Autodiff<Flex>;
    let op = op.into();
    let specs: Vec<Spec> = operands.iter().map(HostTensor::spec).collect();
    let out = op.infer(&specs, DType::F64).unwrap_or_else(|error| panic!("{error}"));
    let weights: Vec<f64> = (0..out.size()).map(|at| 0.5 + (at as f64 * 0.7).sin()).collect();
    let objective = |operands: &[HostTensor]| -> f64 {
        let result = op.host(operands, &out).unwrap();
        result.elements::<f64>().iter().zip(&weights).map(|(value, weight)| value * weight).sum()
    };

    let device = Default::default();
    let leaves: Vec<Value<B>> = operands
        .iter()
        .map(|tensor| match Value::<B>::from_host(tensor, &device) {
            Value::Float(leaf) => Value::Float(B::float_set_require_grad(leaf, true)),
            integer => integer,
        })
        .collect();
    let result = op.burn::<B>(leaves.clone(), &out).unwrap_or_else(|error| panic!("{error}"));
    let weight = HostTensor::from_vec(weights.clone(), &out.shape);
    let weight = Value::<B>::from_host(&weight, &device).into_float("test").unwrap();
    let weighted = B::float_mul(result.into_float("test").unwrap(), weight);
    // Burn's sum has no gradient for a scalar.
    let weighted = B::float_reshape(weighted, [out.size()].into());
    let gradients = B::backward(B::float_sum(weighted));

    for (index, leaf) in leaves.iter().enumerate() {
        let Value::Float(leaf) = leaf else { continue };
        // A tensor that the result doesn't depend on has none.
        let gradient = match B::grad(leaf, &gradients) {
            Some(gradient) => Value::<Flex>::Float(gradient).to_host("test").unwrap(),
            None => HostTensor::filled(&specs[index], 0.0),
        };
        let elements = operands[index].elements::<f64>().into_owned();
        let numerical = (0..elements.len())
            .map(|at| {
                let shifted = |by: f64| {
                    let mut elements = elements.clone();
                    elements[at] += by;
                    let mut operands = operands.to_vec();
                    operands[index] = HostTensor::from_vec(elements, &specs[index].shape);
                    objective(&operands)
                };
                (shifted(1e-5) - shifted(-1e-5)) / 2e-5
            })
            .collect();
        let numerical = HostTensor::from_vec(numerical, &specs[index].shape);
        close(&numerical, &gradient, 1e-6, &format!("the gradient of {op:?} by operand {index}"));
    }
}

/// Panics unless both tensors agree within `tolerance`, relative to values above 1.
pub fn close(expected: &HostTensor, given: &HostTensor, tolerance: f64, what: &str) {
    assert_eq!(expected.spec(), given.spec(), "{what}");
    let (left, right) = (expected.cast(DType::F64), given.cast(DType::F64));
    for (at, (&l, &r)) in
        left.elements::<f64>().iter().zip(right.elements::<f64>().iter()).enumerate()
    {
        let same = l == r || (l.is_nan() && r.is_nan());
        assert!(
            same || (l.is_finite() && (l - r).abs() <= tolerance * l.abs().max(1.0)),
            "{what}: element {at} is {r}, expected {l}"
        );
    }
}

/// The elements, row-major.
pub fn values<T: Element>(tensor: &HostTensor) -> Vec<T> {
    tensor.elements::<T>().into_owned()
}

/// Every position's number, row-major.
pub fn iota(shape: &[usize]) -> HostTensor {
    HostTensor::from_vec((0..shape::size(shape) as i32).collect(), shape)
}

/// Floats between -1 and 1, no two alike.
pub fn floats(shape: &[usize]) -> HostTensor {
    let values = (0..shape::size(shape)).map(|at| (at as f64 * 1.3).sin());
    HostTensor::from_vec(values.collect(), shape)
}
