//! Products of matrices, for every type and any strides.

use super::{HostTensor, parallel};
use crate::{DType, Float, Integer, shape, with_element, with_float, with_integer};
use burn_backend::ops::FloatTensorOps;
use burn_flex::Flex;

/// Rows and columns of the right matrix that stay in the cache while all rows of the left pass by.
const BLOCK: (usize, usize) = (64, 512);

/// Columns below which a product is faster as one sum per element than as sums of rows.
const NARROW: usize = 8;

/// Multiplications up to which a product of floats is one sum in `f64` per element.
const SMALL: usize = 1 << 12;

/// The matrices `[batch, m, n]` that are the products of `left`'s `[batch, m, k]` and `right`'s
/// `[batch, k, n]`, both of one type; row-major.
///
/// Integers wrap. Small products of floats are summed in `f64` and rounded once, as
/// `Nx.BinaryBackend` does; `f16` and `bf16` else in `f32`.
pub fn matmul(left: &HostTensor, right: &HostTensor) -> HostTensor {
    match left.dtype {
        float if float.is_float() && shape::size(left.shape()) * right.shape()[2] <= SMALL => {
            with_float!(float, T => small_matmul::<T>(left, right), else left.clone())
        }
        half @ (DType::F16 | DType::BF16) => {
            float_matmul(left.cast(DType::F32), right.cast(DType::F32)).cast(half)
        }
        DType::F32 | DType::F64 => float_matmul(left.clone(), right.clone()),
        integer => with_integer!(integer, T => integer_matmul::<T>(left, right), else left.clone()),
    }
}

fn float_matmul(left: HostTensor, right: HostTensor) -> HostTensor {
    let dtype = left.dtype;
    let shape = [left.shape()[0], left.shape()[1], right.shape()[2]];
    // A single pair is threaded within its product; a batch, product by product.
    let matrix = |tensor: HostTensor| match tensor.shape()[0] {
        1 => tensor.view(tensor.shape()[1..].into(), tensor.strides()[1..].into(), tensor.offset()),
        _ => tensor,
    };
    let flex = Flex::float_matmul(matrix(left).into_flex(), matrix(right).into_flex());
    HostTensor { flex, dtype }.reshape(&shape)
}

#[inline(never)]
fn small_matmul<T: Float>(left: &HostTensor, right: &HostTensor) -> HostTensor {
    let [batch, m, k] = [0, 1, 2].map(|axis| left.shape()[axis]);
    let n = right.shape()[2];
    let (left, right) = (left.elements::<T>(), right.elements::<T>());
    let mut output = Vec::with_capacity(batch * m * n);
    for row in 0..batch * m {
        let (left, right) = (&left[row * k..(row + 1) * k], &right[row / m * k * n..]);
        output.extend((0..n).map(|column| {
            let right = right.iter().skip(column).step_by(n.max(1));
            let products = left.iter().zip(right).map(|(a, b)| a.to_f64() * b.to_f64());
            T::from_f64(products.fold(0.0, |sum, product| sum + product))
        }));
    }
    HostTensor::from_vec(output, &[batch, m, n])
}

#[inline(never)]
fn integer_matmul<T: Integer>(left: &HostTensor, right: &HostTensor) -> HostTensor {
    let [batch, m, k] = [0, 1, 2].map(|axis| left.shape()[axis]);
    let n = right.shape()[2];
    let narrow = n < NARROW;
    let right = if narrow { right.transpose(&[0, 2, 1]) } else { right.clone() };
    let (left, right) = (left.elements::<T>(), right.elements::<T>());
    let mut output = vec![T::ZERO; batch * m * n];
    parallel::for_each_part(&mut output, n, k, |start, mut part| {
        let mut row = start / n;
        while !part.is_empty() {
            let rows = (m - row % m).min(part.len() / n);
            let (own, rest) = part.split_at_mut(rows * n);
            let left = &left[row * k..(row + rows) * k];
            let right = &right[row / m * k * n..][..k * n];
            if narrow {
                sums_of_products(left, right, own, k, n);
            } else {
                sums_of_rows(left, right, own, k, n);
            }
            row += rows;
            part = rest;
        }
    });
    HostTensor::from_vec(output, &[batch, m, n])
}

/// Adds multiples of the rows of `right`, `[k, n]`, to the zeros of `output`, `[rows, n]`.
fn sums_of_rows<T: Integer>(left: &[T], right: &[T], output: &mut [T], k: usize, n: usize) {
    for from in (0..k).step_by(BLOCK.0) {
        let to = k.min(from + BLOCK.0);
        for first in (0..n).step_by(BLOCK.1) {
            let last = n.min(first + BLOCK.1);
            for (left, output) in left.chunks_exact(k).zip(output.chunks_exact_mut(n)) {
                let output = &mut output[first..last];
                let right = |at: usize| &right[at * n + first..at * n + last];
                let (fours, rest) = left[from..to].as_chunks::<4>();
                for (at, &[a, b, c, d]) in (from..).step_by(4).zip(fours) {
                    let rows = right(at).iter().zip(right(at + 1));
                    let rows = rows.zip(right(at + 2).iter().zip(right(at + 3)));
                    for (sum, ((&p, &q), (&r, &s))) in output.iter_mut().zip(rows) {
                        let first = a.multiply(p).add(b.multiply(q));
                        *sum = sum.add(first).add(c.multiply(r).add(d.multiply(s)));
                    }
                }
                for (at, &factor) in (to - rest.len()..).zip(rest) {
                    for (sum, &value) in output.iter_mut().zip(right(at)) {
                        *sum = sum.add(factor.multiply(value));
                    }
                }
            }
        }
    }
}

