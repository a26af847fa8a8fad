//! Gradients of whole programs, against closed forms and central differences.

use ex_burn_engine::kernels::{
    Binary, Broadcast, Constant, Conv, Dot, Number, Reduce, ReduceKind, Reducer, Reshape, Unary,
    Window,
};
use ex_burn_engine::{DType, Device, Graph, HostTensor, Op, Program, Spec, Tensor};

/// A graph of `f64` values under construction.
struct Formula(Graph);

impl Formula {
    fn of(shapes: &[&[usize]]) -> Self {
        Self(Graph::new(shapes.iter().map(|&shape| Spec::new(DType::F64, shape)).collect()))
    }

    fn push(&mut self, op: impl Into<Op>, operands: &[usize]) -> usize {
        self.0.push(op, operands, DType::F64)
    }

    fn number(&mut self, value: f64) -> usize {
        self.push(Constant { value: Number::Float(value), shape: vec![] }, &[])
    }

    /// The product of two matrices.
    fn product(&mut self, left: usize, right: usize) -> usize {
        let dot = Dot {
            contract_left: vec![1],
            batch_left: vec![],
            contract_right: vec![0],
            batch_right: vec![],
        };
        self.push(dot, &[left, right])
    }

    fn reduce(&mut self, kind: ReduceKind, operand: usize, axes: &[usize]) -> usize {
        let keep_axes = axes.len() == 1;
        self.push(Reduce { kind, axes: axes.to_vec(), keep_axes }, &[operand])
    }

    /// The sum of all elements of a matrix, divided by the number of its rows.
    fn mean(&mut self, matrix: usize, rows: usize) -> usize {
        let sum = self.reduce(ReduceKind::Sum, matrix, &[0, 1]);
        let rows = self.number(rows as f64);
        self.push(Binary::Divide, &[sum, rows])
    }

    /// The program that returns `output`.
    fn program(mut self, output: usize) -> Program {
        self.0.outputs = vec![output];
        Program::compile(self.0).unwrap()
    }
}

/// Values between -1 and 1 that follow no pattern, others for every `seed`.
fn sample(shape: &[usize], seed: usize) -> Vec<f64> {
    let size = shape.iter().product();
    (0..size).map(|at| ((at * 37 + seed * 101) as f64 * 0.731).sin()).collect()
}

fn tensors(program: &Program, inputs: &[Vec<f64>]) -> Vec<Tensor> {
    let tensor = |(values, spec): (&Vec<f64>, &Spec)| {
        Tensor::from(HostTensor::from_vec(values.clone(), &spec.shape))
    };
    inputs.iter().zip(program.inputs()).map(tensor).collect()
}

fn elements(tensor: &Tensor) -> Vec<f64> {
    tensor.to_host().unwrap().elements::<f64>().into_owned()
}

/// The gradients of the program's output by the inputs named in `by`.
fn gradients(program: &Program, inputs: &[Vec<f64>], by: &[usize]) -> Vec<Vec<f64>> {
    let inputs = tensors(program, inputs);
    let result = program.value_and_grad(&inputs, by, Device::Cpu).unwrap();
    let value = program.run(&inputs, Device::Cpu).unwrap();
    close("the value", &elements(&value[0]), &elements(&result.outputs[0]), 1e-12);
    result.gradients.iter().map(elements).collect()
}

/// Panics unless every gradient is as given by central differences of the program's output.
fn check_by_differences(program: &Program, inputs: &[Vec<f64>], by: &[usize]) {
    const STEP: f64 = 1e-5;
    let value = |inputs: &[Vec<f64>]| {
        elements(&program.run(&tensors(program, inputs), Device::Cpu).unwrap()[0])[0]
    };
    for (&input, gradient) in by.iter().zip(gradients(program, inputs, by)) {
        let mut moved = inputs.to_vec();
        let differences: Vec<f64> = (0..inputs[input].len())
            .map(|at| {
                let mut value_at = |by: f64| {
                    moved[input][at] = inputs[input][at] + by;
                    let value = value(&moved);
                    moved[input][at] = inputs[input][at];
                    value
                };
                (value_at(STEP) - value_at(-STEP)) / (2.0 * STEP)
            })
            .collect();
        assert!(gradient.iter().any(|&it| it != 0.0), "the gradient by input {input} is zero");
        close(&format!("the gradient by input {input}"), &differences, &gradient, 1e-5);
    }
}

