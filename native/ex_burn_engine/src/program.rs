//! Graphs of operations, checked once and run many times.

use crate::execute::{Executor, OnDevice, OnHost};
use crate::tensor::Operands;
use crate::{DType, Device, Error, Op, Operation, Result, Spec, Tensor, ensure, shape};
use serde::Deserialize;

/// A graph as the caller writes it.
///
/// Values are numbered: first the inputs, then the result of every instruction. An instruction
/// may only use values before its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Graph {
    /// Type and shape of every input.
    pub inputs: Vec<Spec>,
    /// The operations, in an order in which they can run.
    pub instructions: Vec<Instruction>,
    /// The values to return.
    pub outputs: Vec<usize>,
}

impl Graph {
    /// A graph of inputs alone, to which [`Graph::push`] adds.
    pub fn new(inputs: Vec<Spec>) -> Self {
        Self { inputs, instructions: Vec::new(), outputs: Vec::new() }
    }

    /// Adds an instruction, and returns the number of its result.
    pub fn push(&mut self, op: impl Into<Op>, operands: &[usize], dtype: DType) -> usize {
        self.instructions.push(Instruction {
            op: op.into(),
            operands: operands.to_vec(),
            dtype,
        });
        self.inputs.len() + self.instructions.len() - 1
    }
}

/// One operation of a [`Graph`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Instruction {
    /// The operation.
    pub op: Op,
    /// The values it takes.
    pub operands: Vec<usize>,
    /// The type of its result.
    pub dtype: DType,
}

/// A graph found valid.
#[derive(Debug)]
pub struct Program {
    graph: Graph,
    /// Type and shape of every value.
    specs: Vec<Spec>,
    /// Per instruction, the values that nothing uses after it.
    dead: Vec<Vec<usize>>,
}

impl Program {
    /// Checks every instruction of a graph.
    pub fn compile(graph: Graph) -> Result<Self> {
        for input in &graph.inputs {
            shape::check("program", &input.shape, input.dtype.size())?;
        }
        let mut specs = graph.inputs.clone();
        for Instruction { op, operands, dtype } in &graph.instructions {
            let operands = operands.iter().map(|&value| lookup(op.name(), &specs, value).cloned());
            let out = op.infer(&operands.collect::<Result<Vec<_>>>()?, *dtype)?;
            specs.push(out);
        }
        for &value in &graph.outputs {
            lookup("program", &specs, value)?;
        }
        let dead = last_uses(&graph, specs.len());
        Ok(Self { graph, specs, dead })
    }

    /// Type and shape of every input.
    pub fn inputs(&self) -> &[Spec] {
        &self.graph.inputs
    }

    /// Type and shape of every output.
    pub fn outputs(&self) -> impl Iterator<Item = &Spec> {
        self.graph.outputs.iter().map(|&value| &self.specs[value])
    }

    /// Runs the program on tensors of one device; without inputs, on `device`.
    pub fn run(&self, inputs: &[Tensor], device: Device) -> Result<Vec<Tensor>> {
        self.check_inputs(inputs)?;
        Ok(match Operands::of("program", inputs, device)? {
            Operands::Host(values) => {
                self.execute(&OnHost, values)?.into_iter().map(Tensor::from).collect()
            }
            Operands::Device(values, device, dispatch) => {
                let outputs = self.execute(&OnDevice { device: dispatch }, values)?;
                outputs.into_iter().map(|value| Tensor::on_device(value, device)).collect()
            }
        })
    }

    /// Refuses inputs of other types or shapes than the program's.
    pub(crate) fn check_inputs(&self, inputs: &[Tensor]) -> Result<()> {
        ensure!(
            inputs.len() == self.graph.inputs.len(),
            "program",
            format!("{} inputs", inputs.len()),
            format!("{} inputs", self.graph.inputs.len())
        );
        for (index, (input, expected)) in inputs.iter().zip(&self.graph.inputs).enumerate() {
            let given = input.spec();
            ensure!(given == *expected, "program", format!("{given} as input {index}"), expected);
        }
        Ok(())
    }

