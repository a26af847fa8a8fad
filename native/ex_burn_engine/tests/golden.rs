//! Every operation against golden vectors: operands and results written down beforehand, from the
//! reference backend of Nx, by `test/golden/generate.exs`.

use ex_burn_engine::kernels::{
    ArgReduceKind, Binary, Choose, Convert, Extreme, FourierKind, IndexedKind, Part, ReduceKind,
    Reducer, Transpose, Unary,
};
use ex_burn_engine::{
    DType, Device, Element, Graph, HostTensor, Op, Program, Result, Shape, Spec, Tensor,
    with_element,
};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// An operation with its operands and what it must return.
#[derive(Debug, Deserialize)]
struct Case {
    op: serde_json::Value,
    operands: Vec<Literal>,
    dtype: DType,
    expected: Literal,
    /// How far a float may be off, relative to values above 1.
    tolerance: f64,
}

/// A tensor written down: its elements, of complex ones both parts, of those of less than a byte
/// and of 8-bit floats the bytes that hold them.
#[derive(Debug, Deserialize)]
struct Literal {
    dtype: DType,
    shape: Shape,
    data: Vec<Number>,
}

/// A number as JSON holds it; those that it lacks are strings.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    NonFinite(NonFinite),
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NonFinite {
    Nan,
    Infinity,
    NegInfinity,
}

impl Number {
    fn element<T: Element>(self) -> T {
        match self {
            Number::Unsigned(value) => T::from_u64(value),
            Number::Signed(value) => T::from_i64(value),
            Number::Float(value) => T::from_f64(value),
            Number::NonFinite(NonFinite::Nan) => T::from_f64(f64::NAN),
            Number::NonFinite(NonFinite::Infinity) => T::from_f64(f64::INFINITY),
            Number::NonFinite(NonFinite::NegInfinity) => T::from_f64(f64::NEG_INFINITY),
        }
    }
}

impl Literal {
    fn spec(&self) -> Spec {
        Spec::new(self.dtype, self.shape.clone())
    }

    /// What is written down, as a vector.
    fn packed(&self) -> HostTensor {
        let dtype = match self.dtype {
            native if native.is_native() => native,
            DType::C64 | DType::C128 => self.dtype.stored(),
            _ => DType::U8,
        };
        with_element!(dtype, T => {
            let elements: Vec<T> = self.data.iter().map(|number| number.element()).collect();
            let length = elements.len();
            HostTensor::from_vec(elements, &[length])
        })
    }

    fn tensor(&self) -> Tensor {
        Tensor::from_bytes(&self.packed().to_bytes(), &self.spec(), Device::Cpu).unwrap()
    }
}

impl Case {
    /// The family of operations and, where it has several, which of them.
    fn label(&self) -> String {
        let (family, attributes) = self.op.as_object().unwrap().iter().next().unwrap();
        match attributes.as_str().or_else(|| attributes["kind"].as_str()) {
            Some(kind) => format!("{family} {kind}"),
            None => family.clone(),
        }
    }

    /// Runs the operation, and says what is wrong with what it returns.
    fn check(&self) -> std::result::Result<(), String> {
        let op: Op = serde_json::from_value(self.op.clone()).map_err(|error| error.to_string())?;
        let operands: Vec<Tensor> = self.operands.iter().map(Literal::tensor).collect();
        let strided: Vec<Tensor> = operands.iter().map(column_major).collect();
        for (what, result) in [
            ("row-major operands", Tensor::apply(&op, &operands, self.dtype, Device::Cpu)),
            ("column-major operands", Tensor::apply(&op, &strided, self.dtype, Device::Cpu)),
            ("a program", run(&op, &operands, self.dtype)),
        ] {
            result
                .map_err(|error| error.to_string())
                .and_then(|given| self.compare(&given))
                .map_err(|error| format!("{op:?} to {} of {what}: {error}", self.dtype))?;
        }
        Ok(())
    }

    /// Integers must be equal, floats within the tolerance; NaN equals NaN.
    fn compare(&self, given: &Tensor) -> std::result::Result<(), String> {
        let (wanted, got) = (self.expected.spec(), given.spec());
        if wanted != got {
            return Err(format!("given {got}, expected {wanted}"));
        }
        let expected = self.expected.packed();
        let given = given.to_packed(None).map_err(|error| error.to_string())?;
        let far = |wanted: f64, got: f64| {
            let same = wanted == got || (wanted.is_nan() && got.is_nan());
            // Of an infinity, everything would be within the tolerance.
            let near = wanted.is_finite()
                && (wanted - got).abs() <= self.tolerance * wanted.abs().max(1.0);
            !(same || near)
        };
        with_element!(expected.dtype(), T => {
            let given: Vec<T> = bytemuck::pod_collect_to_vec(&given.to_bytes());
            for (at, (&wanted, &got)) in expected.elements::<T>().iter().zip(&given).enumerate() {
                let wrong = if T::DTYPE.is_float() {
                    far(wanted.to_f64(), got.to_f64())
                } else {
                    wanted != got
                };
                if wrong {
                    return Err(format!("element {at} is {got:?}, expected {wanted:?}"));
                }
            }
        });
        Ok(())
    }
}