fn close(what: &str, expected: &[f64], given: &[f64], tolerance: f64) {
    assert_eq!(expected.len(), given.len(), "{what}");
    for (at, (expected, given)) in expected.iter().zip(given).enumerate() {
        let near = (expected - given).abs() <= tolerance * expected.abs().max(1.0);
        assert!(near, "{what}: element {at} is {given}, expected {expected}");
    }
}

/// Row by column of row-major matrices.
fn matrix_product(left: &[f64], right: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let element = |row: usize, column: usize| {
        (0..inner).map(|at| left[row * inner + at] * right[at * columns + column]).sum()
    };
    (0..rows * columns).map(|at| element(at / columns, at % columns)).collect()
}

fn transposed(matrix: &[f64], [rows, columns]: [usize; 2]) -> Vec<f64> {
    (0..rows * columns).map(|at| matrix[at % rows * columns + at / rows]).collect()
}

fn subtract(left: &[f64], right: &[f64]) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| left - right).collect()
}

fn scale(values: &[f64], by: f64) -> Vec<f64> {
    values.iter().map(|value| value * by).collect()
}

/// The gradient by the logits is (p - y) / n.
#[test]
fn softmax_cross_entropy() {
    let (rows, classes) = (3, 4);
    let mut formula = Formula::of(&[&[rows, classes], &[rows, classes]]);
    let (logits, labels) = (0, 1);
    let greatest = formula.reduce(ReduceKind::ReduceMax, logits, &[1]);
    let shifted = formula.push(Binary::Subtract, &[logits, greatest]);
    let exponentials = formula.push(Unary::Exp, &[shifted]);
    let sum = formula.reduce(ReduceKind::Sum, exponentials, &[1]);
    let logarithm = formula.push(Unary::Log, &[sum]);
    let log_probabilities = formula.push(Binary::Subtract, &[shifted, logarithm]);
    let picked = formula.push(Binary::Multiply, &[log_probabilities, labels]);
    let mean = formula.mean(picked, rows);
    let loss = formula.push(Unary::Negate, &[mean]);
    let program = formula.program(loss);

    let logits = scale(&sample(&[rows, classes], 1), 5.0);
    let labels = vec![0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let probabilities: Vec<f64> = logits
        .chunks(classes)
        .flat_map(|row| {
            let sum: f64 = row.iter().map(|logit| logit.exp()).sum();
            row.iter().map(move |logit| logit.exp() / sum)
        })
        .collect();
    let expected = scale(&subtract(&probabilities, &labels), 1.0 / rows as f64);
    let given = gradients(&program, &[logits, labels], &[0]);
    close("p - y", &expected, &given[0], 1e-9);
}

/// The gradient by the weights is 2/n Xᵀ(Xw - y), by the targets -2/n (Xw - y).
#[test]
fn least_squares() {
    let (rows, columns) = (6, 3);
    let mut formula = Formula::of(&[&[rows, columns], &[columns, 1], &[rows, 1]]);
    let predicted = formula.product(0, 1);
    let residual = formula.push(Binary::Subtract, &[predicted, 2]);
    let square = formula.push(Binary::Multiply, &[residual, residual]);
    let loss = formula.mean(square, rows);
    let program = formula.program(loss);

    let x = sample(&[rows, columns], 1);
    let w = sample(&[columns, 1], 2);
    let y = sample(&[rows, 1], 3);
    let residual = subtract(&matrix_product(&x, &w, [rows, columns, 1]), &y);
    let by_weights =
        matrix_product(&transposed(&x, [rows, columns]), &residual, [columns, rows, 1]);
    let factor = 2.0 / rows as f64;
    let given = gradients(&program, &[x, w, y], &[1, 2]);
    close("by the weights", &scale(&by_weights, factor), &given[0], 1e-9);
    close("by the targets", &scale(&residual, -factor), &given[1], 1e-9);
}

/// The gradient by the weights is Xᵀ(p - y) / n, by the bias the mean of p - y.
#[test]
fn logistic_regression() {
    let (rows, columns) = (8, 3);
    let mut formula = Formula::of(&[&[rows, columns], &[columns, 1], &[], &[rows, 1]]);
    let (weights, bias, labels) = (1, 2, 3);
    let product = formula.product(0, weights);
    let logits = formula.push(Binary::Add, &[product, bias]);
    let p = formula.push(Unary::Sigmoid, &[logits]);
    let one = formula.number(1.0);
    let log_p = formula.push(Unary::Log, &[p]);
    let not_p = formula.push(Binary::Subtract, &[one, p]);
    let log_not_p = formula.push(Unary::Log, &[not_p]);
    let not_labels = formula.push(Binary::Subtract, &[one, labels]);
    let positive = formula.push(Binary::Multiply, &[labels, log_p]);
    let negative = formula.push(Binary::Multiply, &[not_labels, log_not_p]);
    let likelihood = formula.push(Binary::Add, &[positive, negative]);
    let mean = formula.mean(likelihood, rows);
    let loss = formula.push(Unary::Negate, &[mean]);
    let program = formula.program(loss);

    let x = sample(&[rows, columns], 1);
    let w = sample(&[columns, 1], 2);
    let bias = 0.3;
    let y: Vec<f64> = (0..rows).map(|row| f64::from(row % 3 == 0)).collect();
    let p: Vec<f64> = matrix_product(&x, &w, [rows, columns, 1])
        .iter()
        .map(|logit| 1.0 / (1.0 + (-logit - bias).exp()))
        .collect();
    let error = scale(&subtract(&p, &y), 1.0 / rows as f64);
    let by_weights = matrix_product(&transposed(&x, [rows, columns]), &error, [columns, rows, 1]);
    let by_bias = error.iter().sum();
    let given = gradients(&program, &[x, w, vec![bias], y], &[1, 2]);
    close("by the weights", &by_weights, &given[0], 1e-9);
    close("by the bias", &[by_bias], &given[1], 1e-9);
}

/// The state of a tanh cell after two steps, under weights that both steps share.
#[test]
fn recurrent_network() {
    let (batch, features, units) = (2, 3, 4);
    let mut formula = Formula::of(&[
        &[batch, features],
        &[batch, features],
        &[batch, units],
        &[features, units],
        &[units, units],
        &[units],
        &[batch, units],
    ]);
    let (mut state, target) = (2, 6);
    for input in [0, 1] {
        let from_input = formula.product(input, 3);
        let from_state = formula.product(state, 4);
        let sum = formula.push(Binary::Add, &[from_input, from_state]);
        let sum = formula.push(Binary::Add, &[sum, 5]);
        state = formula.push(Unary::Tanh, &[sum]);
    }
    let error = formula.push(Binary::Subtract, &[state, target]);
    let square = formula.push(Binary::Multiply, &[error, error]);
    let loss = formula.mean(square, batch);
    let program = formula.program(loss);

    let inputs: Vec<_> =
        (0..).zip(program.inputs()).map(|(at, it)| sample(&it.shape, at)).collect();
    check_by_differences(&program, &inputs, &[0, 1, 2, 3, 4, 5]);
}

/// A convolution with a bias for each feature, the maxima of windows, and a dense layer.
#[test]
fn convolutional_network() {
    let (batch, features, classes) = (2, 3, 2);
    let mut formula = Formula::of(&[
        &[batch, 2, 6, 5],
        &[features, 2, 3, 2],
        &[features],
        &[features * 6, classes],
        &[classes],
    ]);
    let convolution = Conv {
        strides: vec![1, 1],
        padding: vec![(1, 1), (0, 0)],
        input_dilation: vec![1, 1],
        kernel_dilation: vec![1, 1],
        feature_groups: 1,
        batch_groups: 1,
        input_permutation: vec![0, 1, 2, 3],
        kernel_permutation: vec![0, 1, 2, 3],
        output_permutation: vec![0, 1, 2, 3],
    };
    let image = formula.push(convolution, &[0, 1]);
    let bias = formula.push(Broadcast { shape: vec![1, features, 1, 1], axes: vec![1] }, &[2]);
    let image = formula.push(Binary::Add, &[image, bias]);
    let maxima = Window {
        kind: Reducer::Max,
        dimensions: vec![1, 1, 2, 2],
        strides: vec![1, 1, 2, 2],
        padding: vec![(0, 0); 4],
        dilations: vec![1; 4],
    };
    let pooled = formula.push(maxima, &[image]);
    let flat = formula.push(Reshape { shape: vec![batch, features * 6] }, &[pooled]);
    let product = formula.product(flat, 3);
    let output = formula.push(Binary::Add, &[product, 4]);
    let output = formula.push(Unary::Sigmoid, &[output]);
    let square = formula.push(Binary::Multiply, &[output, output]);
    let loss = formula.mean(square, batch);
    let program = formula.program(loss);

    let inputs: Vec<_> =
        (0..).zip(program.inputs()).map(|(at, it)| sample(&it.shape, at)).collect();
    check_by_differences(&program, &inputs, &[0, 1, 2, 3, 4]);
}
