//! Reading and writing a box of a tensor.

use crate::op::{Operation, check_kept, take, take_owned};
use crate::{DType, Element, Error, HostTensor, Result, Spec, Value, ensure, shape};
use crate::{with_element, with_integer};
use burn_backend::{Backend, Slice as Range};
use serde::Deserialize;

/// A box of a tensor, as `Nx.slice` with static starts.
///
/// `lengths` are those before striding: axis `i` of the result has
/// `ceil(lengths[i] / strides[i])` elements. A start from which the box would
/// reach past the end of the axis is moved back until it fits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Slice {
    /// The first index of every axis.
    pub starts: Vec<usize>,
    /// The extent along every axis.
    pub lengths: Vec<usize>,
    /// The step along every axis.
    pub strides: Vec<usize>,
}

/// As [`Slice`], with the starts as operands: the tensor, then one integer scalar per axis.
///
/// Starts are clamped so that the box fits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DynamicSlice {
    /// The extent along every axis.
    pub lengths: Vec<usize>,
    /// The step along every axis.
    pub strides: Vec<usize>,
}

/// The first operand with the second written over it, as `Nx.put_slice` with static starts.
///
/// A start from which the slice would reach past the end of the axis is moved
/// back until it fits. Both operands are cast to the type of the result.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PutSlice {
    /// The index of every axis at which the slice begins.
    pub starts: Vec<usize>,
}

/// As [`PutSlice`], with the starts as further operands, one integer scalar per axis.
///
/// Starts are clamped so that the slice fits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct DynamicPutSlice {}

const SLICE: &str = "slice";
const PUT_SLICE: &str = "put_slice";

impl Operation for Slice {
    fn name(&self) -> &'static str {
        SLICE
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [tensor] = take(SLICE, operands)?;
        check_rank(SLICE, "starts", self.starts.len(), tensor)?;
        sliced(tensor, &self.lengths, &self.strides, dtype)
    }

    fn work(&self, _operands: &[Spec], _out: &Spec) -> usize {
        1
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [tensor] = take(SLICE, operands)?;
        let starts = fit(&self.starts, tensor.shape(), &self.lengths);
        Ok(view(tensor, &starts, &self.strides, out))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let [tensor] = take_owned(SLICE, operands)?;
        let starts = fit(&self.starts, &tensor.shape(), &self.lengths);
        Ok(burn_slice(tensor, &starts, &self.lengths, &self.strides))
    }
}

impl Operation for DynamicSlice {
    fn name(&self) -> &'static str {
        SLICE
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let (tensor, starts) = split::<Spec, 1>(SLICE, operands)?;
        check_starts(SLICE, &tensor[0], starts)?;
        sliced(&tensor[0], &self.lengths, &self.strides, dtype)
    }

    fn work(&self, _operands: &[Spec], _out: &Spec) -> usize {
        1
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let ([tensor], starts) = split::<HostTensor, 1>(SLICE, operands)?;
        let starts = fit(&read(starts), tensor.shape(), &self.lengths);
        Ok(view(tensor, &starts, &self.strides, out))
    }

    fn burn<B: Backend>(&self, mut operands: Vec<Value<B>>, _out: &Spec) -> Result<Value<B>> {
        let starts = operands.split_off(Ord::min(1, operands.len()));
        let [tensor] = take_owned(SLICE, operands)?;
        let starts = fit(&read_burn(SLICE, starts)?, &tensor.shape(), &self.lengths);
        Ok(burn_slice(tensor, &starts, &self.lengths, &self.strides))
    }
}

impl Operation for PutSlice {
    fn name(&self) -> &'static str {
        PUT_SLICE
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let [tensor, slice] = take(PUT_SLICE, operands)?;
        check_rank(PUT_SLICE, "starts", self.starts.len(), tensor)?;
        put(tensor, slice, dtype)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [tensor, slice] = take(PUT_SLICE, operands)?;
        Ok(write(tensor, slice, &fit(&self.starts, &out.shape, slice.shape()), out))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let [tensor, slice] = take_owned(PUT_SLICE, operands)?;
        let starts = fit(&self.starts, &out.shape, &slice.shape());
        burn_put_slice(tensor, slice, &starts, out)
    }
}

