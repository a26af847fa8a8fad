//! Gradients of whole programs, by Burn's reverse-mode automatic differentiation.

use crate::execute::{Recorded, Recording};
use crate::tensor::Operands;
use crate::{Device, Error, HostTensor, Program, Result, Spec, Tensor, Value};
use crate::{ensure, lower, shape};
use burn_autodiff::Autodiff;
use burn_backend::{AutodiffBackend, Backend};
use burn_flex::Flex;

/// What a program returns, and the gradients of its first output.
#[derive(Debug)]
pub struct Differentiated {
    /// The program's outputs.
    pub outputs: Vec<Tensor>,
    /// The gradient by every input asked for, of that input's type and shape.
    pub gradients: Vec<Tensor>,
}

impl Program {
    /// Runs the program and differentiates its first output, a float scalar, by the inputs named
    /// in `by`. An input that the output does not depend on has a gradient of zeros.
    pub fn value_and_grad(
        &self,
        inputs: &[Tensor],
        by: &[usize],
        device: Device,
    ) -> Result<Differentiated> {
        self.check_inputs(inputs)?;
        let by = &self.check_differentiable(by)?;
        Ok(match Operands::of("value_and_grad", inputs, device)? {
            Operands::Host(values) => {
                let values = values.into_iter().map(Value::from).collect();
                let (outputs, gradients) =
                    self.differentiate::<Flex>(values, by, Default::default())?;
                let tensors = |values: Vec<Value<Flex>>| -> Result<Vec<HostTensor>> {
                    values.into_iter().map(HostTensor::try_from).collect()
                };
                Differentiated {
                    outputs: Tensor::assemble(self.outputs(), tensors(outputs)?, device),
                    gradients: tensors(gradients)?.into_iter().map(Tensor::from).collect(),
                }
            }
            Operands::Device(values, device, accelerator) => {
                let (outputs, gradients) = self.differentiate(values, by, accelerator)?;
                let gradients = gradients.into_iter();
                Differentiated {
                    outputs: Tensor::assemble(self.outputs(), outputs, device),
                    gradients: gradients.map(|value| Tensor::on_device(value, device)).collect(),
                }
            }
        })
    }

    /// The values that store the inputs named in `by`.
    fn check_differentiable(&self, by: &[usize]) -> Result<Vec<usize>> {
        let op = "value_and_grad";
        let output = self.outputs().first();
        let is_real = |spec: &Spec| spec.dtype.is_native() && spec.dtype.is_float();
        ensure!(
            output.is_some_and(|output| is_real(output) && output.size() == 1),
            op,
            output.map_or("no output".to_owned(), Spec::to_string),
            "a float scalar as first output"
        );
        shape::check_axes(op, by, self.inputs().len()).map_err(|_| {
            Error::new(
                op,
                format!("inputs {by:?}"),
                format!("inputs below {}, each once", self.inputs().len()),
            )
        })?;
        for &input in by {
            let spec = &self.inputs()[input];
            ensure!(is_real(spec), op, format!("input {input} of {spec}"), "a float input");
        }
        let before = |input: usize| -> usize {
            self.inputs()[..input].iter().map(|spec| lower::stored(spec).len()).sum()
        };
        Ok(by.iter().map(|&input| before(input)).collect())
    }

