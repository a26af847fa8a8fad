//! The one closed set of operations.
//!
//! Each family lives in one file of [`crate::kernels`]: its attributes, the
//! rule for its result, and what it computes on the host and through Burn.
//! Eager calls and whole programs both go through [`Op`].

use crate::kernels::*;
use crate::{DType, Error, HostTensor, Result, Spec, Value, ensure};
use burn_backend::Backend;
use serde::Deserialize;

/// What every family of operations answers.
pub trait Operation {
    /// The operation's name, as it appears in errors.
    fn name(&self) -> &'static str;

    /// The type and shape of the result, or why the operands are refused.
    ///
    /// `dtype` is the type the caller wants the result in. Whatever passes
    /// here must not fail in the kernels for a reason found in the specs.
    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec>;

    /// About how many elementary steps the result takes.
    fn work(&self, operands: &[Spec], out: &Spec) -> usize {
        operands.iter().fold(out.size(), |work, operand| work.saturating_add(operand.size()))
    }

    /// Computes the result in main memory.
    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor>;

    /// Computes the result through Burn, on any device; differentiable where Burn's backend is.
    ///
    /// Without one, devices other than the CPU compute the operation in main
    /// memory, and differentiating through it is refused.
    fn burn<B: Backend>(&self, _operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        Err(unsupported(self.name()))
    }
}

/// The error of an operation that has no kernel for Burn's devices.
pub fn unsupported(name: &str) -> Error {
    Error::new(name, "a device or a differentiation that has no kernel for it", "the CPU")
}

macro_rules! operations {
    ($($(#[$doc:meta])* $family:ident,)*) => {
        /// An operation with its attributes.
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Op {
            $($(#[$doc])* $family($family),)*
        }

        impl Operation for Op {
            fn name(&self) -> &'static str {
                match self { $(Op::$family(op) => op.name(),)* }
            }

            fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
                let native = |operand: &Spec| operand.dtype.is_native();
                let spec = if dtype.is_native() && operands.iter().all(native) {
                    self.infer_native(operands, dtype)?
                } else {
                    crate::lower::infer(self, operands, dtype)?
                };
                crate::shape::check(self.name(), &spec.shape, spec.dtype.size())?;
                Ok(spec)
            }

            fn work(&self, operands: &[Spec], out: &Spec) -> usize {
                match self { $(Op::$family(op) => op.work(operands, out),)* }
            }

            fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
                match self { $(Op::$family(op) => op.host(operands, out),)* }
            }

            fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
                match self { $(Op::$family(op) => op.burn(operands, out),)* }
            }
        }

        impl Op {
            /// As [`Operation::infer`], of native types alone.
            pub(crate) fn infer_native(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
                match self { $(Op::$family(op) => op.infer(operands, dtype),)* }
            }
        }

        $(impl From<$family> for Op {
            fn from(op: $family) -> Self {
                Op::$family(op)
            }
        })*
    };
}

operations! {
    /// A function of one tensor, element by element.
    Unary,
    /// A function of two tensors, element by element.
    Binary,
    /// Conversion of the elements.
    Convert,
    /// A choice between tensors, element by element.
    Choose,
    /// One value everywhere.
    Constant,
    /// Positions along an axis.
    Iota,
    /// The identity matrix.
    Eye,
    /// Another shape of the same size.
    Reshape,
    /// The axes in another order.
    Transpose,
    /// Axes stretched and added.
    Broadcast,
    /// Elements in reverse order.
    Reverse,
    /// A value put around and between the elements.
    Pad,
    /// Tensors one after the other along an axis.
    Concatenate,
    /// Tensors side by side along a new axis.
    Stack,
    /// A box of a tensor.
    Slice,
    /// A box of a tensor that begins at operands.
    DynamicSlice,
    /// A tensor with a box of it replaced.
    PutSlice,
    /// A tensor with a box of it replaced that begins at operands.
    DynamicPutSlice,
    /// Parts of a tensor at coordinates.
    Gather,
    /// Parts of a tensor at indices of an axis.
    Take,
    /// One element per index.
    TakeAlongAxis,
    /// A tensor with updates at coordinates.
    Indexed,
    /// A tensor reduced along axes.
    Reduce,
    /// The position of an extreme along an axis.
    ArgReduce,
    /// The elements under a window that moves over a tensor, combined.
    Window,
    /// Values added where windows have their extremes.
    WindowScatter,
    /// The elements along an axis in order.
    Sort,
    /// The positions that put the elements along an axis in order.
    Argsort,
    /// Every element along an axis combined with those before it.
    Cumulative,
    /// A sum of products over contracted axes.
    Dot,
    /// A convolution.
    Conv,
    /// A discrete Fourier transform.
    Fourier,
    /// A function of matrices in parts.
    Linalg,
    /// A part of a complex number.
    Part,
    /// A function of complex numbers in parts.
    Complex,
    /// A conversion between a narrow type and the native ones behind it.
    Narrow,
}

/// Refuses a result of another type than `operand`'s, for operations that keep it.
pub fn check_kept(name: &str, operand: &Spec, dtype: DType) -> Result<()> {
    ensure!(dtype == operand.dtype, name, format!("{operand} to {dtype}"), operand.dtype);
    Ok(())
}

/// The operands of an operation that takes exactly `N`.
pub fn take<'a, T, const N: usize>(name: &str, operands: &'a [T]) -> Result<&'a [T; N]> {
    operands.try_into().map_err(|_| wrong_count(name, operands.len(), N))
}

/// As [`take`], of operands that are the operation's own.
pub fn take_owned<T, const N: usize>(name: &str, operands: Vec<T>) -> Result<[T; N]> {
    operands.try_into().map_err(|operands: Vec<T>| wrong_count(name, operands.len(), N))
}

fn wrong_count(name: &str, given: usize, expected: usize) -> Error {
    Error::new(name, format!("{given} operands"), format!("{expected} operands"))
}
