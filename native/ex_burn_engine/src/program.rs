//! Graphs of operations, checked once and run many times.

use crate::execute::{Executor, OnDevice, OnHost};
use crate::kernels::Linalg;
use crate::tensor::Operands;
use crate::{DType, Device, Error, Op, Operation, Result, Spec, Tensor, ensure, lower, shape};
use serde::Deserialize;

/// A graph as the caller writes it.
///
/// Values are numbered: first the inputs, then the results of every instruction. An instruction
/// may only use values before its own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Graph {
    /// Type and shape of every input.
    pub inputs: Vec<Spec>,
    /// What to do, in an order in which it can be done.
    pub instructions: Vec<Instruction>,
    /// The values to return.
    pub outputs: Vec<usize>,
}

impl Graph {
    /// A graph of inputs alone, to which [`Graph::push`] adds.
    pub fn new(inputs: Vec<Spec>) -> Self {
        Self { inputs, instructions: Vec::new(), outputs: Vec::new() }
    }

    /// Adds an operation, and returns the number of its result.
    pub fn push(&mut self, op: impl Into<Op>, operands: &[usize], dtype: DType) -> usize {
        let before: usize = self.instructions.iter().map(Instruction::results).sum();
        self.instructions.push(Instruction::apply(op, operands, dtype));
        self.inputs.len() + before
    }
}

/// One step of a [`Graph`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instruction {
    /// An operation; one result.
    Apply(Apply),
    /// A function of matrices; one result or several.
    Linalg(Factor),
    /// One of several graphs; its outputs.
    Cond(Cond),
    /// A graph repeated; the last values it carried.
    While(While),
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Apply {
    /// The operation.
    pub op: Op,
    /// The values it takes.
    pub operands: Vec<usize>,
    /// The type of its result.
    pub dtype: DType,
}

/// A function of matrices.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Factor {
    /// The function.
    pub op: Linalg,
    /// The values it takes.
    pub operands: Vec<usize>,
    /// The type of every result.
    pub dtypes: Vec<DType>,
}

/// A choice between two graphs of which only one runs.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Cond {
    /// The scalar that chooses: the first graph where it is not zero, else the second.
    pub predicate: usize,
    /// The values that both graphs take as inputs.
    pub operands: Vec<usize>,
    /// The two graphs, with outputs of the same types and shapes.
    pub branches: [Graph; 2],
}

/// A graph repeated while a condition holds.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct While {
    /// The values carried into the first pass.
    pub operands: Vec<usize>,
    /// From the values carried to a scalar: goes on where it is not zero.
    pub condition: Graph,
    /// From the values carried to those of the next pass, of the same types and shapes.
    pub body: Graph,
}

impl Instruction {
    /// The instruction that applies `op`.
    pub fn apply(op: impl Into<Op>, operands: &[usize], dtype: DType) -> Self {
        Instruction::Apply(Apply { op: op.into(), operands: operands.to_vec(), dtype })
    }

    /// The number of values the instruction adds.
    pub fn results(&self) -> usize {
        match self {
            Instruction::Apply(_) => 1,
            Instruction::Linalg(factor) => factor.dtypes.len(),
            Instruction::Cond(cond) => cond.branches[0].outputs.len(),
            Instruction::While(repeat) => repeat.operands.len(),
        }
    }
}

/// A graph found valid, and lowered to native types.
#[derive(Debug)]
pub struct Program {
    /// Type and shape of every input and output, as the graph has them.
    inputs: Vec<Spec>,
    outputs: Vec<Spec>,
    steps: Vec<Step>,
    /// The values that store the outputs.
    results: Vec<usize>,
    /// Type and shape of every value.
    specs: Vec<Spec>,
}

/// An instruction found valid.
#[derive(Debug)]
struct Step {
    action: Action,
    operands: Vec<usize>,
    /// The values that nothing uses after this step.
    dead: Vec<usize>,
}

#[derive(Debug)]
enum Action {
    Apply(Op, Spec),
    Cond([Program; 2]),
    While { condition: Program, body: Program },
}

