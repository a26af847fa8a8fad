//! The optimizer: D. Kingma and J. Ba, *Adam: a method for stochastic optimization*, 2014.

use crate::Failure;
use crate::formula::{Formula, Value};
use ex_burn_engine::kernels::{Binary, Unary};
use ex_burn_engine::{Device, HostTensor, Program, Tensor};

const LEARNING_RATE: f64 = 2e-3;
const FIRST_DECAY: f64 = 0.9;
const SECOND_DECAY: f64 = 0.999;
const EPSILON: f64 = 1e-8;

/// What the optimizer remembers from step to step.
pub struct Adam {
    /// Inputs are the learning rate, then all parameters, first moments, second moments and
    /// gradients; outputs the new parameters, first and second moments.
    program: Program,
    first: Vec<Tensor>,
    second: Vec<Tensor>,
    steps: i32,
    device: Device,
}

impl Adam {
    /// An optimizer of parameters of these shapes.
    pub fn new(shapes: &[Vec<usize>], device: Device) -> Result<Self, Failure> {
        let zeros = |shape: &Vec<usize>| {
            let zeros = vec![0_f32; shape.iter().product()];
            Ok(Tensor::from(HostTensor::from_vec(zeros, shape)).to_device(device)?)
        };
        let moments: Vec<Tensor> = shapes.iter().map(zeros).collect::<Result<_, Failure>>()?;
        let program = program(shapes)?;
        Ok(Self { program, first: moments.clone(), second: moments, steps: 0, device })
    }

    /// The parameters after a step along their gradients.
    pub fn step(
        &mut self,
        parameters: Vec<Tensor>,
        gradients: Vec<Tensor>,
    ) -> Result<Vec<Tensor>, Failure> {
        self.steps += 1;
        // The moments start from zero; the rate makes up for it.
        let first = 1.0 - FIRST_DECAY.powi(self.steps);
        let second = 1.0 - SECOND_DECAY.powi(self.steps);
        let rate = (LEARNING_RATE * second.sqrt() / first) as f32;
        let rate = Tensor::from(HostTensor::from_vec(vec![rate], &[])).to_device(self.device)?;

        let count = parameters.len();
        let first = std::mem::take(&mut self.first);
        let second = std::mem::take(&mut self.second);
        let inputs = [vec![rate], parameters, first, second, gradients].concat();
        let mut outputs = self.program.run(&inputs, self.device)?;
        self.second = outputs.split_off(2 * count);
        self.first = outputs.split_off(count);
        Ok(outputs)
    }
}

fn program(shapes: &[Vec<usize>]) -> Result<Program, Failure> {
    let count = shapes.len();
    let mut formula = Formula::new(&[&[vec![]], shapes, shapes, shapes, shapes].concat());
    let mut outputs = vec![0; 3 * count];
    let rate = 0;
    for parameter in 0..count {
        let [old, first, second, gradient] =
            [0, 1, 2, 3].map(|group| 1 + group * count + parameter);
        let square = formula.binary(Binary::Multiply, gradient, gradient);
        let first = blend(&mut formula, FIRST_DECAY, first, gradient);
        let second = blend(&mut formula, SECOND_DECAY, second, square);

        let root = formula.unary(Unary::Sqrt, second);
        let epsilon = formula.number(EPSILON);
        let divisor = formula.binary(Binary::Add, root, epsilon);
        let direction = formula.binary(Binary::Divide, first, divisor);
        let step = formula.binary(Binary::Multiply, rate, direction);
        let new = formula.binary(Binary::Subtract, old, step);
        for (group, output) in [new, first, second].into_iter().enumerate() {
            outputs[group * count + parameter] = output;
        }
    }
    formula.program(outputs)
}

/// `decay` parts of the old value and the rest of the new one.
fn blend(formula: &mut Formula, decay: f64, old: Value, new: Value) -> Value {
    let [decay, rest] = [decay, 1.0 - decay].map(|part| formula.number(part));
    let old = formula.binary(Binary::Multiply, old, decay);
    let new = formula.binary(Binary::Multiply, new, rest);
    formula.binary(Binary::Add, old, new)
}
