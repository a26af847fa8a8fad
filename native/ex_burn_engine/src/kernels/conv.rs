//! Convolutions over any number of spatial axes.

use super::Pad;
use crate::host::conv::{Convolution, Spatial};
use crate::host::matmul::{group_axes, matmul};
use crate::op::{Operation, take, take_owned, unsupported};
use crate::shape::{check_axes, size};
use crate::{DType, Error, HostTensor, Result, Shape, Spec, Value, ensure};
use burn_backend::Backend;
use burn_backend::ops::ConvOptions;
use burn_flex::Flex;
use serde::Deserialize;

/// More than any axis can hold; below it, no sum of positions overflows.
const MOST: u64 = 1 << 48;

/// The convolution of an input with a kernel, as `Nx.conv/3`.
///
/// Once permuted, the input's axes are batch, channels and the spatial axes; the kernel's are
/// features, channels per group and the spatial axes; and the result's are batch, features and the
/// spatial axes, which the output permutation undoes. Both operands are cast to the type of the
/// result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Conv {
    /// Per spatial axis: the distance between two windows.
    pub strides: Vec<usize>,
    /// Per spatial axis: the zeros before and after the dilated input; negative ones take away.
    pub padding: Vec<(i64, i64)>,
    /// Per spatial axis: the distance between neighbours of the input.
    pub input_dilation: Vec<usize>,
    /// Per spatial axis: the distance between neighbours of the kernel.
    pub kernel_dilation: Vec<usize>,
    /// The groups of channels, each with its own features.
    pub feature_groups: usize,
    /// The groups of the batch, each with its own features.
    pub batch_groups: usize,
    /// The input's axes in the order above.
    pub input_permutation: Vec<usize>,
    /// The kernel's axes in the order above.
    pub kernel_permutation: Vec<usize>,
    /// For each axis of the order above, which axis of the result it is.
    pub output_permutation: Vec<usize>,
}

impl Conv {
    /// The sizes of both operands in their own order: two axes, then the spatial ones.
    fn permuted(&self, input: &[usize], kernel: &[usize]) -> (Shape, Shape) {
        let pick = |shape: &[usize], axes: &[usize]| axes.iter().map(|&axis| shape[axis]).collect();
        (pick(input, &self.input_permutation), pick(kernel, &self.kernel_permutation))
    }

    /// The spatial axes of permuted shapes.
    fn spatial(&self, input: &[usize], kernel: &[usize]) -> Result<Vec<Spatial>> {
        let axis = |at: usize| {
            let (input, kernel) = (input[at + 2], kernel[at + 2]);
            let [stride, input_dilation, kernel_dilation] =
                [&self.strides, &self.input_dilation, &self.kernel_dilation].map(|list| list[at]);
            let (low, high) = self.padding[at];
            let refused = |expected| {
                let given = format!(
                    "an axis of {input} under a kernel of {kernel} with stride {stride}, padding \
                     {{{low}, {high}}}, input dilation {input_dilation} and kernel dilation \
                     {kernel_dilation}"
                );
                Error::new(self.name(), given, expected)
            };
            let amounts = [stride, input_dilation, kernel_dilation];
            let sane = amounts.iter().all(|&amount| amount > 0 && (amount as u64) < MOST)
                && low.unsigned_abs().max(high.unsigned_abs()) < MOST;
            if !sane {
                return Err(refused("strides and dilations of at least 1, all below 2^48"));
            }
            let spread = |size: usize, dilation: usize| {
                let length = (size as i128 - 1) * dilation as i128 + 1;
                i64::try_from(length).ok().filter(|&length| (length as u64) < MOST)
            };
            let lengths = spread(input, input_dilation).zip(spread(kernel, kernel_dilation));
            let Some((dilated, window)) = lengths else {
                return Err(refused("dilated sizes below 2^48"));
            };
            let padded = dilated + low + high;
            if padded < window {
                return Err(refused("a padded input that holds the dilated kernel"));
            }
            Ok(Spatial {
                input: input as i64,
                kernel: kernel as i64,
                output: (padded - window) / stride as i64 + 1,
                stride: stride as i64,
                padding: (low, high),
                input_dilation: input_dilation as i64,
                kernel_dilation: kernel_dilation as i64,
            })
        };
        (0..self.strides.len()).map(axis).collect()
    }