/// Writes the sums of products of the rows of `left` and those of `right`, `[n, k]`.
fn sums_of_products<T: Integer>(left: &[T], right: &[T], output: &mut [T], k: usize, n: usize) {
    for (left, output) in left.chunks_exact(k).zip(output.chunks_exact_mut(n)) {
        for (sum, right) in output.iter_mut().zip(right.chunks_exact(k)) {
            *sum = left.iter().zip(right).fold(T::ZERO, |sum, (&a, &b)| sum.add(a.multiply(b)));
        }
    }
}

/// Merges neighbouring axes: the first `groups[0]` into one, the next `groups[1]` into one, and so
/// on. A group of none becomes an axis of size 1. Copied only where no view does.
pub fn group_axes(tensor: &HostTensor, groups: &[usize]) -> HostTensor {
    let mut shape = Vec::with_capacity(groups.len());
    let mut strides = Some(Vec::with_capacity(groups.len()));
    let mut first = 0;
    for &length in groups {
        let axes = first..first + length;
        shape.push(shape::size(&tensor.shape()[axes.clone()]));
        let own = tensor.shape()[axes.clone()].iter().zip(&tensor.strides()[axes]);
        let mut merged: Option<(usize, isize)> = None;
        for (&size, &stride) in own.rev().filter(|&(&size, _)| size != 1) {
            merged = match merged {
                None => Some((size, stride)),
                Some((inner, step)) if stride == inner as isize * step => {
                    Some((inner * size, step))
                }
                Some(_) => {
                    strides = None;
                    break;
                }
            };
        }
        if let Some(strides) = &mut strides {
            strides.push(merged.map_or(1, |(_, step)| step));
        }
        first += length;
    }
    match strides {
        Some(strides) => tensor.view(shape, strides, tensor.offset()),
        None => with_element!(tensor.dtype, T => {
            HostTensor::from_vec(tensor.elements::<T>().into_owned(), &shape)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_axes_without_a_copy_where_strides_allow() {
        let tensor = HostTensor::from_vec((0..24).collect::<Vec<i32>>(), &[2, 3, 4]);
        let matrix = group_axes(&tensor.transpose(&[2, 0, 1]), &[0, 1, 2]);
        assert_eq!((matrix.shape(), matrix.strides()), (&[1, 4, 6][..], &[1, 1, 4][..]));
        let copied = group_axes(&tensor.transpose(&[1, 0, 2]), &[2, 1]);
        assert_eq!((copied.shape(), copied.strides()), (&[6, 4][..], &[4, 1][..]));
        assert_eq!(copied.elements::<i32>()[4..8], [12, 13, 14, 15]);
    }

    #[test]
    fn small_products_of_floats_are_rounded_once() {
        // One by one in f32, each 1 is lost next to 2^24.
        let left =
            HostTensor::from_vec(vec![16_777_216.0_f32, 1.0, 1.0, -16_777_216.0], &[1, 1, 4]);
        let ones = HostTensor::from_vec(vec![1.0_f32; 8], &[1, 2, 4]).transpose(&[0, 2, 1]);
        assert_eq!(matmul(&left, &ones).elements::<f32>()[..], [2.0, 2.0]);
    }

    #[test]
    fn integers_wrap_across_blocks_and_batches() {
        for (m, k, n) in [(3, 150, 530), (40, 70, 9), (5, 200, 3), (1, 5, 1)] {
            let value = |at: usize| (at as i32).wrapping_mul(-1_640_531_527);
            let left = HostTensor::from_vec((0..2 * m * k).map(value).collect(), &[2, m, k]);
            let right = HostTensor::from_vec((0..2 * k * n).map(value).collect(), &[2, n, k]);
            let product = matmul(&left, &right.transpose(&[0, 2, 1]));
            let product = product.elements::<i32>();
            for (at, &element) in product.iter().enumerate() {
                let (batch, row, column) = (at / (m * n), at / n % m, at % n);
                let expected = (0..k).fold(0_i32, |sum, inner| {
                    let left = value((batch * m + row) * k + inner);
                    sum.wrapping_add(left.wrapping_mul(value((batch * n + column) * k + inner)))
                });
                assert_eq!(element, expected, "{m} {k} {n} at {at}");
            }
        }
    }
}
