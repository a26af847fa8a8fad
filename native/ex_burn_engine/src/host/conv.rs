//! Convolutions cut into products of matrices.
//!
//! The elements of the input under the windows of a tile are laid out as the columns of a matrix
//! (`im2col`), which the matrix of a group's kernels is multiplied with. Padding and dilation
//! exist only as the zeros of those columns.

use super::matmul::matmul;
use super::{HostTensor, parallel};
use crate::{Element, shape, with_element};
use rayon::prelude::*;
use std::ops::Range;

/// Elements of a matrix of columns: few enough to stay in the cache until they are multiplied.
const TILE: usize = 1 << 17;

/// Positions a tile has at least, so that preparing the kernels for a product pays off.
const LEAST_POSITIONS: usize = 64;

/// Features per group up to which adding products directly beats a product of matrices.
const FEW_FEATURES: usize = 2;

/// One spatial axis. All its sizes are positive, and no sum of its positions overflows.
#[derive(Debug, Clone, Copy)]
pub struct Spatial {
    /// The size of the input.
    pub input: i64,
    /// The size of the kernel.
    pub kernel: i64,
    /// The size of the result: the number of windows.
    pub output: i64,
    /// The distance between two windows.
    pub stride: i64,
    /// Zeros before and after the dilated input; negative ones take away.
    pub padding: (i64, i64),
    /// The distance between neighbours of the input.
    pub input_dilation: i64,
    /// The distance between neighbours of the kernel.
    pub kernel_dilation: i64,
}

impl Spatial {
    /// Whether windows, kernel and input lie on each other one by one.
    pub fn is_pointwise(&self) -> bool {
        (self.kernel, self.stride, self.padding, self.input_dilation) == (1, 1, (0, 0), 1)
    }

    /// The element of the input under element `kernel` of window `output`, unless it is padding.
    fn source(&self, kernel: i64, output: i64) -> Option<i64> {
        let at = output * self.stride + kernel * self.kernel_dilation - self.padding.0;
        let inside =
            at >= 0 && at % self.input_dilation == 0 && at / self.input_dilation < self.input;
        inside.then(|| at / self.input_dilation)
    }

    /// The windows in which element `kernel` of the kernel meets an element of the input.
    fn span(&self, kernel: i64) -> Span {
        let start = kernel * self.kernel_dilation - self.padding.0;
        let step = self.input_dilation / gcd(self.stride, self.input_dilation);
        let from = div_ceil(-start, self.stride) as i64;
        let first = (from..self.output)
            .take(step as usize)
            .find(|first| (start + first * self.stride) % self.input_dilation == 0);
        let Some(first) = first else { return Span::default() };
        let source = (start + first * self.stride) / self.input_dilation;
        let source_step = step * self.stride / self.input_dilation;
        let windows = div_ceil(self.output - first, step);
        let elements = div_ceil(self.input - source, source_step);
        Span {
            first: first as usize,
            step: step as usize,
            count: windows.min(elements),
            source: source as isize,
            source_step: source_step as usize,
        }
    }
}

/// Quotient rounded up; none of a negative number.
fn div_ceil(number: i64, divisor: i64) -> usize {
    usize::try_from(number).unwrap_or(0).div_ceil(divisor as usize)
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Evenly spaced positions along the last axis, and the elements of the input that belong to them.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    first: usize,
    step: usize,
    count: usize,
    source: isize,
    source_step: usize,
}

impl Span {
    /// The part within a range of positions, which are counted from its start.
    fn within(&self, range: &Range<usize>) -> Span {
        let step = self.step.max(1);
        let skipped = range.start.saturating_sub(self.first).div_ceil(step);
        let first = self.first + skipped * step;
        let room = range.end.saturating_sub(first).div_ceil(step);
        Span {
            first: first.saturating_sub(range.start),
            count: self.count.saturating_sub(skipped).min(room),
            source: self.source + (skipped * self.source_step) as isize,
            ..*self
        }
    }
}

/// Neighbouring positions of the result, over all spatial axes.
struct Tile {
    positions: Range<usize>,
    /// Per row of the result: where it begins in the tile, and its part that belongs to the tile.
    rows: Vec<(usize, Range<usize>)>,
    /// Per element of the kernel along all axes but the last, and row: where the row under it
    /// begins in the input; none if it is padding.
    sources: Vec<Option<isize>>,
}