    /// For each axis of the result, which of the order batch, features, spatial axes it is.
    fn output_axes(&self) -> Vec<usize> {
        let mut axes = vec![0; self.output_permutation.len()];
        for (axis, &of) in self.output_permutation.iter().enumerate() {
            axes[of] = axis;
        }
        axes
    }

    fn groups(&self) -> usize {
        self.feature_groups * self.batch_groups
    }
}

impl Operation for Conv {
    fn name(&self) -> &'static str {
        "conv"
    }

    fn infer(&self, operands: &[Spec], dtype: DType) -> Result<Spec> {
        let name = self.name();
        let [input, kernel] = take(name, operands)?;
        let rank = input.rank();
        ensure!(
            rank >= 3 && kernel.rank() == rank,
            name,
            format!("an input {input} and a kernel {kernel}"),
            "both of the same rank, at least 3"
        );
        for (what, axes) in [
            ("input", &self.input_permutation),
            ("kernel", &self.kernel_permutation),
            ("output", &self.output_permutation),
        ] {
            ensure!(
                axes.len() == rank,
                name,
                format!("{what} permutation of {} axes", axes.len()),
                format!("a permutation of {rank} axes")
            );
            check_axes(name, axes, rank)?;
        }
        for (what, length) in [
            ("strides", self.strides.len()),
            ("padding", self.padding.len()),
            ("input dilation", self.input_dilation.len()),
            ("kernel dilation", self.kernel_dilation.len()),
        ] {
            ensure!(
                length == rank - 2,
                name,
                format!("{what} of {length} axes"),
                format!("one for each of the {} spatial axes", rank - 2)
            );
        }
        let (input, kernel) = self.permuted(&input.shape, &kernel.shape);
        let (feature_groups, batch_groups) = (self.feature_groups, self.batch_groups);
        ensure!(
            feature_groups > 0 && batch_groups > 0 && (feature_groups == 1 || batch_groups == 1),
            name,
            format!("{feature_groups} feature groups and {batch_groups} batch groups"),
            "at least 1 of both, and more than 1 of one at most"
        );
        ensure!(
            input[0] % batch_groups == 0
                && kernel[0] % feature_groups == 0
                && kernel[0] % batch_groups == 0,
            name,
            format!(
                "{feature_groups} feature groups and {batch_groups} batch groups of a batch of {} \
                 and {} features",
                input[0], kernel[0]
            ),
            "groups that divide them"
        );
        ensure!(
            kernel[1].checked_mul(feature_groups) == Some(input[1]),
            name,
            format!("{} channels under {} in each of {feature_groups} groups", input[1], kernel[1]),
            "as many channels as all groups of the kernel have"
        );
        let mut shape = vec![input[0] / batch_groups, kernel[0]];
        shape.extend(self.spatial(&input, &kernel)?.iter().map(|axis| axis.output as usize));
        let shape: Shape = self.output_axes().into_iter().map(|axis| shape[axis]).collect();
        Ok(Spec::new(dtype, shape))
    }

    fn host(&self, operands: &[HostTensor], out: &Spec) -> Result<HostTensor> {
        let [input, kernel] = take(self.name(), operands)?;
        let dtype = match out.dtype {
            DType::F16 | DType::BF16 => DType::F32,
            dtype => dtype,
        };
        let (input, kernel) = (input.cast(dtype), kernel.cast(dtype));
        let (input_shape, kernel_shape) = self.permuted(input.shape(), kernel.shape());
        let spatial = self.spatial(&input_shape, &kernel_shape)?;
        let depthwise = self.feature_groups > 1 && kernel_shape[..2] == [input_shape[1], 1];
        if depthwise && has_kernel(&spatial, dtype) {
            // Too little to multiply as a matrix; Burn's own kernel is the fastest.
            let operands = [input, kernel].map(|tensor| Value::Float(tensor.into_flex()));
            let wide = Spec::new(dtype, out.shape.clone());
            let result = self.burn::<Flex>(operands.into(), &wide)?.into_float(self.name())?;
            return Ok(HostTensor::from_flex(self.name(), result)?.cast(out.dtype));
        }
        let input = input.transpose(&self.input_permutation);
        let kernel = kernel.transpose(&self.kernel_permutation);
        let axes = self.output_axes();
        let features_last = axes.last() == Some(&1) && self.groups() == 1;

        let product = if self.groups() == 1 && spatial.iter().all(Spatial::is_pointwise) {
            pointwise_product(&input, &kernel, features_last)
        } else {
            let convolution = Convolution {
                input: &input,
                kernel: &kernel,
                spatial: &spatial,
                feature_groups: self.feature_groups,
                batch_groups: self.batch_groups,
                features_last,
            };
            convolution.compute()
        };
        let last = product.rank() - 1;
        let axes: Vec<usize> = axes
            .into_iter()
            .map(|axis| match axis {
                1 if features_last => last,
                axis if features_last && axis > 1 => axis - 1,
                axis => axis,
            })
            .collect();
        Ok(product.cast(out.dtype).transpose(&axes))
    }

    fn burn<B: Backend>(&self, operands: Vec<Value<B>>, out: &Spec) -> Result<Value<B>> {
        let name = self.name();
        let [input, kernel] = take_owned(name, operands)?;
        let (input_shape, kernel_shape) = self.permuted(&input.shape(), &kernel.shape());
        let spatial = self.spatial(&input_shape, &kernel_shape)?;
        if !has_kernel(&spatial, out.dtype) {
            return Err(unsupported(name));
        }
        let input = input.cast(out.dtype).permute(&self.input_permutation);
        let input = self.merge_batch_groups(input);
        let kernel = kernel.cast(out.dtype).permute(&self.kernel_permutation);
        if self.groups() == 1 && spatial.iter().all(Spatial::is_pointwise) {
            let (batch, features, channels) = (input_shape[0], kernel_shape[0], kernel_shape[1]);
            let columns = input.reshape(&[batch, channels, size(&input_shape[2..])]);
            let kernel = kernel.reshape(&[1, features, channels]).into_float(name)?;
            let result = B::float_matmul(kernel, columns.into_float(name)?);
            let shape = [&[batch, features], &input_shape[2..]].concat();
            return Ok(Value::Float(result).reshape(&shape).permute(&self.output_axes()));
        }
        // Burn pads both sides alike. Its gradient by a kernel in groups is wrong where the windows
        // leave elements at the end, so these are taken away.
        let by_conv = spatial.iter().all(|axis| {
            let (low, high) = axis.padding;
            axis.input_dilation == 1 && low == high && low >= 0 && unreached(axis) == 0
        });
        let (input, padding) = if by_conv {
            (input, spatial.iter().map(|axis| axis.padding.0 as usize).collect())
        } else {
            (self.pad(input, &spatial)?, vec![0; spatial.len()])
        };
        let (input, kernel) = (input.into_float(name)?, kernel.into_float(name)?);
        let result = match spatial.len() {
            1 => B::conv1d(input, kernel, None, self.options(&padding)),
            2 => B::conv2d(input, kernel, None, self.options(&padding)),
            _ => B::conv3d(input, kernel, None, self.options(&padding)),
        };
        Ok(Value::Float(result).permute(&self.output_axes()))
    }
}

