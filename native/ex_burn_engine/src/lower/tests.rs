use crate::kernels::*;
use crate::program::While;
use crate::{
    DType, Device, Error, Graph, HostTensor, Instruction, Op, Program, Result, Spec, Tensor,
};
use std::slice::from_ref;

fn complex(values: &[(f32, f32)], shape: &[usize]) -> Tensor {
    let bytes: Vec<u8> =
        values.iter().flat_map(|&(re, im)| [re, im]).flat_map(f32::to_ne_bytes).collect();
    Tensor::from_bytes(&bytes, &Spec::new(DType::C64, shape), Device::Cpu).unwrap()
}

fn narrow(bytes: &[u8], dtype: DType, shape: &[usize]) -> Tensor {
    Tensor::from_bytes(bytes, &Spec::new(dtype, shape), Device::Cpu).unwrap()
}

fn try_run(op: impl Into<Op>, operands: &[Tensor], dtype: DType) -> Result<Tensor> {
    Tensor::apply(&op.into(), operands, dtype, Device::Cpu)
}

fn run(op: impl Into<Op>, operands: &[Tensor], dtype: DType) -> Tensor {
    try_run(op, operands, dtype).unwrap_or_else(|error| panic!("{error}"))
}

fn pairs(tensor: &Tensor) -> Vec<(f32, f32)> {
    assert_eq!(tensor.spec().dtype, DType::C64);
    let packed = tensor.to_packed(None).unwrap();
    packed.elements::<f32>().as_chunks::<2>().0.iter().map(|&[re, im]| (re, im)).collect()
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    tensor.to_packed(None).unwrap().to_bytes().into_owned()
}

#[test]
fn complex_arithmetic() {
    let a = complex(&[(1.0, 2.0), (3.0, -1.0)], &[2]);
    let b = complex(&[(0.0, 1.0)], &[]);
    let operands = [a.clone(), b.clone()];
    assert_eq!(pairs(&run(Binary::Add, &operands, DType::C64)), [(1.0, 3.0), (3.0, 0.0)]);
    assert_eq!(pairs(&run(Binary::Multiply, &operands, DType::C64)), [(-2.0, 1.0), (1.0, 3.0)]);
    let quotient = run(Binary::Divide, &operands, DType::C64);
    assert_eq!(pairs(&quotient), [(2.0, -1.0), (-1.0, -3.0)]);
    assert_eq!(bytes(&run(Binary::Equal, &[a.clone(), a.clone()], DType::U8)), [1, 1]);
    assert_eq!(bytes(&run(Binary::NotEqual, &operands, DType::U8)), [1, 1]);
    assert_eq!(pairs(&run(Unary::Negate, from_ref(&b), DType::C64)), [(0.0, -1.0)]);
    let real = Tensor::from(HostTensor::from_vec(vec![2_i32, 3], &[2]));
    assert_eq!(pairs(&run(Binary::Add, &[real, a.clone()], DType::C64)), [(3.0, 2.0), (6.0, -1.0)]);
    let modulus = run(Unary::Abs, &[complex(&[(3.0, 4.0)], &[])], DType::F32);
    assert_eq!(modulus.to_host().unwrap().scalar::<f32>(), 5.0);
}

#[test]
fn complex_parts_and_conversions() {
    let a = complex(&[(1.0, 2.0), (3.0, -1.0)], &[2]);
    let imaginary = run(Part::Imag, from_ref(&a), DType::F32);
    assert_eq!(imaginary.to_host().unwrap().elements::<f32>().as_ref(), [2.0, -1.0]);
    assert_eq!(pairs(&run(Part::Conjugate, from_ref(&a), DType::C64)), [(1.0, -2.0), (3.0, 1.0)]);
    let integers = run(Convert::AsType, from_ref(&a), DType::U4);
    assert_eq!(bytes(&integers), [0x13]);
    let back = run(Convert::AsType, &[integers], DType::C64);
    assert_eq!(pairs(&back), [(1.0, 0.0), (3.0, 0.0)]);
    let wide = run(Convert::AsType, &[a], DType::C128);
    assert_eq!(wide.to_packed(Some(1)).unwrap().elements::<f64>().as_ref(), [1.0, 2.0]);
    let constant = Constant { value: Number::Complex(1.5, -0.5), shape: vec![2] };
    assert_eq!(pairs(&run(constant, &[], DType::C64)), [(1.5, -0.5); 2]);
}

