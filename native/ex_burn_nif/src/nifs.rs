//! The functions of `ExBurn.Nif`.
//!
//! Those that compute come in two: one for a normal scheduler, which hands back `:dirty` for
//! anything that could take longer than a millisecond, and one of the same arguments for a
//! dirty scheduler.

use crate::memory;
use crate::reply::{atom, quick, reply};
use crate::resource::{self, ProgramResource, TensorResource};
use crate::term::decode;
use ex_burn_engine::{
    DType, Device, Error, Graph, Op, Operation, Program, Result, Shape, Spec, Tensor, worker,
};
use rustler::{Binary, Env, NewBinary, ResourceArc, Term};

mod atoms {
    rustler::atoms! { ok, already_deallocated }
}

/// Elements, or steps of similar cost, that a normal scheduler has time for.
const QUICK_WORK: usize = 1 << 13;

/// Bytes that a normal scheduler has time to copy.
const QUICK_BYTES: usize = 1 << 16;

#[rustler::nif]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// How many functions this library registers.
#[rustler::nif]
fn function_count() -> usize {
    rustler::codegen_runtime::inventory::iter::<rustler::Nif>().count()
}

/// Name and title of every device that works here, the most capable first.
#[rustler::nif(schedule = "DirtyCpu")]
fn devices(env: Env) -> Term {
    reply(env, "devices", || {
        let named = |device: &Device| Ok((atom(env, device)?, device.title()));
        Device::available().iter().map(named).collect::<Result<Vec<_>>>()
    })
}

/// Bytes held by all tensors.
#[rustler::nif]
fn memory_used() -> usize {
    memory::live()
}

#[rustler::nif]
fn from_binary<'a>(
    env: Env<'a>,
    binary: Term<'a>,
    dtype: Term<'a>,
    shape: Term<'a>,
    device: Term<'a>,
) -> Term<'a> {
    quick(env, "from_binary", || {
        let large = binary.decode::<Binary>().is_ok_and(|binary| binary.len() > QUICK_BYTES);
        let on_cpu = decode::<Device>("from_binary", device)? == Device::Cpu;
        if large || !on_cpu { Ok(None) } else { read(binary, dtype, shape, device).map(Some) }
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn from_binary_dirty<'a>(
    env: Env<'a>,
    binary: Term<'a>,
    dtype: Term<'a>,
    shape: Term<'a>,
    device: Term<'a>,
) -> Term<'a> {
    reply(env, "from_binary", || read(binary, dtype, shape, device))
}

fn read(
    binary: Term,
    dtype: Term,
    shape: Term,
    device: Term,
) -> Result<ResourceArc<TensorResource>> {
    let name = "from_binary";
    let spec = Spec::new(decode::<DType>(name, dtype)?, decode::<Shape>(name, shape)?);
    let device: Device = decode(name, device)?;
    let refused = |_| Error::new(name, resource::describe(binary), "a binary");
    let bytes: Binary = binary.decode().map_err(refused)?;
    let tensor = Tensor::from_bytes(&bytes, &spec, Device::Cpu)?;
    let tensor = match device {
        Device::Cpu => tensor,
        device => worker::run(device, move || tensor.to_device(device))?,
    };
    Ok(TensorResource::new(tensor))
}

#[rustler::nif]
fn to_binary<'a>(env: Env<'a>, tensor: Term<'a>, limit: Term<'a>) -> Term<'a> {
    quick(env, "to_binary", || {
        let source = resource::tensor("to_binary", tensor)?;
        let large = source.spec().byte_size() > QUICK_BYTES;
        let on_cpu = source.device() == Device::Cpu;
        if large || !on_cpu { Ok(None) } else { write(env, tensor, limit).map(Some) }
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn to_binary_dirty<'a>(env: Env<'a>, tensor: Term<'a>, limit: Term<'a>) -> Term<'a> {
    reply(env, "to_binary", || write(env, tensor, limit))
}

/// The bytes of the first `limit` elements, or of all.
fn write<'a>(env: Env<'a>, tensor: Term<'a>, limit: Term<'a>) -> Result<Term<'a>> {
    let tensor = resource::tensor("to_binary", tensor)?;
    let limit: Option<usize> = decode("to_binary", limit)?;
    let host = worker::run(tensor.device(), move || tensor.to_packed(limit))?;
    let bytes = host.to_bytes();
    let mut binary = NewBinary::new(env, bytes.len());
    binary.as_mut_slice().copy_from_slice(&bytes);
    Ok(binary.into())
}

/// Type and shape.
#[rustler::nif]
fn spec<'a>(env: Env<'a>, tensor: Term<'a>) -> Term<'a> {
    reply(env, "spec", || {
        let Spec { dtype, shape } = resource::tensor("spec", tensor)?.spec();
        Ok((atom(env, dtype)?, shape))
    })
}

#[rustler::nif]
fn device<'a>(env: Env<'a>, tensor: Term<'a>) -> Term<'a> {
    reply(env, "device", || atom(env, resource::tensor("device", tensor)?.device()))
}

