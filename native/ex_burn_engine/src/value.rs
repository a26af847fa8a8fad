//! A tensor on one of Burn's backends: the currency of the kernels that run through Burn.

use crate::{DType, Error, HostTensor, Result, Shape, Spec};
use burn_backend::tensor::{BoolTensor, Device, FloatTensor, IntTensor};
use burn_backend::{Backend, BoolDType, Slice, TensorMetadata, read_sync};

/// A float or integer tensor of any rank and type. Truth values are integers, as in Nx.
#[derive(Debug, Clone)]
pub enum Value<B: Backend> {
    /// A tensor of floats.
    Float(FloatTensor<B>),
    /// A tensor of integers.
    Int(IntTensor<B>),
}

/// `$body` with `$tensor` bound to the inner tensor, wrapped again in its own variant.
macro_rules! each {
    ($value:expr, $tensor:ident => $float:expr, $int:expr) => {
        match $value {
            Value::Float($tensor) => Value::Float($float),
            Value::Int($tensor) => Value::Int($int),
        }
    };
}

impl<B: Backend> Value<B> {
    /// Type and shape.
    pub fn spec(&self) -> Spec {
        let (dtype, shape) = match self {
            Value::Float(tensor) => (tensor.dtype(), tensor.shape()),
            Value::Int(tensor) => (tensor.dtype(), tensor.shape()),
        };
        // Every value comes from a `DType` of ours, so the type is always known.
        Spec::new(DType::from_burn(dtype).unwrap_or(DType::F32), shape.to_vec())
    }

    /// The size of every axis.
    pub fn shape(&self) -> Shape {
        self.spec().shape
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.spec().dtype
    }

    /// The device the tensor lives on.
    pub fn device(&self) -> Device<B> {
        match self {
            Value::Float(tensor) => B::float_device(tensor),
            Value::Int(tensor) => B::int_device(tensor),
        }
    }

    /// A truth value per element, as `u8`.
    pub fn from_bool(tensor: BoolTensor<B>) -> Self {
        Value::Int(B::bool_into_int(tensor, burn_backend::IntDType::U8))
    }

    /// Whether each element differs from zero.
    pub fn into_bool(self) -> BoolTensor<B> {
        match self {
            Value::Float(tensor) => B::float_not_equal_elem(tensor, 0.0.into(), BoolDType::Native),
            Value::Int(tensor) => B::int_not_equal_elem(tensor, 0.into(), BoolDType::Native),
        }
    }

    /// The tensor of a float value.
    pub fn into_float(self, op: &str) -> Result<FloatTensor<B>> {
        match self {
            Value::Float(tensor) => Ok(tensor),
            Value::Int(_) => Err(Error::new(op, self.spec(), "a float tensor")),
        }
    }

    /// The tensor of an integer value.
    pub fn into_int(self, op: &str) -> Result<IntTensor<B>> {
        match self {
            Value::Int(tensor) => Ok(tensor),
            Value::Float(_) => Err(Error::new(op, self.spec(), "an integer tensor")),
        }
    }

    /// The elements as another type.
    pub fn cast(self, dtype: DType) -> Self {
        if self.dtype() == dtype {
            return self;
        }
        match (self, dtype.float(), dtype.integer()) {
            (Value::Float(tensor), Some(float), _) => Value::Float(B::float_cast(tensor, float)),
            (Value::Int(tensor), Some(float), _) => Value::Float(B::int_into_float(tensor, float)),
            (Value::Float(tensor), _, Some(int)) => Value::Int(B::float_into_int(tensor, int)),
            (Value::Int(tensor), _, Some(int)) => Value::Int(B::int_cast(tensor, int)),
            (value, None, None) => value,
        }
    }

    /// The same elements under another shape of the same size.
    pub fn reshape(self, shape: &[usize]) -> Self {
        if self.shape() == shape {
            return self;
        }
        let shape: burn_backend::Shape = shape.to_vec().into();
        each!(self, tensor => B::float_reshape(tensor, shape), B::int_reshape(tensor, shape))
    }

