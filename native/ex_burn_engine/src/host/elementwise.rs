//! Functions applied element by element, over views of any strides, in one pass.
//!
//! Nothing generic over types is inlined into the kernels that choose among the types: with all of
//! them in one function, the compiler takes minutes.

use super::{HostTensor, parallel};
use crate::Element;
use std::ops::Range;

/// A joint walk over `N` views of one shape, in row-major order.
///
/// Axes that lie one after the other in every view are merged first, so that
/// most walks have one or two axes left.
pub struct Walk<const N: usize> {
    axes: Vec<(usize, [isize; N])>,
    offsets: [isize; N],
}

/// A stretch of a [`Walk`] along its innermost axis.
pub struct Run<const N: usize> {
    /// The position in row-major order of the first element.
    pub position: usize,
    /// The number of elements.
    pub length: usize,
    /// Where the first element lies in every view's storage.
    pub offsets: [isize; N],
    /// The distance between neighbours in every view.
    pub strides: [isize; N],
}

impl<const N: usize> Walk<N> {
    /// A walk over `views`, all of shape `shape`.
    pub fn new(shape: &[usize], views: [&HostTensor; N]) -> Self {
        let mut axes: Vec<(usize, [isize; N])> = Vec::with_capacity(shape.len());
        for (axis, &length) in shape.iter().enumerate() {
            if length == 1 {
                continue;
            }
            let strides = views.map(|view| view.strides()[axis]);
            match axes.last_mut() {
                Some((outer, outer_strides))
                    if (0..N).all(|at| outer_strides[at] == strides[at] * length as isize) =>
                {
                    *outer *= length;
                    *outer_strides = strides;
                }
                _ => axes.push((length, strides)),
            }
        }
        Self { axes, offsets: views.map(|view| view.offset() as isize) }
    }

    /// Whether every view's elements lie one right after the other.
    pub fn is_dense(&self) -> bool {
        self.axes.is_empty() || (self.axes.len() == 1 && self.axes[0].1 == [1; N])
    }

    /// Calls `body` for every run within `range` of the row-major positions.
    pub fn runs(&self, range: Range<usize>, mut body: impl FnMut(Run<N>)) {
        let Some((&(inner, strides), outer)) = self.axes.split_last() else {
            return body(Run { position: 0, length: 1, offsets: self.offsets, strides: [1; N] });
        };
        let mut position = range.start;
        let (mut index, mut offsets) = (vec![0; outer.len()], self.offsets);
        let mut rest = position / inner;
        for (at, &(length, strides)) in outer.iter().enumerate().rev() {
            index[at] = rest % length;
            rest /= length;
            for view in 0..N {
                offsets[view] += index[at] as isize * strides[view];
            }
        }
        let mut column = position % inner;
        while position < range.end {
            let length = (inner - column).min(range.end - position);
            let mut start = offsets;
            for view in 0..N {
                start[view] += column as isize * strides[view];
            }
            body(Run { position, length, offsets: start, strides });
            position += length;
            column = 0;
            for at in (0..outer.len()).rev() {
                let (length, strides) = outer[at];
                index[at] += 1;
                let back = if index[at] == length { length as isize - 1 } else { -1 };
                for view in 0..N {
                    offsets[view] -= back * strides[view];
                }
                if index[at] < length {
                    break;
                }
                index[at] = 0;
            }
        }
    }
}

/// The `length` elements of `storage` from `offset` on, `stride` apart.
#[inline]
fn lane<T: Element>(storage: &[T], offset: isize, stride: isize, length: usize) -> Lane<'_, T> {
    match stride {
        1 => Lane::Dense(&storage[offset as usize..offset as usize + length]),
        0 => Lane::Same(storage[offset as usize]),
        _ => Lane::Strided(storage, offset, stride),
    }
}

#[derive(Clone, Copy)]
enum Lane<'a, T> {
    Dense(&'a [T]),
    Same(T),
    Strided(&'a [T], isize, isize),
}

impl<T: Element> Lane<'_, T> {
    #[inline]
    fn get(&self, index: usize) -> T {
        match *self {
            Lane::Dense(values) => values[index],
            Lane::Same(value) => value,
            Lane::Strided(storage, offset, stride) => {
                storage[(offset + index as isize * stride) as usize]
            }
        }
    }
}

/// `function` of every element, row-major.
#[inline(never)]
pub fn map<A: Element, O: Element>(a: &HostTensor, function: impl Fn(A) -> O + Sync) -> Vec<O> {
    let walk = Walk::new(a.shape(), [a]);
    let source = a.storage::<A>();
    let mut output = vec![O::ZERO; a.size()];
    parallel::for_each_part(&mut output, 1, 1, |start, part| {
        walk.runs(start..start + part.len(), |run| {
            let at = run.position - start;
            let out = &mut part[at..at + run.length];
            match lane(source, run.offsets[0], run.strides[0], run.length) {
                Lane::Dense(a) => out.iter_mut().zip(a).for_each(|(o, &a)| *o = function(a)),
                Lane::Same(a) => out.fill(function(a)),
                a => out.iter_mut().enumerate().for_each(|(i, o)| *o = function(a.get(i))),
            }
        });
    });
    output
}