impl Program {
    /// Checks every instruction of a graph.
    pub fn compile(graph: Graph) -> Result<Self> {
        for input in &graph.inputs {
            shape::check("program", &input.shape, input.dtype.size())?;
        }
        if lower::is_native(&graph) {
            return Program::compile_native(graph);
        }
        let inputs = graph.inputs.clone();
        let (graph, outputs) = lower::lower(graph)?;
        Ok(Self { inputs, outputs, ..Program::compile_native(graph)? })
    }

    fn compile_native(graph: Graph) -> Result<Self> {
        let Graph { inputs, instructions, outputs: results } = graph;
        let mut specs = inputs.clone();
        let mut steps = Vec::with_capacity(instructions.len());
        for instruction in instructions {
            let (step, results) = Step::compile(instruction, &specs)?;
            steps.push(step);
            specs.extend(results);
        }
        let outputs = lookup("program", &specs, &results)?;
        let mut program = Self { inputs, outputs, steps, results, specs };
        program.find_last_uses();
        Ok(program)
    }

    /// Type and shape of every input.
    pub fn inputs(&self) -> &[Spec] {
        &self.inputs
    }

    /// Type and shape of every output.
    pub fn outputs(&self) -> &[Spec] {
        &self.outputs
    }

    /// About how many elementary steps a run takes at most; a loop has no bound.
    pub fn work(&self) -> usize {
        self.steps.iter().fold(0, |work, step| work.saturating_add(step.work(&self.specs)))
    }

    /// Runs the program on tensors of one device; without inputs, on `device`.
    pub fn run(&self, inputs: &[Tensor], device: Device) -> Result<Vec<Tensor>> {
        self.check_inputs(inputs)?;
        Ok(match Operands::of("program", inputs, device)? {
            Operands::Host(values) => {
                Tensor::assemble(&self.outputs, self.execute(&OnHost, values)?, Device::Cpu)
            }
            Operands::Device(values, device, accelerator) => {
                let results = self.execute(&OnDevice { device: accelerator }, values)?;
                Tensor::assemble(&self.outputs, results, device)
            }
        })
    }

    /// Refuses inputs of other types or shapes than the program's.
    pub(crate) fn check_inputs(&self, inputs: &[Tensor]) -> Result<()> {
        let given: Vec<Spec> = inputs.iter().map(Tensor::spec).collect();
        self.check_specs("program", &given)
    }

    fn check_specs(&self, op: &str, given: &[Spec]) -> Result<()> {
        ensure!(
            given.len() == self.inputs.len(),
            op,
            format!("{} inputs", given.len()),
            format!("{} inputs", self.inputs.len())
        );
        for (index, (given, expected)) in given.iter().zip(&self.inputs).enumerate() {
            ensure!(given == expected, op, format!("{given} as input {index}"), expected);
        }
        Ok(())
    }

    /// Runs the steps one by one, letting go of every value after its last use.
    pub(crate) fn execute<E: Executor>(
        &self,
        executor: &E,
        inputs: Vec<E::Value>,
    ) -> Result<Vec<E::Value>> {
        let mut values: Vec<Option<E::Value>> = inputs.into_iter().map(Some).collect();
        values.reserve(self.specs.len() - values.len());
        for step in &self.steps {
            let operands = step.operands.iter().map(|&operand| alive(&values, operand));
            let mut operands = operands.collect::<Result<Vec<_>>>()?;
            step.dead.iter().for_each(|&value| values[value] = None);
            match &step.action {
                Action::Apply(op, out) => {
                    values.push(Some(executor.execute(op, operands, out)?));
                }
                Action::Cond([yes, no]) => {
                    let predicate = operands.remove(0);
                    let branch = if executor.is_true(&predicate)? { yes } else { no };
                    values.extend(branch.execute(executor, operands)?.into_iter().map(Some));
                }
                Action::While { condition, body } => {
                    let mut carried = operands;
                    while executor.is_true(&condition.execute(executor, carried.clone())?[0])? {
                        carried = body.execute(executor, carried)?;
                    }
                    values.extend(carried.into_iter().map(Some));
                }
            }
        }
        self.results.iter().map(|&result| alive(&values, result)).collect()
    }