impl Operation for DynamicPutSlice {
    fn name(&self) -> &'static str {
        PUT_SLICE
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let ([tensor, slice], starts) = split::<Spec, 2>(PUT_SLICE, operands)?;
        check_starts(PUT_SLICE, tensor, starts)?;
        put(tensor, slice, dtype)
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let ([tensor, slice], starts) = split::<HostTensor, 2>(PUT_SLICE, operands)?;
        Ok(write(tensor, slice, &fit(&read(starts), &out.shape, slice.shape()), out))
    }

    fn burn<B: Backend>(&self, mut operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let starts = operands.split_off(Ord::min(2, operands.len()));
        let [tensor, slice] = take_owned(PUT_SLICE, operands)?;
        let starts = fit(&read_burn(PUT_SLICE, starts)?, &out.shape, &slice.shape());
        burn_put_slice(tensor, slice, &starts, out)
    }
}

/// The first `N` operands, and the rest.
fn split<'a, T, const N: usize>(op: &str, operands: &'a [T]) -> Result<(&'a [T; N], &'a [T])> {
    operands.split_first_chunk().ok_or_else(|| {
        Error::new(op, format!("{} operands", operands.len()), format!("at least {N} operands"))
    })
}

fn check_rank(op: &str, what: &str, given: usize, tensor: &Spec) -> Result<()> {
    ensure!(
        given == tensor.rank(),
        op,
        format!("{given} {what}"),
        format!("{} {what}, one for every axis of {tensor}", tensor.rank())
    );
    Ok(())
}

fn check_starts(op: &str, tensor: &Spec, starts: &[Spec]) -> Result<()> {
    check_rank(op, "starts", starts.len(), tensor)?;
    for start in starts {
        ensure!(
            start.dtype.is_integer() && start.rank() == 0,
            op,
            format!("start {start}"),
            "integer scalars as starts"
        );
    }
    Ok(())
}

/// The result of slicing `tensor`.
fn sliced(tensor: &Spec, lengths: &[usize], strides: &[usize], dtype: DType) -> Result<Spec> {
    check_rank(SLICE, "lengths", lengths.len(), tensor)?;
    check_rank(SLICE, "strides", strides.len(), tensor)?;
    check_kept(SLICE, tensor, dtype)?;
    for (axis, (&length, &size)) in lengths.iter().zip(&tensor.shape).enumerate() {
        ensure!(
            (1..=size).contains(&length),
            SLICE,
            format!("length {length} of axis {axis}"),
            format!("a length from 1 to {size}")
        );
        ensure!(
            strides[axis] >= 1,
            SLICE,
            format!("stride {} of axis {axis}", strides[axis]),
            "a stride of at least 1"
        );
    }
    let shape = lengths.iter().zip(strides).map(|(length, &stride)| length.div_ceil(stride));
    Ok(Spec::new(dtype, shape.collect::<Vec<_>>()))
}

/// The result of writing `slice` into `tensor`.
fn put(tensor: &Spec, slice: &Spec, dtype: DType) -> Result<Spec> {
    ensure!(
        slice.rank() == tensor.rank() && slice.shape.iter().zip(&tensor.shape).all(|(s, t)| s <= t),
        PUT_SLICE,
        format!("a slice {slice}"),
        format!("a slice of the tensor's rank that fits in {tensor}")
    );
    Ok(Spec::new(dtype, tensor.shape.clone()))
}

/// The starts, moved back where a box of `lengths` would not fit in `shape`.
fn fit(starts: &[usize], shape: &[usize], lengths: &[usize]) -> Vec<usize> {
    let last = shape.iter().zip(lengths).map(|(size, length)| size - length);
    starts.iter().zip(last).map(|(&start, last)| start.min(last)).collect()
}

/// The values of scalar starts, negative ones as 0.
fn read(starts: &[HostTensor]) -> Vec<usize> {
    starts
        .iter()
        .map(|start| {
            with_integer!(start.dtype(), T => {
                let start = Ord::max(start.scalar::<T>(), T::ZERO);
                usize::try_from(start.cast::<u64>()).unwrap_or(usize::MAX)
            }, else 0)
        })
        .collect()
}

fn read_burn<B: Backend>(op: &str, starts: Vec<Value<B>>) -> Result<Vec<usize>> {
    let starts: Result<Vec<_>> = starts.into_iter().map(|start| start.to_host(op)).collect();
    Ok(read(&starts?))
}