    /// Runs the instructions one by one, letting go of every value after its last use.
    pub(crate) fn execute<E: Executor>(
        &self,
        executor: &E,
        inputs: Vec<E::Value>,
    ) -> Result<Vec<E::Value>> {
        let mut values: Vec<Option<E::Value>> = inputs.into_iter().map(Some).collect();
        let steps = self.graph.instructions.iter().zip(&self.dead).zip(&self.specs[values.len()..]);
        for ((Instruction { op, operands, .. }, dead), out) in steps {
            let operands = operands.iter().map(|&operand| alive(&values, operand));
            let operands = operands.collect::<Result<Vec<_>>>()?;
            dead.iter().for_each(|&value| values[value] = None);
            values.push(Some(executor.execute(op, operands, out)?));
        }
        self.graph.outputs.iter().map(|&output| alive(&values, output)).collect()
    }
}

fn lookup<'a>(op: &str, specs: &'a [Spec], value: usize) -> Result<&'a Spec> {
    specs.get(value).ok_or_else(|| {
        Error::new(
            op,
            format!("value {value}"),
            format!("one of the {} values before", specs.len()),
        )
    })
}

fn alive<V: Clone>(values: &[Option<V>], index: usize) -> Result<V> {
    values[index].clone().ok_or_else(|| {
        Error::new("program", format!("value {index} after its last use"), "a value")
    })
}

fn last_uses(graph: &Graph, values: usize) -> Vec<Vec<usize>> {
    let mut seen = vec![false; values];
    graph.outputs.iter().for_each(|&output| seen[output] = true);
    let mut dead: Vec<Vec<usize>> = graph
        .instructions
        .iter()
        .rev()
        .map(|instruction| {
            let operands = instruction.operands.iter().copied();
            operands.filter(|&operand| !std::mem::replace(&mut seen[operand], true)).collect()
        })
        .collect();
    dead.reverse();
    dead
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::HostTensor;
    use crate::kernels::{Binary, Unary};

    pub(crate) fn step(op: impl Into<Op>, operands: &[usize], dtype: DType) -> Instruction {
        Instruction { op: op.into(), operands: operands.to_vec(), dtype }
    }

    /// exp(x * y) - x, and the product.
    pub(crate) fn sample() -> Graph {
        Graph {
            inputs: vec![Spec::new(DType::F64, [2]), Spec::new(DType::F64, [])],
            instructions: vec![
                step(Binary::Multiply, &[0, 1], DType::F64),
                step(Unary::Exp, &[2], DType::F64),
                step(Binary::Subtract, &[3, 0], DType::F64),
            ],
            outputs: vec![4, 2],
        }
    }

    #[test]
    fn runs_in_order_and_frees_what_is_no_longer_used() {
        let program = Program::compile(sample()).unwrap();
        assert_eq!(program.dead, [vec![1], vec![], vec![3, 0]]);
        let inputs = [
            HostTensor::from_vec(vec![1.0, 2.0], &[2]).into(),
            HostTensor::from_vec(vec![0.5], &[]).into(),
        ];
        let outputs = program.run(&inputs, Device::Cpu).unwrap();
        let elements = |at: usize| outputs[at].to_host().unwrap().elements::<f64>().into_owned();
        assert_eq!(elements(0), [0.5_f64.exp() - 1.0, 1_f64.exp() - 2.0]);
        assert_eq!(elements(1), [0.5, 1.0]);
    }

    #[test]
    fn refuses_broken_graphs_and_inputs() {
        let mut forward = sample();
        forward.instructions[0].operands = vec![0, 2];
        let error = Program::compile(forward).unwrap_err();
        assert_eq!(
            error.to_string(),
            "multiply: given value 2, expected one of the 2 values before"
        );

        let mut missing = sample();
        missing.outputs = vec![9];
        assert!(Program::compile(missing).is_err());

        let mut empty = sample();
        empty.inputs[0].shape = vec![0];
        assert!(Program::compile(empty).is_err());

        let program = Program::compile(sample()).unwrap();
        let scalar: Tensor = HostTensor::from_vec(vec![1_f32], &[]).into();
        assert!(program.run(&[scalar.clone()], Device::Cpu).is_err());
        let error = program.run(&[scalar.clone(), scalar], Device::Cpu).unwrap_err();
        assert_eq!(error.to_string(), "program: given f32 {} as input 0, expected f64 {2}");
    }
}
