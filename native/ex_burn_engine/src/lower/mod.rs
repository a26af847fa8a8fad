//! Types that Burn lacks, in terms of those it has.
//!
//! A graph with values of such types becomes a graph of native ones: complex numbers become the
//! pair of their parts ([`complex`]), narrow numbers what stores them ([`narrow`]). Functions of
//! matrices become one operation whose results are cut out of its own ([`linalg`]). Kernels,
//! devices and autodiff see operations on native types alone.

mod complex;
mod linalg;
mod narrow;

use crate::kernels::{Binary, Constant, Convert, Number};
use crate::program::{Apply, Cond, While};
use crate::{DType, Error, Graph, Instruction, Op, Operation, Result, Spec, ensure};

/// Whether no value of the graph needs to be lowered.
pub fn is_native(graph: &Graph) -> bool {
    graph.inputs.iter().all(|input| input.dtype.is_native())
        && graph.instructions.iter().all(|instruction| match instruction {
            Instruction::Apply(apply) => apply.dtype.is_native(),
            Instruction::Linalg(_) => false,
            Instruction::Cond(cond) => cond.branches.iter().all(is_native),
            Instruction::While(repeat) => is_native(&repeat.condition) && is_native(&repeat.body),
        })
}

/// The native graph, and type and shape of every output of the given one.
pub fn lower(graph: Graph) -> Result<(Graph, Vec<Spec>)> {
    let (mut builder, outputs) = build(graph)?;
    builder.graph.outputs = parts(&outputs);
    Ok((builder.graph, outputs.into_iter().map(|output| output.spec).collect()))
}

/// The native graph, still without outputs, and what they are.
fn build(graph: Graph) -> Result<(Builder, Vec<Lowered>)> {
    let mut builder = Builder { graph: Graph::new(vec![]), specs: vec![] };
    let mut values: Vec<Lowered> = graph.inputs.iter().map(|input| builder.input(input)).collect();
    for instruction in graph.instructions {
        match instruction {
            Instruction::Apply(Apply { op, operands, dtype }) => {
                let operands = lookup(op.name(), &values, &operands)?;
                values.push(apply(&mut builder, &op, &operands, dtype)?);
            }
            Instruction::Linalg(factor) => {
                let operands = lookup(factor.op.name(), &values, &factor.operands)?;
                values.extend(linalg::apply(&mut builder, &factor, &operands)?);
            }
            Instruction::Cond(cond) => values.extend(builder.cond(cond, &values)?),
            Instruction::While(repeat) => values.extend(builder.repeat(repeat, &values)?),
        }
    }
    let outputs = lookup("program", &values, &graph.outputs)?;
    Ok((builder, outputs))
}

/// The types and shapes of what stores a value of `spec`.
pub fn stored(spec: &Spec) -> Vec<Spec> {
    let part = Spec::new(spec.dtype.stored(), spec.shape.clone());
    if spec.dtype.is_complex() { vec![part.clone(), part] } else { vec![part] }
}

/// As [`Operation::infer`], with at least one type that is not native.
pub(crate) fn infer(op: &Op, operands: &[Spec], dtype: DType) -> Result<Spec> {
    let is_complex = |operand: &Spec| operand.dtype.is_complex();
    if dtype.is_complex() || operands.iter().any(is_complex) {
        complex::check(op, operands, dtype)?;
    }
    if let Op::Convert(Convert::Bitcast) = op {
        return narrow::infer_bitcast(operands, dtype);
    }
    let computed = |spec: &Spec| Spec::new(spec.dtype.computed(), spec.shape.clone());
    let operands: Vec<Spec> = operands.iter().map(computed).collect();
    let mut spec = op.infer_native(&operands, dtype.computed())?;
    if let Op::Fourier(_) = op {
        ensure!(dtype.is_complex(), op.name(), dtype, "a complex result");
        spec.shape.pop();
    }
    Ok(Spec::new(dtype, spec.shape))
}

/// A value of the given graph.
#[derive(Debug, Clone)]
struct Lowered {
    /// Its type and shape there.
    spec: Spec,
    /// The values that store it: the real and the imaginary part of a complex one.
    parts: Vec<usize>,
}

impl Lowered {
    fn is_complex(&self) -> bool {
        self.spec.dtype.is_complex()
    }
}

fn lookup(op: &str, values: &[Lowered], numbers: &[usize]) -> Result<Vec<Lowered>> {
    let find = |&number: &usize| {
        values.get(number).cloned().ok_or_else(|| {
            let expected = format!("one of the {} values before", values.len());
            Error::new(op, format!("value {number}"), expected)
        })
    };
    numbers.iter().map(find).collect()
}

fn parts(values: &[Lowered]) -> Vec<usize> {
    values.iter().flat_map(|value| value.parts.clone()).collect()
}