/// The part of the storage that a slice looks at; nothing is copied.
fn view(tensor: &HostTensor, starts: &[usize], steps: &[usize], out: &Spec) -> HostTensor {
    let offset =
        starts.iter().zip(tensor.strides()).map(|(&start, stride)| start as isize * stride);
    let offset = tensor.offset() as isize + offset.sum::<isize>();
    let strides = tensor
        .strides()
        .iter()
        .zip(steps)
        .zip(&out.shape)
        // An axis of one element never steps, and its step may be too large to multiply with.
        .map(|((&stride, &step), &size)| if size == 1 { stride } else { stride * step as isize })
        .collect();
    tensor.view(out.shape.clone(), strides, offset as usize)
}

/// `tensor` with `slice` written over it at `starts`.
fn write(tensor: &HostTensor, slice: &HostTensor, starts: &[usize], out: &Spec) -> HostTensor {
    // Inner axes that the slice covers whole make one stretch with the next axis.
    let shape = slice.shape();
    let mut outer = shape.len().saturating_sub(1);
    while outer > 0 && shape[outer] == out.shape[outer] {
        outer -= 1;
    }
    let stretch = shape::size(&shape[outer..]);
    let strides = shape::strides(&out.shape);
    let first: usize =
        starts.iter().zip(&strides).map(|(start, &stride)| start * stride as usize).sum();
    let (slice, tensor) = (slice.cast(out.dtype), tensor.cast(out.dtype));
    with_element!(out.dtype, T => {
        let mut elements = tensor.elements::<T>().into_owned();
        let mut index = vec![0; outer];
        let mut at = first;
        for values in slice.elements::<T>().chunks_exact(stretch) {
            elements[at..at + stretch].copy_from_slice(values);
            for axis in (0..outer).rev() {
                let stride = strides[axis] as usize;
                index[axis] += 1;
                if index[axis] < shape[axis] {
                    at += stride;
                    break;
                }
                at -= (index[axis] - 1) * stride;
                index[axis] = 0;
            }
        }
        HostTensor::from_vec(elements, &out.shape)
    })
}

/// The box through Burn; `steps` past the length never step.
fn boxed(starts: &[usize], lengths: &[usize], steps: impl Fn(usize) -> usize) -> Vec<Range> {
    (0..starts.len())
        .map(|axis| {
            let (start, length) = (starts[axis] as isize, lengths[axis] as isize);
            let step = steps(axis).min(lengths[axis]) as isize;
            Range::new(start, Some(start + length), step)
        })
        .collect()
}

fn burn_slice<B: Backend>(
    tensor: Value<B>,
    starts: &[usize],
    lengths: &[usize],
    strides: &[usize],
) -> Value<B> {
    if starts.is_empty() {
        return tensor;
    }
    tensor.slice(&boxed(starts, lengths, |axis| strides[axis]))
}

