//! The three ways to run an operation: in main memory, on a device, and followed by autodiff.

use crate::op::unsupported;
use crate::{Element, Error, HostTensor, Op, Operation, Result, Spec, Value, with_element};
use burn_autodiff::Autodiff;
use burn_backend::{AutodiffBackend, Backend};
use burn_flex::Flex;

/// Runs operations on values of one kind.
pub trait Executor {
    /// What an operation takes and gives.
    type Value: Clone;

    /// Runs `op`, whose operands are known to fit and to give `out`.
    fn execute(&self, op: &Op, operands: Vec<Self::Value>, out: &Spec) -> Result<Self::Value>;

    /// Whether a scalar is not zero.
    fn is_true(&self, value: &Self::Value) -> Result<bool>;
}

/// Runs operations in main memory.
pub struct OnHost;

impl Executor for OnHost {
    type Value = HostTensor;

    fn execute(&self, op: &Op, operands: Vec<HostTensor>, out: &Spec) -> Result<HostTensor> {
        check_memory(op, out)?;
        op.host(&operands, out)
    }

    fn is_true(&self, value: &HostTensor) -> Result<bool> {
        Ok(with_element!(value.dtype(), T => value.scalar::<T>().truthy()))
    }
}

/// Runs operations on a device of Burn's; those without a kernel for it in main memory.
pub struct OnDevice<B: Backend> {
    /// Where the operands are and the results go.
    pub device: B::Device,
}

impl<B: Backend> Executor for OnDevice<B> {
    type Value = Value<B>;

    fn execute(&self, op: &Op, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        check_memory(op, out)?;
        // What `Operation::infer` let pass is only refused for want of a kernel.
        if let Ok(value) = op.burn(operands.clone(), out) {
            return Ok(value);
        }
        let operands = operands.into_iter().map(|operand| operand.to_host(op.name()));
        let result = op.host(&operands.collect::<Result<Vec<_>>>()?, out)?;
        Ok(Value::from_host(&result, &self.device))
    }

    fn is_true(&self, value: &Value<B>) -> Result<bool> {
        OnHost.is_true(&value.clone().to_host("predicate")?)
    }
}

/// Runs operations on a device of Burn's, recording them for differentiation.
pub struct Recording<B: Backend> {
    /// Where the operands are and the results go.
    pub device: B::Device,
}

/// A value that knows whether what is differentiated flows into it.
#[derive(Debug, Clone)]
pub struct Recorded<B: Backend> {
    /// The value.
    pub value: Value<Autodiff<B>>,
    /// Whether the gradient passes through it.
    pub tracked: bool,
}

impl<B: Backend> Executor for Recording<B> {
    type Value = Recorded<B>;

    fn execute(&self, op: &Op, operands: Vec<Recorded<B>>, out: &Spec) -> Result<Recorded<B>> {
        check_memory(op, out)?;
        let tracked = out.dtype.is_float() && operands.iter().any(|operand| operand.tracked);
        let values: Vec<_> = operands.iter().map(|operand| operand.value.clone()).collect();
        if let Ok(value) = op.burn(values, out) {
            return Ok(Recorded { value, tracked });
        }
        if tracked {
            return Err(unsupported(op.name()));
        }
        let operands = operands.into_iter().map(|operand| operand.value.to_host(op.name()));
        let result = op.host(&operands.collect::<Result<Vec<_>>>()?, out)?;
        Ok(Recorded { value: Value::from_host(&result, &self.device), tracked })
    }

    fn is_true(&self, value: &Recorded<B>) -> Result<bool> {
        OnHost.is_true(&value.value.clone().to_host("predicate")?)
    }
}

impl<B: Backend> Value<Autodiff<B>> {
    /// A value to record operations on; `tracked` ones can be differentiated by.
    pub fn record(value: Value<B>, tracked: bool) -> Self {
        match value {
            Value::Float(tensor) => {
                use burn_backend::ops::FloatTensorOps;
                let tensor = Autodiff::<B>::from_inner(tensor);
                Value::Float(Autodiff::<B>::float_set_require_grad(tensor, tracked))
            }
            Value::Int(tensor) => Value::Int(tensor),
        }
    }

    /// The value without its history.
    pub fn detach(self) -> Value<B> {
        match self {
            Value::Float(tensor) => Value::Float(Autodiff::<B>::inner(tensor)),
            Value::Int(tensor) => Value::Int(tensor),
        }
    }
}

impl From<HostTensor> for Value<Flex> {
    fn from(tensor: HostTensor) -> Self {
        if tensor.dtype().is_float() {
            Value::Float(tensor.into_flex())
        } else {
            Value::Int(tensor.into_flex())
        }
    }
}

impl TryFrom<Value<Flex>> for HostTensor {
    type Error = Error;

    fn try_from(value: Value<Flex>) -> Result<Self> {
        let (Value::Float(tensor) | Value::Int(tensor)) = value;
        HostTensor::from_flex("from_flex", tensor)
    }
}

/// Results beyond this many bytes are asked for before they are computed: an allocation that
/// fails in the middle of a kernel ends the process.
const LARGE: usize = 1 << 26;

fn check_memory(op: &Op, out: &Spec) -> Result<()> {
    let bytes = out.byte_size();
    if bytes >= LARGE && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(Error::new(
            op.name(),
            format!("a result {out} of {bytes} bytes"),
            "a result that fits in memory",
        ));
    }
    Ok(())
}