/// Adds an operation on lowered values.
fn apply(builder: &mut Builder, op: &Op, operands: &[Lowered], dtype: DType) -> Result<Lowered> {
    let specs: Vec<Spec> = operands.iter().map(|operand| operand.spec.clone()).collect();
    let out = op.infer(&specs, dtype)?;
    let parts = if dtype.is_complex() || operands.iter().any(Lowered::is_complex) {
        complex::apply(builder, op, operands, &out)?
    } else if dtype.is_native() && specs.iter().all(|spec| spec.dtype.is_native()) {
        vec![builder.apply(op.clone(), &parts(operands), dtype)?]
    } else {
        vec![narrow::apply(builder, op, operands, &out)?]
    };
    Ok(Lowered { spec: out, parts })
}

/// The native graph that is being made.
struct Builder {
    graph: Graph,
    /// Type and shape of every value.
    specs: Vec<Spec>,
}

impl Builder {
    fn input(&mut self, spec: &Spec) -> Lowered {
        let stored = stored(spec);
        let parts = (self.specs.len()..).take(stored.len()).collect();
        self.graph.inputs.extend(stored.iter().cloned());
        self.specs.extend(stored);
        Lowered { spec: spec.clone(), parts }
    }

    /// Adds an operation on native values, and returns the number of its result.
    fn apply(&mut self, op: impl Into<Op>, operands: &[usize], dtype: DType) -> Result<usize> {
        let op = op.into();
        let specs: Vec<Spec> = operands.iter().map(|&value| self.specs[value].clone()).collect();
        self.specs.push(op.infer(&specs, dtype)?);
        self.graph.instructions.push(Instruction::apply(op, operands, dtype));
        Ok(self.specs.len() - 1)
    }

    fn constant(&mut self, value: Number, shape: &[usize], dtype: DType) -> Result<usize> {
        self.apply(Constant { value, shape: shape.to_vec() }, &[], dtype)
    }

    /// A native value as another native type.
    fn cast(&mut self, value: usize, dtype: DType) -> Result<usize> {
        if self.specs[value].dtype == dtype {
            return Ok(value);
        }
        self.apply(Convert::AsType, &[value], dtype)
    }

    /// A native value that is zero where the given one is.
    fn truth(&mut self, value: &Lowered) -> Result<usize> {
        match value.parts[..] {
            [re, im] => self.apply(Binary::LogicalOr, &[re, im], DType::U8),
            _ => self.decode(value),
        }
    }

    fn cond(&mut self, cond: Cond, values: &[Lowered]) -> Result<Vec<Lowered>> {
        let Cond { predicate, operands, branches: [yes, no] } = cond;
        let predicate = self.truth(&lookup("cond", values, &[predicate])?[0])?;
        let operands = lookup("cond", values, &operands)?;
        check_inputs("cond", &operands, &yes)?;
        check_inputs("cond", &operands, &no)?;
        let ((yes, results), (no, others)) = (lower(yes)?, lower(no)?);
        check_same("cond", &results, &others)?;
        let operands = parts(&operands);
        let instruction = Instruction::Cond(Cond { predicate, operands, branches: [yes, no] });
        Ok(self.push(instruction, results))
    }

    fn repeat(&mut self, repeat: While, values: &[Lowered]) -> Result<Vec<Lowered>> {
        let operands = lookup("while", values, &repeat.operands)?;
        check_inputs("while", &operands, &repeat.condition)?;
        check_inputs("while", &operands, &repeat.body)?;
        let (mut condition, mut predicate) = build(repeat.condition)?;
        for predicate in &mut predicate {
            predicate.parts = vec![condition.truth(predicate)?];
        }
        condition.graph.outputs = parts(&predicate);
        let condition = condition.graph;
        let (body, results) = lower(repeat.body)?;
        let carried: Vec<Spec> = operands.iter().map(|operand| operand.spec.clone()).collect();
        check_same("while", &carried, &results)?;
        let operands = parts(&operands);
        Ok(self.push(Instruction::While(While { operands, condition, body }), results))
    }

    /// Adds an instruction with several results.
    fn push(&mut self, instruction: Instruction, results: Vec<Spec>) -> Vec<Lowered> {
        self.graph.instructions.push(instruction);
        let lowered = |spec: Spec| {
            let stored = stored(&spec);
            let parts = (self.specs.len()..).take(stored.len()).collect();
            self.specs.extend(stored);
            Lowered { spec, parts }
        };
        results.into_iter().map(lowered).collect()
    }
}

fn check_inputs(op: &str, operands: &[Lowered], graph: &Graph) -> Result<()> {
    let given: Vec<Spec> = operands.iter().map(|operand| operand.spec.clone()).collect();
    check_same(op, &graph.inputs, &given)
}

fn check_same(op: &str, expected: &[Spec], given: &[Spec]) -> Result<()> {
    let show = |specs: &[Spec]| specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
    ensure!(expected == given, op, show(given), show(expected));
    Ok(())
}

#[cfg(test)]
mod tests;