/// Elements at the end of the padded input that no window reaches.
fn unreached(axis: &Spatial) -> i64 {
    let window = (axis.kernel - 1) * axis.kernel_dilation + 1;
    let dilated = (axis.input - 1) * axis.input_dilation + 1;
    let padded = dilated + axis.padding.0 + axis.padding.1;
    padded - window - (axis.output - 1) * axis.stride
}

/// Whether Burn has a kernel for the convolution.
fn has_kernel(spatial: &[Spatial], dtype: DType) -> bool {
    dtype.is_float() && spatial.len() <= 3 && !is_mostly_padding(spatial)
}

/// Whether the padded input, or a step on the way to it, would be far larger than all that the
/// windows look at.
fn is_mostly_padding(spatial: &[Spatial]) -> bool {
    spatial.iter().any(|axis| {
        let (low, high) = axis.padding;
        let dilated = axis.input * axis.input_dilation;
        let largest = dilated.max(low).max(high).max(dilated + low + high);
        largest / 8 > axis.input.saturating_add(axis.kernel.saturating_mul(axis.output))
    })
}

impl Conv {
    /// Groups of the batch as groups of channels of a smaller batch.
    fn merge_batch_groups<B: Backend>(&self, input: Value<B>) -> Value<B> {
        let groups = self.batch_groups;
        if groups == 1 {
            return input;
        }
        let shape = input.shape();
        let batch = shape[0] / groups;
        let mut axes: Vec<usize> = (0..=shape.len()).collect();
        axes.swap(0, 1);
        input
            .reshape(&[&[groups, batch], &shape[1..]].concat())
            .permute(&axes)
            .reshape(&[&[batch, groups * shape[1]], &shape[2..]].concat())
    }