#[test]
fn complex_reductions_and_products() {
    let a = complex(&[(1.0, 1.0), (2.0, 0.0), (0.0, 1.0), (1.0, -1.0)], &[2, 2]);
    let reduce = |kind, axes: &[usize]| Reduce { kind, axes: axes.to_vec(), keep_axes: false };
    let sum = run(reduce(ReduceKind::Sum, &[0]), from_ref(&a), DType::C64);
    assert_eq!(pairs(&sum), [(1.0, 2.0), (3.0, -1.0)]);
    // (1 + i) 2 i (1 - i) = 4 i
    let product = run(reduce(ReduceKind::Product, &[0, 1]), from_ref(&a), DType::C64);
    assert_eq!(pairs(&product), [(0.0, 4.0)]);
    let three = complex(&[(1.0, 1.0), (2.0, 0.0), (0.0, 1.0)], &[3]);
    let product = run(reduce(ReduceKind::Product, &[0]), from_ref(&three), DType::C64);
    assert_eq!(pairs(&product), [(-2.0, 2.0)]);
    let cumulative = Cumulative { kind: Reducer::Product, axis: 0, reverse: false };
    let running = run(cumulative, from_ref(&three), DType::C64);
    assert_eq!(pairs(&running), [(1.0, 1.0), (2.0, 2.0), (-2.0, 2.0)]);
    let window = Window {
        kind: Reducer::Product,
        dimensions: vec![2],
        strides: vec![1],
        padding: vec![(1, 0)],
        dilations: vec![1],
    };
    let windows = run(window, &[three], DType::C64);
    assert_eq!(pairs(&windows), [(1.0, 1.0), (2.0, 2.0), (0.0, 2.0)]);
    let dot = Dot {
        contract_left: vec![1],
        batch_left: vec![],
        contract_right: vec![0],
        batch_right: vec![],
    };
    let square = run(dot, &[a.clone(), a], DType::C64);
    // [[1+i, 2], [i, 1-i]]² = [[4i, 4], [2i, 0]], with (1+i)² = 2i and (1-i)² = -2i.
    assert_eq!(pairs(&square), [(0.0, 4.0), (4.0, 0.0), (0.0, 2.0), (0.0, 0.0)]);
}