    #[allow(clippy::type_complexity)]
    fn differentiate<B: Backend>(
        &self,
        inputs: Vec<Value<B>>,
        by: &[usize],
        device: B::Device,
    ) -> Result<(Vec<Value<B>>, Vec<Value<B>>)> {
        let inputs: Vec<_> = inputs
            .into_iter()
            .enumerate()
            .map(|(index, value)| {
                let tracked = by.contains(&index);
                Recorded { value: Value::record(value, tracked), tracked }
            })
            .collect();
        let leaves: Vec<Value<Autodiff<B>>> =
            by.iter().map(|&at| inputs[at].value.clone()).collect();
        let outputs = self.execute(&Recording { device: device.clone() }, inputs)?;

        let zeros =
            |leaf: &Value<_>| Value::from_host(&HostTensor::filled(&leaf.spec(), 0.0), &device);
        let gradients = if outputs[0].tracked {
            let root = outputs[0].value.clone().into_float("value_and_grad")?;
            let gradients = Autodiff::<B>::backward(root);
            let gradient = |leaf: &Value<Autodiff<B>>| match leaf {
                Value::Float(tensor) => Autodiff::<B>::grad(tensor, &gradients).map(Value::Float),
                Value::Int(_) => None,
            };
            leaves.iter().map(|leaf| gradient(leaf).unwrap_or_else(|| zeros(leaf))).collect()
        } else {
            leaves.iter().map(zeros).collect()
        };
        let outputs = outputs.into_iter().map(|output| output.value.detach()).collect();
        Ok((outputs, gradients))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;
    use crate::kernels::{Binary, Convert, Unary};
    use crate::{Graph, Instruction};

    fn scalar(value: f64) -> Tensor {
        HostTensor::from_vec(vec![value], &[]).into()
    }

    fn gradients(graph: Graph, inputs: &[Tensor], by: &[usize]) -> Vec<f64> {
        let program = Program::compile(graph).unwrap();
        let result = program.value_and_grad(inputs, by, Device::Cpu).unwrap();
        let gradients = result.gradients.iter();
        gradients.map(|gradient| gradient.to_host().unwrap().scalar::<f64>()).collect()
    }

    // sin(x y) + x: closed form y cos(x y) + 1 and x cos(x y).
    #[test]
    fn follows_every_path_to_an_input() {
        let graph = Graph {
            inputs: vec![Spec::new(DType::F64, []); 3],
            instructions: vec![
                Instruction::apply(Binary::Multiply, &[0, 1], DType::F64),
                Instruction::apply(Unary::Sin, &[3], DType::F64),
                Instruction::apply(Binary::Add, &[4, 0], DType::F64),
            ],
            outputs: vec![5],
        };
        let (x, y) = (0.7_f64, 1.9_f64);
        let by_all = gradients(graph, &[scalar(x), scalar(y), scalar(3.0)], &[0, 1, 2]);
        let expected = [y * (x * y).cos() + 1.0, x * (x * y).cos(), 0.0];
        for (given, expected) in by_all.iter().zip(expected) {
            assert!((given - expected).abs() < 1e-12, "{by_all:?}");
        }
    }

    #[test]
    fn nothing_flows_through_an_integer() {
        let graph = Graph {
            inputs: vec![Spec::new(DType::F64, [])],
            instructions: vec![
                Instruction::apply(Convert::AsType, &[0], DType::S32),
                Instruction::apply(Convert::AsType, &[1], DType::F64),
            ],
            outputs: vec![2],
        };
        assert_eq!(gradients(graph, &[scalar(2.5)], &[0]), [0.0]);
    }

    #[test]
    fn refuses_what_has_no_gradient() {
        let compile = |output| {
            let graph = Graph {
                inputs: vec![Spec::new(DType::F64, []), Spec::new(DType::S32, [2])],
                instructions: vec![],
                outputs: vec![output],
            };
            Program::compile(graph).unwrap()
        };
        let inputs = [scalar(1.0), HostTensor::from_vec(vec![1, 2], &[2]).into()];
        let refused = |output, by: &[usize]| {
            compile(output).value_and_grad(&inputs, by, Device::Cpu).unwrap_err().to_string()
        };
        assert_eq!(
            refused(1, &[0]),
            "value_and_grad: given s32 {2}, expected a float scalar as first output"
        );
        assert_eq!(
            refused(0, &[1]),
            "value_and_grad: given input 1 of s32 {2}, expected a float input"
        );
        assert_eq!(
            refused(0, &[2]),
            "value_and_grad: given inputs [2], expected inputs below 2, each once"
        );
    }
}
