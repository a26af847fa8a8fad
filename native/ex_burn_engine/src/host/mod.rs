//! Tensors in main memory, held by Burn's CPU tensor so that its kernels take them without a copy.

pub mod conv;
pub mod elementwise;
pub mod matmul;
pub mod parallel;

use crate::{DType, Element, Error, Result, Shape, Spec, ensure, shape, with_element};
use burn_backend::Bytes;
use burn_flex::{FlexTensor, Layout};
use std::borrow::Cow;

/// A tensor in main memory: shared storage under a strided view.
#[derive(Debug, Clone)]
pub struct HostTensor {
    flex: FlexTensor,
    dtype: DType,
}

impl HostTensor {
    /// A tensor over `elements`, row-major.
    ///
    /// The number of elements must be that of the shape.
    pub fn from_vec<T: Element>(elements: Vec<T>, shape: &[usize]) -> Self {
        debug_assert_eq!(elements.len(), shape::size(shape));
        let layout = Layout::contiguous(shape.to_vec().into());
        Self {
            flex: FlexTensor::new(Bytes::from_elems(elements), layout, T::DTYPE.to_burn()),
            dtype: T::DTYPE,
        }
    }

    /// A tensor read from its elements' bytes in native order.
    pub fn from_bytes(op: &str, bytes: &[u8], spec: &Spec) -> Result<Self> {
        shape::check(op, &spec.shape, spec.dtype.size())?;
        ensure!(
            bytes.len() == spec.byte_size(),
            op,
            format!("{} bytes", bytes.len()),
            format!("{} bytes for {spec}", spec.byte_size())
        );
        Ok(with_element!(spec.dtype, T => {
            Self::from_vec::<T>(bytemuck::pod_collect_to_vec(bytes), &spec.shape)
        }))
    }

    /// A tensor of one value.
    pub fn filled(spec: &Spec, value: f64) -> Self {
        with_element!(spec.dtype, T => {
            Self::from_vec(vec![T::from_f64(value); spec.size()], &spec.shape)
        })
    }

    /// Wraps a tensor of Burn's CPU backend.
    pub fn from_flex(op: &str, flex: FlexTensor) -> Result<Self> {
        let dtype = DType::from_burn(flex.dtype()).ok_or_else(|| {
            Error::new(op, format!("a tensor of {}", flex.dtype().name()), "a type of the engine")
        })?;
        Ok(Self { flex, dtype })
    }

    /// The tensor for Burn's CPU backend.
    pub fn into_flex(self) -> FlexTensor {
        self.flex
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of every axis.
    pub fn shape(&self) -> &[usize] {
        self.flex.layout().shape()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        shape::size(self.shape())
    }

    /// Type and shape.
    pub fn spec(&self) -> Spec {
        Spec::new(self.dtype, self.shape().to_vec())
    }

    /// The distance between neighbours along every axis, in elements.
    pub fn strides(&self) -> &[isize] {
        self.flex.layout().strides()
    }

    /// Where the first element lies in [`HostTensor::storage`].
    pub fn offset(&self) -> usize {
        self.flex.layout().start_offset()
    }

    /// Everything the view may look at; its elements lie at the offset and strides.
    ///
    /// `T` must be the tensor's type.
    pub fn storage<T: Element>(&self) -> &[T] {
        debug_assert_eq!(T::DTYPE, self.dtype);
        bytemuck::cast_slice(self.flex.bytes())
    }

    /// Bytes of everything the view may look at.
    pub fn storage_size(&self) -> usize {
        self.flex.bytes().len()
    }

    /// The first `limit` elements in row-major order, as a vector; all of them without a limit.
    pub fn first(&self, limit: Option<usize>) -> Result<Self> {
        let limit = match limit {
            Some(limit) if limit < self.size() => limit,
            _ => return Ok(self.clone()),
        };
        ensure!(limit > 0, "first", "a limit of 0", "at least 1 element");
        // Whole slices of the outermost axis, so that no more is copied than is asked for.
        let mut tensor = self.clone();
        while let Some(&length) = tensor.shape().first() {
            let slice: usize = tensor.shape()[1..].iter().product();
            let mut shape = tensor.shape().to_vec();
            shape[0] = limit.div_ceil(slice).min(length);
            tensor = tensor.view(shape, tensor.strides().to_vec(), tensor.offset());
            if tensor.shape()[0] > 1 || tensor.rank() == 1 {
                break;
            }
            tensor = tensor.view(
                tensor.shape()[1..].to_vec(),
                tensor.strides()[1..].to_vec(),
                tensor.offset(),
            );
        }
        let vector = tensor.reshape(&[tensor.size()]);
        Ok(vector.view(vec![limit], vector.strides().to_vec(), vector.offset()))
    }

    /// The elements in row-major order, copied only where the view is not contiguous.
    #[inline(never)]
    pub fn elements<T: Element>(&self) -> Cow<'_, [T]> {
        match self.flex.layout().contiguous_offsets() {
            Some((start, end)) => Cow::Borrowed(&self.storage()[start..end]),
            None => Cow::Owned(elementwise::map(self, |value: T| value)),
        }
    }