    /// The axes in another order.
    pub fn permute(self, axes: &[usize]) -> Self {
        if axes.iter().copied().eq(0..axes.len()) {
            return self;
        }
        each!(self, tensor => B::float_permute(tensor, axes), B::int_permute(tensor, axes))
    }

    /// The tensor stretched to a shape it broadcasts to.
    pub fn broadcast(self, shape: &[usize]) -> Self {
        let own = self.shape();
        if own == shape {
            return self;
        }
        let mut aligned = vec![1; shape.len() - own.len()];
        aligned.extend(own);
        let value = self.reshape(&aligned);
        let shape: burn_backend::Shape = shape.to_vec().into();
        each!(value, tensor => B::float_expand(tensor, shape), B::int_expand(tensor, shape))
    }

    /// The elements in reverse order along `axes`.
    pub fn flip(self, axes: &[usize]) -> Self {
        each!(self, tensor => B::float_flip(tensor, axes), B::int_flip(tensor, axes))
    }

    /// The elements within one range per axis, a step apart.
    pub fn slice(self, ranges: &[Slice]) -> Self {
        each!(self, tensor => B::float_slice(tensor, ranges), B::int_slice(tensor, ranges))
    }

    /// The tensor with the elements within one range per axis replaced; both must be of one type.
    pub fn slice_assign(self, op: &str, ranges: &[Slice], source: Self) -> Result<Self> {
        Ok(match self {
            Value::Float(tensor) => {
                Value::Float(B::float_slice_assign(tensor, ranges, source.into_float(op)?))
            }
            Value::Int(tensor) => {
                Value::Int(B::int_slice_assign(tensor, ranges, source.into_int(op)?))
            }
        })
    }

    /// The parts at indices of `axis`.
    pub fn select(self, axis: usize, indices: IntTensor<B>) -> Self {
        each!(self, tensor => B::float_select(tensor, axis, indices), B::int_select(tensor, axis, indices))
    }

    /// Tensors of one type, one after the other along `axis`.
    pub fn concatenate(op: &str, values: Vec<Self>, axis: usize) -> Result<Self> {
        if let Some(Value::Int(_)) = values.first() {
            let tensors = values.into_iter().map(|value| value.into_int(op));
            return Ok(Value::Int(B::int_cat(tensors.collect::<Result<_>>()?, axis)));
        }
        let tensors = values.into_iter().map(|value| value.into_float(op));
        Ok(Value::Float(B::float_cat(tensors.collect::<Result<_>>()?, axis)))
    }

    /// `source` where `mask` holds, else the tensor; all of one shape and type.
    pub fn mask_where(self, op: &str, mask: BoolTensor<B>, source: Self) -> Result<Self> {
        Ok(match self {
            Value::Float(tensor) => {
                Value::Float(B::float_mask_where(tensor, mask, source.into_float(op)?))
            }
            Value::Int(tensor) => Value::Int(B::int_mask_where(tensor, mask, source.into_int(op)?)),
        })
    }

    /// The elements copied to the host.
    pub fn to_host(self, op: &str) -> Result<HostTensor> {
        let spec = self.spec();
        let data = match self {
            Value::Float(tensor) => read_sync(B::float_into_data(tensor)),
            Value::Int(tensor) => read_sync(B::int_into_data(tensor)),
        };
        let data = data.map_err(|error| {
            Error::new(op, format!("a device that answered {error:?}"), "its elements")
        })?;
        HostTensor::from_bytes(op, data.as_bytes(), &spec)
    }

    /// A host tensor copied to `device`.
    pub fn from_host(tensor: &HostTensor, device: &Device<B>) -> Self {
        let data = burn_backend::TensorData::from_bytes_vec(
            tensor.to_bytes().into_owned(),
            tensor.shape().to_vec(),
            tensor.dtype().to_burn(),
        );
        if tensor.dtype().is_float() {
            Value::Float(B::float_from_data(data, device))
        } else {
            Value::Int(B::int_from_data(data, device))
        }
    }
}
