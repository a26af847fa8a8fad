//! The network: dense layers with relu between them.

use crate::Failure;
use crate::data::{CLASSES, PIXELS};
use crate::formula::{Formula, Value};
use crate::random::Random;
use ex_burn_engine::kernels::{Binary, ReduceKind, Unary};
use ex_burn_engine::{Device, HostTensor, Program, Tensor};

/// The number of units before and after every layer.
const WIDTHS: [usize; 4] = [PIXELS, 128, 64, CLASSES];

/// The shapes of the parameters: weights and bias of each layer.
pub fn shapes() -> Vec<Vec<usize>> {
    WIDTHS.windows(2).flat_map(|pair| [pair.to_vec(), vec![pair[1]]]).collect()
}

/// Parameters to start from: uniform weights as K. He et al. scale them for relu, and no bias.
pub fn initial(random: &mut Random, device: Device) -> Result<Vec<Tensor>, Failure> {
    let parameter = |shape: Vec<usize>| {
        let limit = if shape.len() == 2 { (6.0 / shape[0] as f32).sqrt() } else { 0.0 };
        let size = shape.iter().product();
        let elements: Vec<f32> = (0..size).map(|_| limit * random.symmetric()).collect();
        Ok(Tensor::from(HostTensor::from_vec(elements, &shape)).to_device(device)?)
    };
    shapes().into_iter().map(parameter).collect()
}

/// The loss of a batch: inputs are the parameters, the images and the labels as rows.
///
/// It is the mean over the batch of the cross entropy with the softmax of the last layer.
pub fn loss(batch: usize) -> Result<Program, Failure> {
    let mut inputs = shapes();
    inputs.extend([vec![batch, PIXELS], vec![batch, CLASSES]]);
    let (images, labels) = (inputs.len() - 2, inputs.len() - 1);
    let mut formula = Formula::new(&inputs);

    let logits = logits(&mut formula, images);
    // Less their greatest, so that no exponential overflows.
    let greatest = formula.reduce_rows(ReduceKind::ReduceMax, logits);
    let shifted = formula.binary(Binary::Subtract, logits, greatest);
    let exponentials = formula.unary(Unary::Exp, shifted);
    let sum = formula.reduce_rows(ReduceKind::Sum, exponentials);
    let logarithm = formula.unary(Unary::Log, sum);
    let log_probabilities = formula.binary(Binary::Subtract, shifted, logarithm);
    let picked = formula.binary(Binary::Multiply, log_probabilities, labels);
    let total = formula.sum(picked);
    let count = formula.number(-(batch as f64));
    let loss = formula.binary(Binary::Divide, total, count);
    formula.program(vec![loss])
}

/// The digits of a batch: inputs are the parameters and the images.
pub fn answers(batch: usize) -> Result<Program, Failure> {
    let mut inputs = shapes();
    let images = inputs.len();
    inputs.push(vec![batch, PIXELS]);
    let mut formula = Formula::new(&inputs);
    let logits = logits(&mut formula, images);
    let answers = formula.argmax_rows(logits);
    formula.program(vec![answers])
}

/// What the last layer gives for the images; the parameters are the first values.
fn logits(formula: &mut Formula, images: Value) -> Value {
    let layers = WIDTHS.len() - 1;
    (0..layers).fold(images, |x, layer| {
        let (weights, bias) = (2 * layer, 2 * layer + 1);
        let product = formula.product(x, weights);
        let sum = formula.binary(Binary::Add, product, bias);
        if layer + 1 == layers { sum } else { relu(formula, sum) }
    })
}

fn relu(formula: &mut Formula, x: Value) -> Value {
    let zero = formula.number(0.0);
    formula.binary(Binary::Max, x, zero)
}