/// The same tensor with its elements in memory the other way around.
fn column_major(tensor: &Tensor) -> Tensor {
    let rank = tensor.spec().rank();
    let transpose = |tensor: &Tensor, dtype| {
        let op = Op::from(Transpose { axes: (0..rank).rev().collect() });
        Tensor::apply(&op, std::slice::from_ref(tensor), dtype, Device::Cpu).unwrap()
    };
    let turned = transpose(tensor, tensor.spec().dtype);
    let bytes = turned.to_packed(None).unwrap();
    let copy = Tensor::from_bytes(&bytes.to_bytes(), &turned.spec(), Device::Cpu).unwrap();
    transpose(&copy, copy.spec().dtype)
}

fn run(op: &Op, operands: &[Tensor], dtype: DType) -> Result<Tensor> {
    let mut graph = Graph::new(operands.iter().map(Tensor::spec).collect());
    let output = graph.push(op.clone(), &(0..operands.len()).collect::<Vec<_>>(), dtype);
    graph.outputs = vec![output];
    Ok(Program::compile(graph)?.run(operands, Device::Cpu)?.remove(0))
}

/// The cases of all families.
fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .flat_map(|path| {
            let text = fs::read_to_string(&path).unwrap();
            serde_json::from_str::<Vec<Case>>(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

#[test]
fn every_case_gives_its_golden_result() {
    let cases = cases();
    let wrong: Vec<_> = cases.iter().filter_map(|case| case.check().err()).collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_operation_has_a_case() {
    let kinds = |family: &str| match family {
        "unary" => variants::<Unary>(),
        "binary" => variants::<Binary>(),
        "convert" => variants::<Convert>(),
        "choose" => variants::<Choose>(),
        "indexed" => variants::<IndexedKind>(),
        "reduce" => variants::<ReduceKind>(),
        "arg_reduce" => variants::<ArgReduceKind>(),
        "window" | "cumulative" => variants::<Reducer>(),
        "window_scatter" => variants::<Extreme>(),
        "fourier" => variants::<FourierKind>(),
        "part" => variants::<Part>(),
        _ => &[],
    };
    assert_eq!(kinds("unary").len(), Unary::ALL.len());
    assert_eq!(kinds("binary").len(), Binary::ALL.len());

    // What others are lowered to.
    const PARTS: [&str; 3] = ["complex", "linalg", "narrow"];
    let operations: BTreeSet<String> = variants::<Op>()
        .iter()
        .filter(|family| !PARTS.contains(family))
        .flat_map(|&family| match kinds(family) {
            [] => vec![family.to_owned()],
            kinds => kinds.iter().map(|kind| format!("{family} {kind}")).collect(),
        })
        .collect();
    let covered: BTreeSet<String> = cases().iter().map(Case::label).collect();
    // Equal also the other way around: a family with kinds that the table above doesn't know.
    assert_eq!(covered, operations);
}

#[test]
fn every_type_appears_often() {
    let cases = cases();
    for &name in variants::<DType>() {
        let count = cases.iter().filter(|case| case.expected.dtype.name() == name).count();
        assert!(count >= 50, "{count} cases give {name}");
    }
}

/// The names under which an enum is read, in the order of its declaration.
fn variants<T: for<'a> Deserialize<'a>>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // Never succeeds: it is only asked what it expects.
    let _ = T::deserialize(Expectation(&mut names));
    names
}

/// A deserializer without content that keeps the names an enum asks for.
struct Expectation<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Expectation<'_> {
    type Error = de::value::Error;

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        _visitor: V,
    ) -> std::result::Result<V::Value, Self::Error> {
        *self.0 = variants;
        Err(de::Error::custom("no content"))
    }

    fn deserialize_any<V: Visitor<'de>>(
        self,
        _visitor: V,
    ) -> std::result::Result<V::Value, Self::Error> {
        Err(de::Error::custom("no content"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf option unit unit_struct newtype_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