fn burn_put_slice<B: Backend>(
    tensor: Value<B>,
    slice: Value<B>,
    starts: &[usize],
    out: &Spec,
) -> Result<Value<B>> {
    let (tensor, slice) = (tensor.cast(out.dtype), slice.cast(out.dtype));
    // Burn writes into axes, and a scalar has none.
    let (tensor, slice, starts) = if starts.is_empty() {
        (tensor.reshape(&[1]), slice.reshape(&[1]), &[0][..])
    } else {
        (tensor, slice, starts)
    };
    let ranges = boxed(starts, &slice.shape(), |_| 1);
    Ok(tensor.slice_assign(PUT_SLICE, &ranges, slice)?.reshape(&out.shape))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, floats, host, iota};

    fn slice(starts: &[usize], lengths: &[usize], strides: &[usize]) -> Slice {
        let [starts, lengths, strides] = [starts, lengths, strides].map(<[usize]>::to_vec);
        Slice { starts, lengths, strides }
    }

    fn scalars(starts: &[i64]) -> Vec<HostTensor> {
        starts.iter().map(|&start| HostTensor::from_vec(vec![start], &[])).collect()
    }

    fn with_starts(operands: &[HostTensor], starts: &[i64]) -> Vec<HostTensor> {
        [operands.to_vec(), scalars(starts)].concat()
    }

    // The values here and below are those of Nx.BinaryBackend.
    #[test]
    fn slices_as_nx() {
        let tensor = iota(&[4, 5]);
        let result = check_burn(
            slice(&[1, 0], &[3, 5], &[2, 2]),
            std::slice::from_ref(&tensor),
            DType::S32,
            0.0,
        );
        assert_eq!(result.shape(), [2, 3]);
        assert_eq!(result.elements::<i32>().as_ref(), [5, 7, 9, 15, 17, 19]);

        let transposed = tensor.transpose(&[1, 0]);
        let result = check_burn(slice(&[1, 2], &[4, 2], &[3, 1]), &[transposed], DType::S32, 0.0);
        assert_eq!(result.elements::<i32>().as_ref(), [11, 16, 14, 19]);

        // A start past the end moves back.
        let late = slice(&[3, usize::MAX], &[2, 1], &[1, usize::MAX]);
        let result = check_burn(late, &[tensor], DType::S32, 0.0);
        assert_eq!(result.elements::<i32>().as_ref(), [14, 19]);
        assert_eq!(
            check_burn(slice(&[], &[], &[]), &[iota(&[])], DType::S32, 0.0).scalar::<i32>(),
            0
        );
    }

    #[test]
    fn slices_are_views_that_can_be_sliced_again() {
        let first = host(slice(&[1, 1], &[4, 6], &[1, 2]), &[iota(&[6, 8])], DType::S32);
        assert_eq!(first.strides(), [8, 2]);
        let second = host(slice(&[1, 1], &[3, 2], &[2, 1]), &[first], DType::S32);
        assert_eq!(second.elements::<i32>().as_ref(), [19, 21, 35, 37]);
    }

    #[test]
    fn dynamic_starts_are_clamped() {
        let op = DynamicSlice { lengths: vec![2, 3], strides: vec![1, 2] };
        for (starts, expected) in [
            ([1, 1], [6, 8, 11, 13]),
            ([-9, i64::MIN], [0, 2, 5, 7]),
            ([i64::MAX, 4], [12, 14, 17, 19]),
        ] {
            let operands = with_starts(&[iota(&[4, 5])], &starts);
            let result = check_burn(op.clone(), &operands, DType::S32, 0.0);
            assert_eq!(result.elements::<i32>().as_ref(), expected, "{starts:?}");
        }
        let huge = HostTensor::from_vec(vec![u64::MAX], &[]);
        let operands = [iota(&[4, 5]), huge.clone(), huge];
        let result = check_burn(op, &operands, DType::S32, 0.0);
        assert_eq!(result.elements::<i32>().as_ref(), [12, 14, 17, 19]);
    }

    #[test]
    fn puts_slices_as_nx() {
        let values = HostTensor::from_vec(vec![10.5_f32, 11.0, 12.0, 13.0], &[2, 2]);
        let op = PutSlice { starts: vec![0, 1] };
        let result = check_burn(op, &[iota(&[2, 3]), values.transpose(&[1, 0])], DType::F32, 0.0);
        assert_eq!(result.elements::<f32>().as_ref(), [0.0, 10.5, 12.0, 3.0, 11.0, 13.0]);

        for starts in [[1, 2], [9, i64::MAX]] {
            let operands =
                with_starts(&[iota(&[2, 3]).transpose(&[1, 0]), values.clone()], &starts);
            let result = check_burn(DynamicPutSlice {}, &operands, DType::F32, 0.0);
            assert_eq!(result.elements::<f32>().as_ref(), [0.0, 3.0, 10.5, 11.0, 12.0, 13.0]);
        }
        let scalar = check_burn(PutSlice { starts: vec![] }, &scalars(&[1, 2]), DType::U8, 0.0);
        assert_eq!(scalar.elements::<u8>().as_ref(), [2]);
    }

    #[test]
    fn puts_slices_of_any_rank() {
        // The slice covers the last axis, the last two, none, or all.
        let shape = [3, 4, 5, 2];
        for (lengths, starts) in [
            ([2, 3, 5, 2], [1, 1, 0, 0]),
            ([2, 4, 5, 2], [1, 0, 0, 0]),
            ([2, 2, 3, 1], [0, 1, 2, 1]),
            (shape, [0; 4]),
        ] {
            let values = HostTensor::from_vec(
                (0..shape::size(&lengths)).map(|at| -1 - at as i32).collect(),
                &lengths,
            );
            let op = PutSlice { starts: starts.to_vec() };
            let result = check_burn(op, &[iota(&shape), values], DType::S32, 0.0);
            let mut next = -1;
            for (at, &element) in result.elements::<i32>().iter().enumerate() {
                let index = [at / 40, at / 10 % 4, at / 2 % 5, at % 2];
                let inside = (0..4).all(|axis| {
                    (starts[axis]..starts[axis] + lengths[axis]).contains(&index[axis])
                });
                assert_eq!(
                    element,
                    if inside { next } else { at as i32 },
                    "{lengths:?} at {index:?}"
                );
                next -= i32::from(inside);
            }
        }
    }

    #[test]
    fn keeps_every_type() {
        for dtype in DType::NATIVE {
            let (tensor, values) = (iota(&[3, 3]).cast(dtype), iota(&[1, 2]).cast(dtype));
            let result = check_burn(
                slice(&[1, 1], &[2, 1], &[1, 1]),
                std::slice::from_ref(&tensor),
                dtype,
                0.0,
            );
            assert_eq!(result.cast(DType::S32).elements::<i32>().as_ref(), [4, 7]);
            let result = check_burn(PutSlice { starts: vec![2, 0] }, &[tensor, values], dtype, 0.0);
            assert_eq!(
                result.cast(DType::S32).elements::<i32>().as_ref(),
                [0, 1, 2, 3, 4, 5, 0, 1, 8]
            );
        }
    }

    #[test]
    fn differentiates() {
        check_gradient(slice(&[1, 0], &[3, 5], &[2, 3]), &[floats(&[4, 5])]);
        check_gradient(slice(&[0, 1], &[4, 2], &[1, 1]), &[floats(&[4, 5])]);
        check_gradient(
            DynamicSlice { lengths: vec![2, 2], strides: vec![1, 1] },
            &with_starts(&[floats(&[3, 3])], &[5, 1]),
        );
        check_gradient(PutSlice { starts: vec![1, 1] }, &[floats(&[3, 4]), floats(&[2, 2])]);
        check_gradient(PutSlice { starts: vec![] }, &[floats(&[]), floats(&[])]);
        check_gradient(DynamicPutSlice {}, &with_starts(&[floats(&[5]), floats(&[2])], &[-1]));
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let tensor = Spec::new(DType::F32, [4, 5]);
        let infer = |op: Slice| op.infer(std::slice::from_ref(&tensor), DType::F32);
        assert!(infer(slice(&[0, 0], &[4, 5], &[1, 1])).is_ok());
        for hostile in [
            slice(&[0], &[4, 5], &[1, 1]),
            slice(&[0, 0], &[4], &[1, 1]),
            slice(&[0, 0], &[4, 5], &[1, 1, 1]),
            slice(&[0, 0], &[5, 5], &[1, 1]),
            slice(&[0, 0], &[0, 5], &[1, 1]),
            slice(&[0, 0], &[4, 5], &[0, 1]),
            slice(&[0, 0], &[usize::MAX, 5], &[1, usize::MAX]),
        ] {
            assert!(infer(hostile.clone()).is_err(), "{hostile:?}");
        }
        assert!(
            slice(&[0, 0], &[4, 5], &[1, 1])
                .infer(std::slice::from_ref(&tensor), DType::S8)
                .is_err()
        );

        let scalar = |dtype| Spec::new(dtype, []);
        let dynamic = DynamicSlice { lengths: vec![1, 1], strides: vec![1, 1] };
        let starts = |starts: [Spec; 2]| [&[tensor.clone()][..], &starts].concat();
        assert!(
            dynamic.infer(&starts([scalar(DType::S64), scalar(DType::U8)]), DType::F32).is_ok()
        );
        assert!(
            dynamic.infer(&starts([scalar(DType::S64), scalar(DType::F32)]), DType::F32).is_err()
        );
        assert!(
            dynamic
                .infer(&starts([scalar(DType::S64), Spec::new(DType::S64, [1])]), DType::F32)
                .is_err()
        );
        assert!(dynamic.infer(&[], DType::F32).is_err());
        assert!(dynamic.infer(std::slice::from_ref(&tensor), DType::F32).is_err());

        let put = |starts: &[usize], slice: &[usize]| {
            let op = PutSlice { starts: starts.to_vec() };
            op.infer(&[tensor.clone(), Spec::new(DType::F32, slice)], DType::F32)
        };
        assert!(put(&[0, 0], &[4, 5]).is_ok());
        assert!(put(&[0, 0], &[4, 6]).is_err());
        assert!(put(&[0, 0], &[4]).is_err());
        assert!(put(&[0], &[4, 5]).is_err());
        assert!(DynamicPutSlice {}.infer(std::slice::from_ref(&tensor), DType::F32).is_err());
    }
}