/// `:ok` when the tensor's memory was let go, `:already_deallocated` if that was done before.
#[rustler::nif]
fn deallocate<'a>(env: Env<'a>, tensor: Term<'a>) -> Term<'a> {
    reply(env, "deallocate", || {
        let deallocated = resource::reference("deallocate", tensor)?.deallocate();
        Ok(if deallocated { atoms::ok() } else { atoms::already_deallocated() })
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn to_device<'a>(env: Env<'a>, tensor: Term<'a>, device: Term<'a>) -> Term<'a> {
    reply(env, "to_device", || {
        let tensor = resource::tensor("to_device", tensor)?;
        let device: Device = decode("to_device", device)?;
        let worker = if device == Device::Cpu { tensor.device() } else { device };
        worker::run(worker, move || tensor.to_device(device)).map(TensorResource::new)
    })
}

/// One operation. Without operands, the result goes to `device`.
#[rustler::nif]
fn eval<'a>(
    env: Env<'a>,
    op: Term<'a>,
    operands: Term<'a>,
    dtype: Term<'a>,
    device: Term<'a>,
) -> Term<'a> {
    quick(env, "eval", || {
        let call = Call::decode(op, operands, dtype, device)?;
        if call.is_quick() { call.run().map(TensorResource::new).map(Some) } else { Ok(None) }
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn eval_dirty<'a>(
    env: Env<'a>,
    op: Term<'a>,
    operands: Term<'a>,
    dtype: Term<'a>,
    device: Term<'a>,
) -> Term<'a> {
    reply(env, "eval", || {
        let call = Call::decode(op, operands, dtype, device)?;
        worker::run(call.device, move || call.run()).map(TensorResource::new)
    })
}

/// The arguments of `eval`, found to fit.
struct Call {
    op: Op,
    operands: Vec<Tensor>,
    out: Spec,
    device: Device,
    work: usize,
}

impl Call {
    fn decode(op: Term, operands: Term, dtype: Term, device: Term) -> Result<Self> {
        let op: Op = decode("eval", op)?;
        let operands = resource::tensors(op.name(), operands)?;
        let dtype = decode(op.name(), dtype)?;
        let device = device_of(op.name(), &operands, device)?;
        let specs: Vec<Spec> = operands.iter().map(Tensor::spec).collect();
        let out = op.infer(&specs, dtype)?;
        let work = op.work(&specs, &out);
        Ok(Self { op, operands, out, device, work })
    }

    fn is_quick(&self) -> bool {
        self.device == Device::Cpu && self.work <= QUICK_WORK
    }

    fn run(self) -> Result<Tensor> {
        Tensor::compute(&self.op, &self.operands, &self.out, self.device)
    }
}

/// The device of the tensors; without any, the one that the term names.
fn device_of(function: &str, tensors: &[Tensor], device: Term) -> Result<Device> {
    let device = decode(function, device)?;
    Ok(tensors.first().map_or(device, Tensor::device))
}

/// Checks a graph of operations and keeps it.
#[rustler::nif(schedule = "DirtyCpu")]
fn compile<'a>(env: Env<'a>, graph: Term<'a>) -> Term<'a> {
    reply(env, "compile", || {
        let graph: Graph = decode("compile", graph)?;
        Ok(ProgramResource::new(Program::compile(graph)?))
    })
}

/// Runs a program. Without inputs, it runs on `device`.
#[rustler::nif]
fn run<'a>(env: Env<'a>, program: Term<'a>, inputs: Term<'a>, device: Term<'a>) -> Term<'a> {
    quick(env, "run", || {
        let (program, inputs, device) = decode_run("run", program, inputs, device)?;
        if device != Device::Cpu || program.work > QUICK_WORK {
            return Ok(None);
        }
        program.program.run(&inputs, device).map(references).map(Some)
    })
}

#[rustler::nif(schedule = "DirtyCpu")]
fn run_dirty<'a>(env: Env<'a>, program: Term<'a>, inputs: Term<'a>, device: Term<'a>) -> Term<'a> {
    reply(env, "run", || {
        let (program, inputs, device) = decode_run("run", program, inputs, device)?;
        worker::run(device, move || program.program.run(&inputs, device)).map(references)
    })
}

type Run = (ResourceArc<ProgramResource>, Vec<Tensor>, Device);

fn decode_run(function: &str, program: Term, inputs: Term, device: Term) -> Result<Run> {
    let program = resource::program(function, program)?;
    let inputs = resource::tensors(function, inputs)?;
    let device = device_of(function, &inputs, device)?;
    Ok((program, inputs, device))
}

/// Runs a program and differentiates its first output by the inputs whose positions are in `by`.
#[rustler::nif(schedule = "DirtyCpu")]
fn value_and_grad<'a>(
    env: Env<'a>,
    program: Term<'a>,
    inputs: Term<'a>,
    by: Term<'a>,
    device: Term<'a>,
) -> Term<'a> {
    let name = "value_and_grad";
    reply(env, name, || {
        let (program, inputs, device) = decode_run(name, program, inputs, device)?;
        let by: Vec<usize> = decode(name, by)?;
        let result =
            worker::run(device, move || program.program.value_and_grad(&inputs, &by, device))?;
        Ok((references(result.outputs), references(result.gradients)))
    })
}

fn references(tensors: Vec<Tensor>) -> Vec<ResourceArc<TensorResource>> {
    tensors.into_iter().map(TensorResource::new).collect()
}