    fn find_last_uses(&mut self) {
        let mut seen = vec![false; self.specs.len()];
        self.results.iter().for_each(|&result| seen[result] = true);
        for step in self.steps.iter_mut().rev() {
            let operands = step.operands.iter().copied();
            step.dead =
                operands.filter(|&value| !std::mem::replace(&mut seen[value], true)).collect();
        }
    }
}

impl Step {
    fn work(&self, specs: &[Spec]) -> usize {
        match &self.action {
            Action::Apply(op, out) => {
                let operands = self.operands.iter().map(|&value| specs[value].clone());
                op.work(&operands.collect::<Vec<_>>(), out)
            }
            Action::Cond([yes, no]) => yes.work().max(no.work()),
            Action::While { .. } => usize::MAX,
        }
    }

    /// The step, and type and shape of its results.
    fn compile(instruction: Instruction, specs: &[Spec]) -> Result<(Self, Vec<Spec>)> {
        let (action, operands, results) = match instruction {
            Instruction::Apply(Apply { op, operands, dtype }) => {
                let out = op.infer(&lookup(op.name(), specs, &operands)?, dtype)?;
                (Action::Apply(op, out.clone()), operands, vec![out])
            }
            Instruction::Linalg(Factor { op, .. }) => {
                return Err(Error::new(op.name(), "a graph that is not lowered", "a lowered one"));
            }
            Instruction::Cond(Cond { predicate, operands, branches: [yes, no] }) => {
                check_predicate("cond", &lookup("cond", specs, &[predicate])?)?;
                let given = lookup("cond", specs, &operands)?;
                let (yes, no) = (Program::compile(yes)?, Program::compile(no)?);
                yes.check_specs("cond", &given)?;
                no.check_specs("cond", &given)?;
                let results = yes.outputs.clone();
                check_same("cond", &results, &no.outputs)?;
                let operands = [vec![predicate], operands].concat();
                (Action::Cond([yes, no]), operands, results)
            }
            Instruction::While(While { operands, condition, body }) => {
                let carried = lookup("while", specs, &operands)?;
                let (condition, body) = (Program::compile(condition)?, Program::compile(body)?);
                condition.check_specs("while", &carried)?;
                body.check_specs("while", &carried)?;
                check_predicate("while", &condition.outputs)?;
                check_same("while", &carried, &body.outputs)?;
                (Action::While { condition, body }, operands, carried)
            }
        };
        Ok((Self { action, operands, dead: vec![] }, results))
    }
}

fn check_predicate(op: &str, given: &[Spec]) -> Result<()> {
    let shown: Vec<String> = given.iter().map(Spec::to_string).collect();
    let fits = matches!(given, [spec] if spec.rank() == 0);
    ensure!(fits, op, format!("predicate {}", shown.join(", ")), "one scalar");
    Ok(())
}

fn check_same(op: &str, expected: &[Spec], given: &[Spec]) -> Result<()> {
    let show = |specs: &[Spec]| specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
    ensure!(expected == given, op, show(given), show(expected));
    Ok(())
}

fn lookup(op: &str, specs: &[Spec], values: &[usize]) -> Result<Vec<Spec>> {
    let find = |&value: &usize| {
        specs.get(value).cloned().ok_or_else(|| {
            let expected = format!("one of the {} values before", specs.len());
            Error::new(op, format!("value {value}"), expected)
        })
    };
    values.iter().map(find).collect()
}