    /// The only element of a tensor that holds one.
    pub fn scalar<T: Element>(&self) -> T {
        self.storage()[self.offset()]
    }

    /// The elements' bytes in row-major order and native byte order.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        with_element!(self.dtype, T => match self.elements::<T>() {
            Cow::Borrowed(elements) => Cow::Borrowed(bytemuck::cast_slice(elements)),
            Cow::Owned(elements) => Cow::Owned(bytemuck::pod_collect_to_vec(&elements)),
        })
    }

    /// The elements as another type; the tensor itself where it has it already.
    pub fn cast(&self, dtype: DType) -> Self {
        if dtype == self.dtype {
            return self.clone();
        }
        with_element!(self.dtype, From => with_element!(dtype, To => {
            Self::from_vec(elementwise::map(self, From::cast::<To>), self.shape())
        }))
    }

    /// A `u8` that is zero where the element is; the tensor itself where it has that type.
    pub fn truth(&self) -> Self {
        if self.dtype == DType::U8 {
            return self.clone();
        }
        with_element!(self.dtype, T => {
            Self::from_vec(elementwise::map(self, |x: T| u8::from(x.truthy())), self.shape())
        })
    }

    /// The same elements seen through another view of the storage.
    pub fn view(&self, shape: Shape, strides: Vec<isize>, offset: usize) -> Self {
        let layout = Layout::new(shape.into(), strides, offset);
        Self { flex: self.flex.clone().with_layout(layout), dtype: self.dtype }
    }

    /// The same elements under another shape of the same size, copied only where the view needs it.
    pub fn reshape(&self, shape: &[usize]) -> Self {
        Self { flex: self.flex.reshape(shape.to_vec().into()), dtype: self.dtype }
    }

    /// The axes in another order; nothing is copied.
    pub fn transpose(&self, axes: &[usize]) -> Self {
        let shape = axes.iter().map(|&axis| self.shape()[axis]).collect();
        let strides = axes.iter().map(|&axis| self.strides()[axis]).collect();
        self.view(shape, strides, self.offset())
    }

    /// The tensor stretched to a shape it broadcasts to; nothing is copied.
    pub fn broadcast(&self, shape: &[usize]) -> Self {
        let new = shape.len() - self.rank();
        let strides = (0..shape.len())
            .map(|axis| match axis.checked_sub(new) {
                Some(own) if self.shape()[own] == shape[axis] => self.strides()[own],
                _ => 0,
            })
            .collect();
        self.view(shape.to_vec(), strides, self.offset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_share_storage_and_read_in_order() {
        let tensor = HostTensor::from_vec(vec![0_i32, 1, 2, 3, 4, 5], &[2, 3]);
        let transposed = tensor.transpose(&[1, 0]);
        assert_eq!(transposed.shape(), [3, 2]);
        assert_eq!(transposed.elements::<i32>().as_ref(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(transposed.reshape(&[6]).elements::<i32>().as_ref(), [0, 3, 1, 4, 2, 5]);
        let row = HostTensor::from_vec(vec![7_u8, 8], &[2]).broadcast(&[2, 2]);
        assert_eq!(row.elements::<u8>().as_ref(), [7, 8, 7, 8]);
    }

    #[test]
    fn reads_the_first_elements_only() {
        let tensor = HostTensor::from_vec((0_u8..24).collect(), &[4, 3, 2]).transpose(&[2, 1, 0]);
        let all = tensor.elements::<u8>().into_owned();
        for limit in 1..=24 {
            let first = tensor.first(Some(limit)).unwrap();
            assert_eq!(first.elements::<u8>().as_ref(), &all[..limit]);
        }
        assert_eq!(tensor.first(None).unwrap().size(), 24);
        assert!(tensor.first(Some(0)).is_err());
    }

    #[test]
    fn refuses_bytes_of_another_length() {
        let spec = Spec::new(DType::F32, vec![2]);
        let error = HostTensor::from_bytes("from_binary", &[0; 7], &spec).unwrap_err();
        assert_eq!(error.expected, "8 bytes for f32 {2}");
        assert!(
            HostTensor::from_bytes("from_binary", &[], &Spec::new(DType::F32, vec![0])).is_err()
        );
    }
}