    /// The input dilated and padded, without what no window reaches.
    fn pad<B: Backend>(&self, input: Value<B>, spatial: &[Spatial]) -> Result<Value<B>> {
        let mut padding = vec![(0, 0, 0); 2];
        padding.extend(spatial.iter().map(|axis| {
            (axis.padding.0, axis.padding.1 - unreached(axis), axis.input_dilation - 1)
        }));
        let pad = Pad { padding };
        let zero = HostTensor::filled(&Spec::new(input.dtype(), []), 0.0);
        let out = pad.infer(&[input.spec(), zero.spec()], input.dtype())?;
        let zero = Value::from_host(&zero, &input.device());
        pad.burn(vec![input, zero], &out)
    }

    /// Burn's options; `padding` has one size per spatial axis, as all lists.
    fn options<const N: usize>(&self, padding: &[usize]) -> ConvOptions<N> {
        let array = |list: &[usize]| std::array::from_fn(|axis| list[axis]);
        ConvOptions::new(
            array(&self.strides),
            array(padding),
            array(&self.kernel_dilation),
            self.groups(),
        )
    }
}

/// The convolution with a kernel of one element per channel: a product of matrices.
fn pointwise_product(input: &HostTensor, kernel: &HostTensor, features_last: bool) -> HostTensor {
    let (batch, rank) = (input.shape()[0], input.rank());
    let spatial = &input.shape()[2..];
    let features = kernel.shape()[0];
    let kernel = group_axes(kernel, &[0, 1, rank - 1]);
    if features_last {
        let mut axes: Vec<usize> = (0..rank).filter(|&axis| axis != 1).collect();
        axes.push(1);
        let rows = group_axes(&input.transpose(&axes), &[0, rank - 1, 1]);
        let product = matmul(&rows, &kernel.transpose(&[0, 2, 1]));
        product.reshape(&[&[batch], spatial, &[features]].concat())
    } else {
        let columns = group_axes(input, &[1, 1, rank - 2]);
        let kernel = group_axes(&kernel, &[2, 1]).broadcast(&[batch, features, input.shape()[1]]);
        matmul(&kernel, &columns).reshape(&[&[batch, features], spatial].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check_burn, check_gradient, close, host};

    /// A convolution of `spatial` axes that changes nothing but what a test sets.
    fn conv(spatial: usize) -> Conv {
        Conv {
            strides: vec![1; spatial],
            padding: vec![(0, 0); spatial],
            input_dilation: vec![1; spatial],
            kernel_dilation: vec![1; spatial],
            feature_groups: 1,
            batch_groups: 1,
            input_permutation: (0..spatial + 2).collect(),
            kernel_permutation: (0..spatial + 2).collect(),
            output_permutation: (0..spatial + 2).collect(),
        }
    }

    fn wave(shape: &[usize], phase: f64) -> HostTensor {
        let values = (0..size(shape)).map(|at| (at as f64 * 0.37 + phase).sin() * 2.0).collect();
        HostTensor::from_vec::<f64>(values, shape)
    }

    /// The position along every axis of an element in row-major order.
    fn index(mut position: usize, shape: &[usize]) -> Vec<usize> {
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = position % shape[axis];
            position /= shape[axis];
        }
        index
    }

    /// The definition, element by element.
    fn naive(op: &Conv, input: &HostTensor, kernel: &HostTensor) -> HostTensor {
        let out = op.infer(&[input.spec(), kernel.spec()], DType::F64).unwrap();
        let input = input.transpose(&op.input_permutation);
        let kernel = kernel.transpose(&op.kernel_permutation);
        let (elements, weights) = (input.elements::<f64>(), kernel.elements::<f64>());
        let axes = op.output_axes();
        let (features, batch) = (kernel.shape()[0], input.shape()[0] / op.batch_groups);
        let value = |position: usize| -> f64 {
            let mut at = vec![0; axes.len()];
            for (&axis, position) in axes.iter().zip(index(position, &out.shape)) {
                at[axis] = position;
            }
            let group = at[1] / (features / op.groups());
            let window = &kernel.shape()[1..];
            let products = (0..size(window)).map(|element| {
                let inner = index(element, window);
                let mut source = at.clone();
                source[0] += if op.batch_groups > 1 { group * batch } else { 0 };
                source[1] = inner[0] + if op.feature_groups > 1 { group * window[0] } else { 0 };
                for axis in 0..op.strides.len() {
                    let place = at[axis + 2] * op.strides[axis]
                        + inner[axis + 1] * op.kernel_dilation[axis];
                    let place = place as i64 - op.padding[axis].0;
                    let dilation = op.input_dilation[axis] as i64;
                    if place < 0
                        || place % dilation != 0
                        || place / dilation >= input.shape()[axis + 2] as i64
                    {
                        return 0.0;
                    }
                    source[axis + 2] = (place / dilation) as usize;
                }
                let place = |index: &[usize], shape: &[usize]| {
                    index.iter().zip(shape).fold(0, |place, (at, size)| place * size + at)
                };
                elements[place(&source, input.shape())] * weights[at[1] * size(window) + element]
            });
            products.sum()
        };
        HostTensor::from_vec((0..out.size()).map(value).collect(), &out.shape)
    }

    fn cases() -> Vec<(Conv, HostTensor, HostTensor)> {
        let (line, plane, space) = (conv(1), conv(2), conv(3));
        vec![
            (line.clone(), wave(&[2, 3, 7], 0.1), wave(&[4, 3, 3], 0.2)),
            (plane.clone(), wave(&[2, 3, 5, 6], 0.1), wave(&[4, 3, 2, 3], 0.2)),
            (plane.clone(), wave(&[2, 3, 5, 6], 0.1), wave(&[1, 3, 2, 3], 0.2)),
            (plane.clone(), wave(&[2, 3, 3, 2], 0.1), wave(&[4, 3, 1, 1], 0.2)),
            (
                Conv {
                    input_permutation: vec![0, 3, 1, 2],
                    kernel_permutation: vec![3, 2, 0, 1],
                    output_permutation: vec![0, 3, 1, 2],
                    ..plane.clone()
                },
                wave(&[2, 3, 2, 4], 0.1),
                wave(&[1, 1, 4, 5], 0.2),
            ),
            (space.clone(), wave(&[1, 2, 3, 4, 3], 0.1), wave(&[3, 2, 2, 3, 2], 0.2)),
            (
                // Windows don't reach the end of either axis.
                Conv { strides: vec![2, 3], padding: vec![(1, 1), (1, 1)], ..plane.clone() },
                wave(&[2, 2, 6, 7], 0.1),
                wave(&[3, 2, 3, 2], 0.2),
            ),
            (
                Conv { padding: vec![(2, 0), (-1, 3)], ..plane.clone() },
                wave(&[1, 2, 4, 5], 0.1),
                wave(&[3, 2, 2, 2], 0.2),
            ),
            (
                Conv { kernel_dilation: vec![2, 3], strides: vec![2, 1], ..plane.clone() },
                wave(&[2, 2, 6, 8], 0.1),
                wave(&[3, 2, 2, 3], 0.2),
            ),
            (
                Conv {
                    input_dilation: vec![2, 3],
                    strides: vec![3, 2],
                    padding: vec![(1, -1), (-2, 2)],
                    kernel_dilation: vec![1, 2],
                    ..plane.clone()
                },
                wave(&[2, 2, 4, 4], 0.1),
                wave(&[3, 2, 2, 3], 0.2),
            ),
            (
                Conv { feature_groups: 2, strides: vec![2], padding: vec![(1, 2)], ..line.clone() },
                wave(&[2, 4, 7], 0.1),
                wave(&[6, 2, 3], 0.2),
            ),
            (
                Conv { feature_groups: 4, padding: vec![(1, 1); 2], ..plane.clone() },
                wave(&[2, 4, 4, 5], 0.1),
                wave(&[4, 1, 3, 3], 0.2),
            ),
            (
                Conv {
                    feature_groups: 2,
                    strides: vec![2, 3],
                    padding: vec![(1, 1); 2],
                    ..plane.clone()
                },
                wave(&[2, 4, 4, 7], 0.1),
                wave(&[4, 2, 3, 2], 0.2),
            ),
            (
                Conv { feature_groups: 2, strides: vec![2; 3], ..space },
                wave(&[1, 4, 4, 3, 4], 0.1),
                wave(&[2, 2, 3, 2, 1], 0.2),
            ),
            (
                Conv { batch_groups: 2, strides: vec![2, 1], ..plane.clone() },
                wave(&[4, 3, 5, 4], 0.1),
                wave(&[6, 3, 2, 2], 0.2),
            ),
            (
                Conv {
                    input_permutation: vec![0, 3, 1, 2],
                    kernel_permutation: vec![3, 2, 0, 1],
                    output_permutation: vec![0, 3, 1, 2],
                    strides: vec![1, 2],
                    ..plane.clone()
                },
                wave(&[2, 4, 5, 3], 0.1),
                wave(&[2, 2, 3, 4], 0.2),
            ),
            (
                Conv {
                    input_permutation: vec![0, 3, 1, 2],
                    kernel_permutation: vec![3, 2, 0, 1],
                    output_permutation: vec![0, 3, 1, 2],
                    ..plane.clone()
                },
                wave(&[2, 4, 5, 3], 0.1),
                wave(&[1, 1, 3, 4], 0.2),
            ),
            (
                Conv {
                    input_permutation: vec![2, 3, 0, 1],
                    kernel_permutation: vec![3, 2, 0, 1],
                    output_permutation: vec![3, 0, 1, 2],
                    ..plane
                },
                wave(&[3, 4, 2, 5], 0.1),
                wave(&[2, 3, 5, 2], 0.2),
            ),
            (
                line,
                wave(&[7, 3, 2], 0.1).transpose(&[2, 1, 0]),
                wave(&[3, 3, 4], 0.2).transpose(&[2, 1, 0]),
            ),
        ]
    }

    #[test]
    fn agrees_with_the_definition_on_every_path() {
        for (op, input, kernel) in cases() {
            let expected = naive(&op, &input, &kernel);
            for (dtype, tolerance) in
                [(DType::F64, 1e-12), (DType::F32, 1e-5), (DType::F16, 1e-2), (DType::BF16, 1e-1)]
            {
                let operands = [input.clone(), kernel.clone()];
                let given = check_burn(op.clone(), &operands, dtype, tolerance);
                close(&expected, &given.cast(DType::F64), tolerance, &format!("{op:?} {dtype}"));
            }
            let (input, kernel) = (input.cast(DType::S16), kernel.cast(DType::S16));
            let expected = naive(&op, &input.cast(DType::F64), &kernel.cast(DType::F64));
            let given = host(op.clone(), &[input, kernel], DType::S32).cast(DType::F64);
            close(&expected, &given, 0.0, &format!("{op:?} of integers"));
        }
    }

    #[test]
    fn differentiates() {
        for (op, input, kernel) in cases() {
            check_gradient(op, &[input, kernel]);
        }
    }

    #[test]
    fn cuts_large_results_into_tiles() {
        for (features, permutation) in [(5, [0, 1, 2]), (1, [0, 1, 2]), (5, [0, 2, 1])] {
            let op = Conv {
                padding: vec![(3, 1)],
                output_permutation: permutation.to_vec(),
                kernel_dilation: vec![2],
                ..conv(1)
            };
            let (input, kernel) = (wave(&[2, 40, 700], 0.1), wave(&[features, 40, 15], 0.2));
            let expected = naive(&op, &input, &kernel);
            close(&expected, &host(op, &[input, kernel], DType::F64), 1e-9, "one axis");
        }
        let op = Conv {
            padding: vec![(1, 1), (2, 2)],
            strides: vec![1, 2],
            input_dilation: vec![1, 3],
            ..conv(2)
        };
        let (input, kernel) = (wave(&[1, 60, 20, 23], 0.1), wave(&[4, 60, 5, 7], 0.2));
        let expected = naive(&op, &input, &kernel);
        close(&expected, &host(op, &[input, kernel], DType::F64), 1e-9, "two axes");
    }

    #[test]
    fn takes_four_spatial_axes() {
        let op = Conv { strides: vec![1, 2, 1, 1], padding: vec![(1, 0); 4], ..conv(4) };
        let (input, kernel) = (wave(&[2, 2, 3, 4, 2, 3], 0.1), wave(&[3, 2, 2, 1, 2, 2], 0.2));
        let expected = naive(&op, &input, &kernel);
        close(&expected, &host(op, &[input, kernel], DType::F64), 1e-12, "four axes");
    }

    // Values from Nx.BinaryBackend.
    #[test]
    fn agrees_with_nx() {
        let steps = |shape: &[usize], factor: f64| {
            let wave = |at| ((at as f32 * factor as f32).sin() * 4.0).round();
            HostTensor::from_vec::<f32>((0..size(shape)).map(wave).collect(), shape)
        };
        let check = |op: Conv, input: &[usize], kernel: &[usize], expected: &[f32]| {
            let operands = [steps(input, 0.7), steps(kernel, 1.1)];
            assert_eq!(host(op, &operands, DType::F32).elements::<f32>(), expected);
        };
        let batch_groups = Conv { batch_groups: 2, ..conv(1) };
        check(
            batch_groups,
            &[4, 4, 3],
            &[4, 4, 2],
            &[
                56.0, 64.0, -51.0, -33.0, 36.0, 61.0, -68.0, -67.0, -6.0, -45.0, 40.0, 53.0, 29.0,
                -18.0, 8.0, 55.0,
            ],
        );
        let feature_groups = Conv { feature_groups: 2, ..conv(1) };
        check(
            feature_groups,
            &[2, 4, 3],
            &[4, 2, 2],
            &[
                20.0, 20.0, -2.0, -27.0, -4.0, -22.0, -31.0, -29.0, -4.0, -14.0, -35.0, -13.0,
                -20.0, -2.0, 12.0, 29.0,
            ],
        );
        let permuted = Conv {
            input_permutation: vec![2, 3, 0, 1],
            kernel_permutation: vec![3, 2, 0, 1],
            output_permutation: vec![3, 0, 1, 2],
            ..conv(2)
        };
        check(
            permuted,
            &[3, 4, 2, 5],
            &[2, 3, 5, 2],
            &[
                14.0, -3.0, -2.0, 14.0, -15.0, 9.0, 3.0, -6.0, -7.0, 12.0, -21.0, 18.0, 4.0, -14.0,
                18.0, -19.0,
            ],
        );
        let dilated = Conv {
            strides: vec![2, 1],
            padding: vec![(1, 2), (-1, 1)],
            input_dilation: vec![1, 2],
            kernel_dilation: vec![2, 1],
            ..conv(2)
        };
        check(
            dilated,
            &[1, 2, 4, 5],
            &[3, 2, 2, 2],
            &[
                -5.0, -11.0, 4.0, -12.0, 15.0, -6.0, 16.0, 4.0, -2.0, -4.0, -2.0, -3.0, -5.0, -8.0,
                -3.0, -4.0, -16.0, 0.0, -17.0, -12.0, -12.0, -16.0, 3.0, -12.0, 12.0, 10.0, 8.0,
                16.0, -3.0, 15.0, -12.0, 4.0, 6.0, 6.0, 3.0, 3.0, 6.0, 4.0, 1.0, -1.0, 8.0, -8.0,
                16.0, 2.0, 16.0, 8.0, 6.0, 12.0, -14.0, -3.0, -16.0, -12.0, -9.0, -18.0, 4.0,
                -12.0, -5.0, 0.0, -1.0, 1.0, -5.0, 0.0, -1.0, 0.0, 4.0, 16.0, -10.0, 8.0, -16.0,
                0.0, -15.0, -12.0,
            ],
        );
    }

    #[test]
    fn refuses_what_does_not_fit() {
        let operands = [Spec::new(DType::F32, [2, 4, 5]), Spec::new(DType::F32, [4, 4, 3])];
        let fits = conv(1);
        assert!(fits.infer(&operands, DType::F32).is_ok());
        for op in [
            conv(2),
            conv(0),
            Conv { strides: vec![0], ..fits.clone() },
            Conv { strides: vec![], ..fits.clone() },
            Conv { strides: vec![usize::MAX], ..fits.clone() },
            Conv { input_dilation: vec![0], ..fits.clone() },
            Conv { input_dilation: vec![usize::MAX], ..fits.clone() },
            Conv { kernel_dilation: vec![3], ..fits.clone() },
            Conv { kernel_dilation: vec![usize::MAX], ..fits.clone() },
            Conv { padding: vec![(-3, 0)], ..fits.clone() },
            Conv { padding: vec![(i64::MIN, i64::MAX)], ..fits.clone() },
            Conv { padding: vec![(i64::MAX, i64::MAX)], ..fits.clone() },
            Conv { feature_groups: 0, ..fits.clone() },
            Conv { feature_groups: 2, ..fits.clone() },
            Conv { feature_groups: usize::MAX, ..fits.clone() },
            Conv { batch_groups: 0, ..fits.clone() },
            Conv { batch_groups: 3, ..fits.clone() },
            Conv { batch_groups: 2, feature_groups: 2, ..fits.clone() },
            Conv { input_permutation: vec![0, 1], ..fits.clone() },
            Conv { kernel_permutation: vec![0, 1, 1], ..fits.clone() },
            Conv { output_permutation: vec![0, 1, 3], ..fits.clone() },
        ] {
            assert!(op.infer(&operands, DType::F32).is_err(), "{op:?}");
        }
        let vectors = [Spec::new(DType::F32, [3]), Spec::new(DType::F32, [3])];
        assert!(conv(0).infer(&vectors, DType::F32).is_err());
    }

    #[test]
    fn allocates_nothing_for_what_no_window_looks_at() {
        let far = 1 << 40;
        let op = Conv { padding: vec![(far, far)], strides: vec![far as usize], ..conv(1) };
        let operands = [wave(&[1, 1, 3], 0.5), wave(&[1, 1, 2], 0.5)];
        let result = host(op.clone(), &operands, DType::F64);
        let (input, kernel) = (operands[0].elements::<f64>(), operands[1].elements::<f64>());
        let middle = input[0] * kernel[0] + input[1] * kernel[1];
        assert_eq!(*result.elements::<f64>(), [0.0, middle, 0.0]);
        let specs = operands.clone().map(|tensor| tensor.spec());
        let out = op.infer(&specs, DType::F64).unwrap();
        let device = Default::default();
        let values = operands.iter().map(|tensor| Value::from_host(tensor, &device)).collect();
        assert!(op.burn::<burn_flex::Flex>(values, &out).is_err());
    }
}