/// A convolution.
pub struct Convolution<'a> {
    /// `[batch, channels, spatial...]`.
    pub input: &'a HostTensor,
    /// `[features, channels of a group, spatial...]`, of the input's type.
    pub kernel: &'a HostTensor,
    /// The spatial axes; one at least.
    pub spatial: &'a [Spatial],
    /// The groups of channels.
    pub feature_groups: usize,
    /// The groups of the batch.
    pub batch_groups: usize,
    /// Whether the result is laid out with the features behind the spatial axes.
    pub features_last: bool,
}

impl Convolution<'_> {
    /// The result, `[batch, features, spatial...]` or, with the features last,
    /// `[batch, spatial..., features]`.
    ///
    /// Features can be last only if there is one group.
    pub fn compute(&self) -> HostTensor {
        with_element!(self.input.dtype(), T => self.typed::<T>())
    }

    fn groups(&self) -> usize {
        self.feature_groups * self.batch_groups
    }

    /// Elements of the kernel per feature: the rows of a matrix of columns.
    fn depth(&self) -> usize {
        shape::size(&self.kernel.shape()[1..])
    }

    #[inline(never)]
    fn typed<T: Element>(&self) -> HostTensor {
        let rank = self.input.rank();
        if self.input.strides()[rank - 1] != 1 && self.input.shape()[rank - 1] != 1 {
            // Read many times; in order, they are copied in runs.
            let elements = self.input.elements::<T>().into_owned();
            let input = &HostTensor::from_vec(elements, self.input.shape());
            return Convolution { input, ..*self }.typed::<T>();
        }
        let groups = self.groups();
        let batch = self.input.shape()[0] / self.batch_groups;
        let features = self.kernel.shape()[0] / groups;
        let kernels = self.kernel.elements::<T>().into_owned();
        let kernels = HostTensor::from_vec(kernels, &[groups, features, self.depth()]);
        let outputs: Vec<usize> = self.spatial.iter().map(|axis| axis.output as usize).collect();
        let positions = shape::size(&outputs);
        let row = outputs[outputs.len() - 1];
        let tiles = self.tiles(positions, row);
        let last = &self.spatial[self.spatial.len() - 1];
        let spans: Vec<Span> = (0..last.kernel).map(|kernel| last.span(kernel)).collect();

        let [batch_stride, channel_stride] = [self.input.strides()[0], self.input.strides()[1]];
        let group_stride = match self.batch_groups {
            1 => self.kernel.shape()[1] as isize * channel_stride,
            _ => batch as isize * batch_stride,
        };
        let block = features * positions;
        let mut output = vec![T::ZERO; batch * groups * block];
        parallel::for_each_part(&mut output, block, self.depth(), |start, part| {
            for (index, target) in (start / block..).zip(part.chunks_mut(block)) {
                let group = index % groups;
                let base = self.input.offset() as isize
                    + (index / groups) as isize * batch_stride
                    + group as isize * group_stride;
                let kernel = kernels.view(
                    vec![1, features, self.depth()],
                    kernels.strides().to_vec(),
                    group * features * self.depth(),
                );
                let product = |tile: &Tile| self.product::<T>(base, &kernel, tile, &spans, row);
                if let [tile] = &tiles[..] {
                    target.copy_from_slice(&product(tile));
                    continue;
                }
                let products: Vec<Vec<T>> = tiles.par_iter().map(product).collect();
                for (tile, product) in tiles.iter().zip(&products) {
                    let (start, length) = (tile.positions.start, tile.positions.len());
                    if self.features_last {
                        target[start * features..][..product.len()].copy_from_slice(product);
                    } else {
                        for (target, row) in
                            target.chunks_mut(positions).zip(product.chunks(length))
                        {
                            target[start..start + length].copy_from_slice(row);
                        }
                    }
                }
            }
        });
        let mut shape = vec![batch];
        shape.extend((!self.features_last).then_some(features * groups));
        shape.extend(outputs);
        shape.extend(self.features_last.then_some(features));
        HostTensor::from_vec(output, &shape)
    }

    fn tiles(&self, positions: usize, row: usize) -> Vec<Tile> {
        let length = (TILE / self.depth()).max(LEAST_POSITIONS).min(positions);
        let outer = &self.spatial[..self.spatial.len() - 1];
        let kernels: usize = outer.iter().map(|axis| axis.kernel as usize).product();
        let tile = |start: usize| {
            let positions = start..(start + length).min(positions);
            let rows = positions.start / row..positions.end.div_ceil(row);
            let sources = (0..kernels)
                .flat_map(|kernel| rows.clone().map(move |index| (kernel, index)))
                .map(|(kernel, index)| self.row_source(kernel, index));
            Tile {
                sources: sources.collect(),
                rows: rows
                    .map(|index| {
                        let first = index * row;
                        let from = positions.start.saturating_sub(first);
                        let part = from..row.min(positions.end - first);
                        (first + from - positions.start, part)
                    })
                    .collect(),
                positions,
            }
        };
        (0..positions).step_by(length).map(tile).collect()
    }

    /// Where the row of the input begins that lies under element `kernel` of row `output`'s
    /// windows, both counted over all spatial axes but the last.
    fn row_source(&self, mut kernel: usize, mut output: usize) -> Option<isize> {
        let mut source = 0;
        for (axis, spatial) in self.spatial.iter().enumerate().rev().skip(1) {
            let (kernels, outputs) = (spatial.kernel as usize, spatial.output as usize);
            let at = spatial.source((kernel % kernels) as i64, (output % outputs) as i64)?;
            source += at as isize * self.input.strides()[axis + 2];
            kernel /= kernels;
            output /= outputs;
        }
        Some(source)
    }

    /// The products of a group's kernels with the windows of a tile of one input, row-major:
    /// `[features, positions]` or, with the features last, `[positions, features]`.
    #[inline(never)]
    fn product<T: Element>(
        &self,
        base: isize,
        kernel: &HostTensor,
        tile: &Tile,
        spans: &[Span],
        row: usize,
    ) -> Vec<T> {
        let storage = self.input.storage::<T>();
        let (features, depth) = (kernel.shape()[1], kernel.shape()[2]);
        let length = tile.positions.len();
        if features == 1 || (features <= FEW_FEATURES && !self.features_last) {
            let factors = &kernel.storage::<T>()[kernel.offset()..][..features * depth];
            let mut sums = vec![T::ZERO; features * length];
            self.visit(base, tile, spans, row, |at, start, span| {
                let source = &storage[span.source as usize..];
                for feature in 0..features {
                    let factor = factors[feature * depth + at];
                    let sums = &mut sums[feature * length + start + span.first..];
                    let add = |(sum, &value): (&mut T, &T)| *sum = sum.add(factor.multiply(value));
                    if (span.step, span.source_step) == (1, 1) {
                        let source = &source[..span.count];
                        sums[..span.count].iter_mut().zip(source).for_each(add);
                    } else {
                        let source = source.iter().step_by(span.source_step);
                        let sums = sums.iter_mut().step_by(span.step);
                        sums.zip(source).take(span.count).for_each(add);
                    }
                }
            });
            return sums;
        }
        let mut columns = vec![T::ZERO; depth * length];
        self.visit(base, tile, spans, row, |at, start, span| {
            let source = &storage[span.source as usize..];
            let target = &mut columns[at * length + start + span.first..];
            if (span.step, span.source_step) == (1, 1) {
                target[..span.count].copy_from_slice(&source[..span.count]);
            } else {
                let source = source.iter().step_by(span.source_step);
                let target = target.iter_mut().step_by(span.step);
                target.zip(source).take(span.count).for_each(|(to, &from)| *to = from);
            }
        });
        let columns = HostTensor::from_vec(columns, &[1, depth, length]);
        let product = if self.features_last {
            matmul(&columns.transpose(&[0, 2, 1]), &kernel.transpose(&[0, 2, 1]))
        } else {
            matmul(kernel, &columns)
        };
        product.elements::<T>().into_owned()
    }

    /// Calls `body(element, start, span)` wherever an element of the kernel, over all its axes but
    /// the features, meets the input: along a row that begins at `start` of the tile.
    fn visit(
        &self,
        base: isize,
        tile: &Tile,
        spans: &[Span],
        row: usize,
        mut body: impl FnMut(usize, usize, Span),
    ) {
        let channel_stride = self.input.strides()[1];
        let mut element = 0;
        for channel in 0..self.kernel.shape()[1] {
            let base = base + channel as isize * channel_stride;
            for sources in tile.sources.chunks(tile.rows.len()) {
                for span in spans {
                    for (source, (start, part)) in sources.iter().zip(&tile.rows) {
                        let Some(source) = source else { continue };
                        let whole = part.len() == row;
                        let span = if whole { *span } else { span.within(part) };
                        if span.count > 0 {
                            let source = base + source + span.source;
                            body(element, *start, Span { source, ..span });
                        }
                    }
                    element += 1;
                }
            }
        }
    }
}
