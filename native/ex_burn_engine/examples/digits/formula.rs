//! Graphs of `f32` values, written as formulas.

use crate::Failure;
use ex_burn_engine::kernels::{
    ArgReduce, ArgReduceKind, Binary, Constant, Dot, Number, Reduce, ReduceKind, TieBreak, Unary,
};
use ex_burn_engine::{DType, Graph, Op, Program, Spec};

/// A value of a formula.
pub type Value = usize;

/// A graph under construction.
pub struct Formula(Graph);

impl Formula {
    /// A formula of inputs of these shapes; they are its first values.
    pub fn new(shapes: &[Vec<usize>]) -> Self {
        let inputs = shapes.iter().map(|shape| Spec::new(DType::F32, shape.clone())).collect();
        Self(Graph::new(inputs))
    }

    fn push(&mut self, op: impl Into<Op>, operands: &[Value]) -> Value {
        self.0.push(op, operands, DType::F32)
    }

    /// A number.
    pub fn number(&mut self, value: f64) -> Value {
        self.push(Constant { value: Number::Float(value), shape: vec![] }, &[])
    }

    /// A function of one value, element by element.
    pub fn unary(&mut self, function: Unary, x: Value) -> Value {
        self.push(function, &[x])
    }

    /// A function of two values, element by element.
    pub fn binary(&mut self, function: Binary, left: Value, right: Value) -> Value {
        self.push(function, &[left, right])
    }

    /// The product of two matrices.
    pub fn product(&mut self, left: Value, right: Value) -> Value {
        let dot = Dot {
            contract_left: vec![1],
            batch_left: vec![],
            contract_right: vec![0],
            batch_right: vec![],
        };
        self.push(dot, &[left, right])
    }

    /// A matrix reduced to one column.
    pub fn reduce_rows(&mut self, kind: ReduceKind, matrix: Value) -> Value {
        self.push(Reduce { kind, axes: vec![1], keep_axes: true }, &[matrix])
    }

    /// The sum of a matrix.
    pub fn sum(&mut self, matrix: Value) -> Value {
        let sum = Reduce { kind: ReduceKind::Sum, axes: vec![0, 1], keep_axes: false };
        self.push(sum, &[matrix])
    }

    /// For each row of a matrix, where its greatest element is.
    pub fn argmax_rows(&mut self, matrix: Value) -> Value {
        let argmax = ArgReduce {
            kind: ArgReduceKind::Argmax,
            axis: Some(1),
            keep_axis: false,
            tie_break: TieBreak::Low,
        };
        self.0.push(argmax, &[matrix], DType::S64)
    }

    /// The program that returns the values named.
    pub fn program(mut self, outputs: Vec<Value>) -> Result<Program, Failure> {
        self.0.outputs = outputs;
        Ok(Program::compile(self.0)?)
    }
}