#[test]
fn complex_elements_move() {
    let a = complex(&[(1.0, 1.0), (2.0, 0.0), (0.0, 1.0), (1.0, -1.0)], &[2, 2]);
    let turned = run(Transpose { axes: vec![1, 0] }, from_ref(&a), DType::C64);
    assert_eq!(pairs(&turned), [(1.0, 1.0), (0.0, 1.0), (2.0, 0.0), (1.0, -1.0)]);
    let index = narrow(&[0x10], DType::U4, &[1]);
    assert_eq!(
        pairs(&run(Take { axis: 0 }, &[a.clone(), index], DType::C64)),
        [(0.0, 1.0), (1.0, -1.0)]
    );
    let test = complex(&[(0.0, 1.0), (0.0, 0.0)], &[2]);
    let zero = Tensor::from(HostTensor::from_vec(vec![0.0_f32], &[]));
    let chosen = run(Choose::Select, &[test, a, zero], DType::C64);
    assert_eq!(pairs(&chosen), [(1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (0.0, 0.0)]);
}

#[test]
fn complex_predicates_choose_between_all_types() {
    let number = |value, dtype| run(Constant { value, shape: vec![] }, &[], dtype);
    let (one, zero) = (Number::Signed(1), Number::Signed(0));
    let narrow = [DType::S2, DType::S4, DType::U2, DType::U4, DType::F8, DType::F8E4M3Fn];
    let types = [&DType::NATIVE[..], &narrow, &[DType::C64, DType::C128]].concat();
    let tests = complex(&[(0.0, 0.0), (0.0, -2.0), (f32::NAN, 0.0), (-0.0, 0.0)], &[4]);
    for test in [DType::C64, DType::C128] {
        let test = run(Convert::AsType, from_ref(&tests), test);
        for (yes, no) in types.iter().flat_map(|&yes| types.iter().map(move |&no| (yes, no))) {
            let any_complex = yes.is_complex() || no.is_complex();
            for out in [yes, no].into_iter().filter(|out| out.is_complex() == any_complex) {
                let operands = [test.clone(), number(one, yes), number(zero, no)];
                let chosen = run(Choose::Select, &operands, out);
                let given = bytes(&run(Convert::AsType, &[chosen], DType::U8));
                assert_eq!(given, [0, 1, 1, 0], "{yes} and {no} to {out}");
            }
        }
    }
}

#[test]
fn complex_numbers_have_no_order() {
    let a = complex(&[(1.0, 1.0)], &[1]);
    for op in [Op::from(Sort { axis: 0, descending: false }), Op::from(Unary::Floor)] {
        let error: Error = try_run(op, from_ref(&a), DType::C64).unwrap_err();
        assert_eq!(error.expected, "no complex numbers");
    }
    assert!(try_run(Binary::Less, &[a.clone(), a.clone()], DType::U8).is_err());
    assert!(try_run(Take { axis: 0 }, &[a.clone(), a], DType::C64).is_err());
}

#[test]
fn narrow_integers_wrap() {
    // 7, -8 and -1, 1
    let (a, b) = (narrow(&[0x78], DType::S4, &[2]), narrow(&[0xF1], DType::S4, &[2]));
    let operands = [a.clone(), b];
    assert_eq!(bytes(&run(Binary::Add, &operands, DType::S4)), [0x69]);
    assert_eq!(bytes(&run(Binary::Subtract, &operands, DType::S4)), [0x87]);
    assert_eq!(bytes(&run(Binary::Less, &operands, DType::U8)), [0, 1]);
    assert_eq!(bytes(&run(Convert::Bitcast, from_ref(&a), DType::U4)), [0x78]);
    assert_eq!(bytes(&run(Convert::AsType, from_ref(&a), DType::U2)), [0b1100_0000]);
    assert_eq!(bytes(&run(Unary::PopulationCount, from_ref(&a), DType::S4)), [0x31]);
    assert_eq!(bytes(&run(Unary::CountLeadingZeros, from_ref(&a), DType::S4)), [0x10]);
    assert_eq!(bytes(&run(Unary::BitwiseNot, &[a], DType::S4)), [0x87]);
    let floats = Tensor::from(HostTensor::from_vec(vec![100.0_f32, -100.0], &[2]));
    assert_eq!(bytes(&run(Convert::AsType, &[floats], DType::S4)), [0x78]);
}

#[test]
fn small_floats_round() {
    let a = narrow(&[0x3C, 0x40], DType::F8, &[2]);
    // 1 and 2, times 1.25 (0x3D)
    let b = narrow(&[0x3D], DType::F8, &[]);
    assert_eq!(bytes(&run(Binary::Multiply, &[a.clone(), b], DType::F8)), [0x3D, 0x41]);
    let bits = run(Convert::Bitcast, from_ref(&a), DType::U8);
    assert_eq!(bytes(&bits), [0x3C, 0x40]);
    assert_eq!(bytes(&run(Convert::Bitcast, &[bits], DType::F8)), [0x3C, 0x40]);
    let other = run(Convert::AsType, from_ref(&a), DType::F8E4M3Fn);
    assert_eq!(bytes(&other), [0x38, 0x40]);
    let turned = run(Reverse { axes: vec![0] }, &[a], DType::F8);
    assert_eq!(bytes(&turned), [0x40, 0x3C]);
}

#[test]
fn small_floats_round_once() {
    // A tie between 1 and 1.25 that only an f64 tells from what is more.
    let more = 1.125 * (1.0 + f64::EPSILON);
    let constant = |value| Constant { value, shape: vec![] };
    let number = Tensor::from(HostTensor::from_vec(vec![more], &[]));
    assert_eq!(bytes(&run(Convert::AsType, &[number], DType::F8)), [0x3D]);
    assert_eq!(bytes(&run(constant(Number::Float(more)), &[], DType::F8)), [0x3D]);
    assert_eq!(bytes(&run(constant(Number::Float(1.125)), &[], DType::F8)), [0x3C]);
    let complex = run(constant(Number::Complex(more, 0.0)), &[], DType::C128);
    assert_eq!(bytes(&run(Convert::AsType, &[complex], DType::F8)), [0x3D]);
}

#[test]
fn transforms_complex_and_real_tensors() {
    let op = Fourier { kind: FourierKind::Fft, axis: 0, length: 4, eps: 1e-10 };
    let real = Tensor::from(HostTensor::from_vec(vec![1_i32, 0, 0, 0], &[4]));
    assert_eq!(pairs(&run(op.clone(), &[real], DType::C64)), [(1.0, 0.0); 4]);
    let turning = complex(&[(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)], &[4]);
    let image = run(op, from_ref(&turning), DType::C64);
    assert_eq!(pairs(&image), [(0.0, 0.0), (4.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
    let inverse = Fourier { kind: FourierKind::Ifft, axis: 0, length: 4, eps: 1e-10 };
    assert_eq!(pairs(&run(inverse, &[image], DType::C64)), pairs(&turning));
}

#[test]
fn loops_carry_what_is_lowered() {
    // z = z * z while |z| < 10, counted in a u4.
    let mut condition = Graph::new(vec![Spec::new(DType::C64, []), Spec::new(DType::U4, [])]);
    let modulus = condition.push(Unary::Abs, &[0], DType::F32);
    let ten =
        condition.push(Constant { value: Number::Signed(10), shape: vec![] }, &[], DType::F32);
    let less = condition.push(Binary::Less, &[modulus, ten], DType::U8);
    condition.outputs = vec![less];
    let mut body = Graph::new(condition.inputs.clone());
    let square = body.push(Binary::Multiply, &[0, 0], DType::C64);
    let one = body.push(Constant { value: Number::Signed(1), shape: vec![] }, &[], DType::U4);
    let count = body.push(Binary::Add, &[1, one], DType::U4);
    body.outputs = vec![square, count];
    let mut graph = Graph::new(condition.inputs.clone());
    graph.instructions.push(Instruction::While(While { operands: vec![0, 1], condition, body }));
    graph.outputs = vec![2, 3];
    let program = Program::compile(graph).unwrap();
    let inputs = [complex(&[(0.0, 2.0)], &[]), narrow(&[0], DType::U4, &[])];
    let outputs = program.run(&inputs, Device::Cpu).unwrap();
    assert_eq!(pairs(&outputs[0]), [(16.0, 0.0)]);
    assert_eq!(bytes(&outputs[1]), [0x20]);
}