fn alive<V: Clone>(values: &[Option<V>], index: usize) -> Result<V> {
    values[index].clone().ok_or_else(|| {
        Error::new("program", format!("value {index} after its last use"), "a value")
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::HostTensor;
    use crate::kernels::{Binary, Unary};

    /// exp(x * y) - x, and the product.
    pub(crate) fn sample() -> Graph {
        Graph {
            inputs: vec![Spec::new(DType::F64, [2]), Spec::new(DType::F64, [])],
            instructions: vec![
                Instruction::apply(Binary::Multiply, &[0, 1], DType::F64),
                Instruction::apply(Unary::Exp, &[2], DType::F64),
                Instruction::apply(Binary::Subtract, &[3, 0], DType::F64),
            ],
            outputs: vec![4, 2],
        }
    }

    #[test]
    fn runs_in_order_and_frees_what_is_no_longer_used() {
        let program = Program::compile(sample()).unwrap();
        let dead: Vec<_> = program.steps.iter().map(|step| step.dead.clone()).collect();
        assert_eq!(dead, [vec![1], vec![], vec![3, 0]]);
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
        forward.instructions[0] = Instruction::apply(Binary::Multiply, &[0, 2], DType::F64);
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
        assert!(program.run(std::slice::from_ref(&scalar), Device::Cpu).is_err());
        let error = program.run(&[scalar.clone(), scalar], Device::Cpu).unwrap_err();
        assert_eq!(error.to_string(), "program: given f32 {} as input 0, expected f64 {2}");
    }

    fn scalars(values: &[i64]) -> Vec<Tensor> {
        values.iter().map(|&value| HostTensor::from_vec(vec![value], &[]).into()).collect()
    }

    fn run(graph: Graph, inputs: &[i64]) -> Vec<i64> {
        let program = Program::compile(graph).unwrap();
        let outputs = program.run(&scalars(inputs), Device::Cpu).unwrap();
        outputs.iter().map(|output| output.to_host().unwrap().scalar::<i64>()).collect()
    }

    fn graph(inputs: usize, instructions: Vec<Instruction>, outputs: &[usize]) -> Graph {
        let inputs = vec![Spec::new(DType::S64, []); inputs];
        Graph { inputs, instructions, outputs: outputs.to_vec() }
    }

    #[test]
    fn runs_one_branch() {
        let choice = |a: i64, b: i64| {
            let larger = Cond {
                predicate: 2,
                operands: vec![0, 1],
                branches: [graph(2, vec![], &[0, 1]), graph(2, vec![], &[1, 0])],
            };
            let greater = Instruction::apply(Binary::Greater, &[0, 1], DType::U8);
            run(graph(2, vec![greater, Instruction::Cond(larger)], &[3, 4]), &[a, b])
        };
        assert_eq!(choice(5, 3), [5, 3]);
        assert_eq!(choice(3, 5), [5, 3]);
    }

    // Euclid's algorithm.
    #[test]
    fn repeats_while_the_condition_holds() {
        let zero =
            crate::kernels::Constant { value: crate::kernels::Number::Signed(0), shape: vec![] };
        let condition = graph(
            2,
            vec![
                Instruction::apply(zero, &[], DType::S64),
                Instruction::apply(Binary::NotEqual, &[1, 2], DType::U8),
            ],
            &[3],
        );
        let remainder = Instruction::apply(Binary::Remainder, &[0, 1], DType::S64);
        let body = graph(2, vec![remainder], &[1, 2]);
        let repeat = Instruction::While(While { operands: vec![0, 1], condition, body });
        assert_eq!(run(graph(2, vec![repeat], &[2]), &[252, 105]), [21]);
    }

    #[test]
    fn refuses_branches_and_bodies_that_do_not_fit() {
        let refused = |instruction| Program::compile(graph(2, vec![instruction], &[])).is_err();
        let cond = |branches| Instruction::Cond(Cond { predicate: 0, operands: vec![1], branches });
        assert!(!refused(cond([graph(1, vec![], &[0]), graph(1, vec![], &[0])])));
        assert!(refused(cond([graph(1, vec![], &[0]), graph(1, vec![], &[])])));
        assert!(refused(cond([graph(2, vec![], &[0]), graph(1, vec![], &[0])])));
        let repeat =
            |condition, body| Instruction::While(While { operands: vec![0, 1], condition, body });
        assert!(!refused(repeat(graph(2, vec![], &[0]), graph(2, vec![], &[1, 0]))));
        assert!(refused(repeat(graph(2, vec![], &[]), graph(2, vec![], &[1, 0]))));
        assert!(refused(repeat(graph(2, vec![], &[0]), graph(2, vec![], &[1]))));
    }
}