/// `function` of every pair of elements of two tensors broadcast to `shape`, row-major.
#[inline(never)]
pub fn zip<A: Element, B: Element, O: Element>(
    shape: &[usize],
    a: &HostTensor,
    b: &HostTensor,
    function: impl Fn(A, B) -> O + Sync,
) -> Vec<O> {
    let (a, b) = (a.broadcast(shape), b.broadcast(shape));
    let walk = Walk::new(shape, [&a, &b]);
    let (left, right) = (a.storage::<A>(), b.storage::<B>());
    let mut output = vec![O::ZERO; a.size()];
    parallel::for_each_part(&mut output, 1, 1, |start, part| {
        walk.runs(start..start + part.len(), |run| {
            let at = run.position - start;
            let out = &mut part[at..at + run.length];
            let [a, b] = [run.offsets[0], run.offsets[1]];
            let lanes = (
                lane(left, a, run.strides[0], run.length),
                lane(right, b, run.strides[1], run.length),
            );
            match lanes {
                (Lane::Dense(a), Lane::Dense(b)) => {
                    out.iter_mut().zip(a).zip(b).for_each(|((o, &a), &b)| *o = function(a, b));
                }
                (Lane::Dense(a), Lane::Same(b)) => {
                    out.iter_mut().zip(a).for_each(|(o, &a)| *o = function(a, b));
                }
                (Lane::Same(a), Lane::Dense(b)) => {
                    out.iter_mut().zip(b).for_each(|(o, &b)| *o = function(a, b));
                }
                (a, b) => {
                    out.iter_mut().enumerate().for_each(|(i, o)| *o = function(a.get(i), b.get(i)));
                }
            }
        });
    });
    output
}

/// `function` of every triple of elements of three tensors broadcast to `shape`, row-major.
#[inline(never)]
pub fn zip3<A: Element, B: Element, C: Element, O: Element>(
    shape: &[usize],
    [a, b, c]: [&HostTensor; 3],
    function: impl Fn(A, B, C) -> O + Sync,
) -> Vec<O> {
    let [a, b, c] = [a, b, c].map(|tensor| tensor.broadcast(shape));
    let walk = Walk::new(shape, [&a, &b, &c]);
    let (first, second, third) = (a.storage::<A>(), b.storage::<B>(), c.storage::<C>());
    let mut output = vec![O::ZERO; a.size()];
    parallel::for_each_part(&mut output, 1, 1, |start, part| {
        walk.runs(start..start + part.len(), |run| {
            let at = run.position - start;
            let out = &mut part[at..at + run.length];
            let a = lane(first, run.offsets[0], run.strides[0], run.length);
            let b = lane(second, run.offsets[1], run.strides[1], run.length);
            let c = lane(third, run.offsets[2], run.strides[2], run.length);
            match (a, b, c) {
                (Lane::Dense(a), Lane::Dense(b), Lane::Dense(c)) => out
                    .iter_mut()
                    .zip(a)
                    .zip(b)
                    .zip(c)
                    .for_each(|(((o, &a), &b), &c)| *o = function(a, b, c)),
                _ => out
                    .iter_mut()
                    .enumerate()
                    .for_each(|(i, o)| *o = function(a.get(i), b.get(i), c.get(i))),
            }
        });
    });
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zips_transposed_and_broadcast_views() {
        let a = HostTensor::from_vec(vec![1_i64, 2, 3, 4, 5, 6], &[2, 3]).transpose(&[1, 0]);
        let b = HostTensor::from_vec(vec![10_i64, 20], &[2]);
        let sum = zip(&[3, 2], &a, &b, |a: i64, b: i64| a + b);
        assert_eq!(sum, [11, 24, 12, 25, 13, 26]);
    }

    #[test]
    fn large_walks_agree_with_small_ones() {
        let (rows, columns) = (301, 407);
        let values: Vec<i64> = (0..rows * columns).collect();
        let shape = [rows as usize, columns as usize];
        let transposed = HostTensor::from_vec(values, &shape).transpose(&[1, 0]);
        let doubled = map(&transposed, |value: i64| 2 * value);
        for (position, value) in doubled.into_iter().enumerate() {
            let (column, row) = (position as i64 / rows, position as i64 % rows);
            assert_eq!(value, 2 * (row * columns + column));
        }
    }
}
