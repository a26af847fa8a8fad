//! The functions of `ExBurn.Nif`.
//!
//! Those that compute come in two: one for a normal scheduler, which hands back `:dirty` for
//! anything that could take longer than a millisecond, and one of the same arguments for a
//! dirty scheduler.

use crate::memory;
use crate::reply::reply;
use crate::resource::{self, ProgramResource, TensorResource};
use crate::term::decode;
use ex_burn_engine::{
    DType, Device, Error, Graph, Op, Operation, Program, Result, Shape, Spec, Tensor, worker,
};
use rustler::{Atom, Binary, Encoder, Env, NewBinary, ResourceArc, Term};

mod atoms {
    rustler::atoms! { ok, dirty, already_deallocated }
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
        let named = |device: &Device| {
            let name = Atom::from_str(env, &device.to_string());
            name.map(|name| (name, device.title()))
                .map_err(|_| Error::new("devices", "a name", "an atom"))
        };
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
    let large = binary.decode::<Binary>().is_ok_and(|binary| binary.len() > QUICK_BYTES);
    if large || !on_cpu(device) {
        return atoms::dirty().encode(env);
    }
    reply(env, "from_binary", || read(binary, dtype, shape, device))
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
    let given = || format!("{:?}", binary.get_type()).to_lowercase();
    let bytes: Binary = binary.decode().map_err(|_| Error::new(name, given(), "a binary"))?;
    let tensor = Tensor::from_bytes(&bytes, &spec, Device::Cpu)?;
    let tensor = match device {
        Device::Cpu => tensor,
        device => worker::run(device, move || tensor.to_device(device))?,
    };
    Ok(TensorResource::new(tensor))
}

#[rustler::nif]
fn to_binary<'a>(env: Env<'a>, tensor: Term<'a>, limit: Term<'a>) -> Term<'a> {
    let quick = resource::tensor("to_binary", tensor)
        .map(|tensor| tensor.device() == Device::Cpu && tensor.spec().byte_size() <= QUICK_BYTES);
    if quick == Ok(false) {
        return atoms::dirty().encode(env);
    }
    reply(env, "to_binary", || write(env, tensor, limit))
}

#[rustler::nif(schedule = "DirtyCpu")]
fn to_binary_dirty<'a>(env: Env<'a>, tensor: Term<'a>, limit: Term<'a>) -> Term<'a> {
    reply(env, "to_binary", || write(env, tensor, limit))
}

/// The bytes of the first `limit` elements, or of all.
fn write<'a>(env: Env<'a>, tensor: Term<'a>, limit: Term<'a>) -> Result<Term<'a>> {
    let tensor = resource::tensor("to_binary", tensor)?;
    let limit: Option<usize> = decode("to_binary", limit)?;
    let host = worker::run(tensor.device(), move || tensor.to_host()?.first(limit))?;
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
        let dtype = Atom::from_str(env, &dtype.to_string());
        Ok((dtype.map_err(|_| Error::new("spec", "a type", "an atom"))?, shape))
    })
}

#[rustler::nif]
fn device<'a>(env: Env<'a>, tensor: Term<'a>) -> Term<'a> {
    reply(env, "device", || {
        let device = resource::tensor("device", tensor)?.device();
        Atom::from_str(env, &device.to_string())
            .map_err(|_| Error::new("device", "a name", "an atom"))
    })
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
    let mut dirty = false;
    let answer = reply(env, "eval", || {
        let call = Call::decode(op, operands, dtype, device)?;
        dirty = !call.is_quick()?;
        Ok(if dirty { None } else { Some(TensorResource::new(call.run()?)) })
    });
    if dirty { atoms::dirty().encode(env) } else { answer }
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

/// The arguments of `eval`.
struct Call {
    op: Op,
    operands: Vec<Tensor>,
    dtype: DType,
    device: Device,
}

impl Call {
    fn decode(op: Term, operands: Term, dtype: Term, device: Term) -> Result<Self> {
        let op: Op = decode("eval", op)?;
        let operands = resource::tensors(op.name(), operands)?;
        let dtype = decode(op.name(), dtype)?;
        let device = decode(op.name(), device)?;
        let device = operands.first().map_or(device, Tensor::device);
        Ok(Self { op, operands, dtype, device })
    }

    fn is_quick(&self) -> Result<bool> {
        let specs: Vec<Spec> = self.operands.iter().map(Tensor::spec).collect();
        let out = self.op.infer(&specs, self.dtype)?;
        Ok(self.device == Device::Cpu && self.op.work(&specs, &out) <= QUICK_WORK)
    }

    fn run(self) -> Result<Tensor> {
        Tensor::apply(&self.op, &self.operands, self.dtype, self.device)
    }
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
    let mut dirty = false;
    let answer = reply(env, "run", || {
        let (program, inputs, device) = decode_run(program, inputs, device)?;
        dirty = device != Device::Cpu || program.work > QUICK_WORK;
        if dirty { Ok(vec![]) } else { program.program.run(&inputs, device).map(references) }
    });
    if dirty { atoms::dirty().encode(env) } else { answer }
}

#[rustler::nif(schedule = "DirtyCpu")]
fn run_dirty<'a>(env: Env<'a>, program: Term<'a>, inputs: Term<'a>, device: Term<'a>) -> Term<'a> {
    reply(env, "run", || {
        let (program, inputs, device) = decode_run(program, inputs, device)?;
        worker::run(device, move || program.program.run(&inputs, device)).map(references)
    })
}

type Run = (ResourceArc<ProgramResource>, Vec<Tensor>, Device);

fn decode_run(program: Term, inputs: Term, device: Term) -> Result<Run> {
    let program = resource::program("run", program)?;
    let inputs = resource::tensors("run", inputs)?;
    let device = decode("run", device)?;
    let device = inputs.first().map_or(device, Tensor::device);
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
        let program = resource::program(name, program)?;
        let inputs = resource::tensors(name, inputs)?;
        let by: Vec<usize> = decode(name, by)?;
        let device = decode(name, device)?;
        let device = inputs.first().map_or(device, Tensor::device);
        let result =
            worker::run(device, move || program.program.value_and_grad(&inputs, &by, device))?;
        Ok((references(result.outputs), references(result.gradients)))
    })
}

fn references(tensors: Vec<Tensor>) -> Vec<ResourceArc<TensorResource>> {
    tensors.into_iter().map(TensorResource::new).collect()
}

/// Whether a term names the CPU; what names nothing is refused later.
fn on_cpu(device: Term) -> bool {
    !matches!(decode::<Device>("device", device), Ok(device) if device != Device::Cpu)
}
