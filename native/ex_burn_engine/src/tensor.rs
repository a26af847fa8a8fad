//! A tensor on a device chosen at run time.

use crate::device::Accelerator;
use crate::execute::{Executor, OnDevice, OnHost};
use crate::{DType, Device, Graph, HostTensor, Instruction, Op, Operation, Program, Result};
use crate::{Spec, Value, ensure, pack};
use burn_backend::tensor::Device as DeviceOf;

/// A tensor of any type and rank on any device.
///
/// Clones share their elements.
#[derive(Debug, Clone)]
pub struct Tensor {
    device: Device,
    dtype: DType,
    /// What stores the elements; of complex ones, the real parts.
    storage: Storage,
    /// The imaginary parts of complex elements.
    imaginary: Option<Storage>,
}

/// Where elements of a native type are.
#[derive(Debug, Clone)]
pub(crate) enum Storage {
    /// In main memory.
    Host(HostTensor),
    /// On one of Burn's devices.
    Device(Value<Accelerator>),
}

impl Storage {
    fn spec(&self) -> Spec {
        match self {
            Storage::Host(tensor) => tensor.spec(),
            Storage::Device(value) => value.spec(),
        }
    }

    fn byte_size(&self) -> usize {
        match self {
            Storage::Host(tensor) => tensor.storage_size(),
            Storage::Device(value) => value.spec().byte_size(),
        }
    }

    fn to_host(&self) -> Result<HostTensor> {
        match self {
            Storage::Host(tensor) => Ok(tensor.clone()),
            Storage::Device(value) => value.clone().to_host("to_host"),
        }
    }

    fn to_value(&self, accelerator: &DeviceOf<Accelerator>) -> Value<Accelerator> {
        match self {
            Storage::Host(tensor) => Value::from_host(tensor, accelerator),
            Storage::Device(value) => value.clone(),
        }
    }
}

impl From<HostTensor> for Storage {
    fn from(tensor: HostTensor) -> Self {
        Storage::Host(tensor)
    }
}

impl From<Value<Accelerator>> for Storage {
    fn from(value: Value<Accelerator>) -> Self {
        Storage::Device(value)
    }
}

impl Tensor {
    /// A tensor read from its elements' bytes, row-major and in native order. Elements of less than
    /// a byte are packed, the first one in the highest bits.
    pub fn from_bytes(bytes: &[u8], spec: &Spec, device: Device) -> Result<Self> {
        let parts = pack::read("from_binary", bytes, spec)?;
        let [tensor] = &Tensor::assemble(std::slice::from_ref(spec), parts, Device::Cpu)[..] else {
            unreachable!("one spec makes one tensor")
        };
        tensor.to_device(device)
    }

    /// A tensor in main memory whose bytes are those of the first `limit` elements, or of all, as
    /// [`Tensor::from_bytes`] reads them.
    pub fn to_packed(&self, limit: Option<usize>) -> Result<HostTensor> {
        let parts: Result<Vec<_>> = self.parts().map(|part| part.to_host()?.first(limit)).collect();
        Ok(pack::write(&parts?, self.dtype))
    }

    /// Tensors of the values that store them.
    pub(crate) fn assemble<S: Into<Storage>>(
        specs: &[Spec],
        values: Vec<S>,
        device: Device,
    ) -> Vec<Self> {
        let mut values = values.into_iter().map(S::into);
        let tensor = |spec: &Spec| {
            let dtype = spec.dtype;
            let storage = values.next()?;
            let imaginary = if dtype.is_complex() { values.next() } else { None };
            Some(Self { device, dtype, storage, imaginary })
        };
        specs.iter().filter_map(tensor).collect()
    }

    fn parts(&self) -> impl Iterator<Item = &Storage> {
        std::iter::once(&self.storage).chain(&self.imaginary)
    }

    /// Type and shape.
    pub fn spec(&self) -> Spec {
        Spec { dtype: self.dtype, ..self.storage.spec() }
    }

    /// Bytes of memory the tensor keeps, shared or not.
    pub fn byte_size(&self) -> usize {
        self.parts().map(Storage::byte_size).sum()
    }

    /// Where the elements are.
    pub fn device(&self) -> Device {
        self.device
    }

    /// What stores the tensor, of complex elements the real parts, in main memory.
    pub fn to_host(&self) -> Result<HostTensor> {
        self.storage.to_host()
    }

    /// The tensor on another device; itself where it is there already.
    pub fn to_device(&self, device: Device) -> Result<Self> {
        device.check("to_device")?;
        if device == self.device {
            return Ok(self.clone());
        }
        let accelerator = device.accelerator();
        let move_part = |part: &Storage| -> Result<Storage> {
            let host = part.to_host()?;
            Ok(match &accelerator {
                Some(accelerator) => Value::from_host(&host, accelerator).into(),
                None => host.into(),
            })
        };
        Ok(Self {
            device,
            dtype: self.dtype,
            storage: move_part(&self.storage)?,
            imaginary: self.imaginary.as_ref().map(move_part).transpose()?,
        })
    }

    /// Runs one operation on tensors of one device; without operands, the result goes to `device`.
    pub fn apply(op: &Op, operands: &[Tensor], dtype: DType, device: Device) -> Result<Self> {
        let specs: Vec<Spec> = operands.iter().map(Tensor::spec).collect();
        Tensor::compute(op, operands, &op.infer(&specs, dtype)?, device)
    }

    /// As [`Tensor::apply`], once [`Operation::infer`] gave `out` for the operands' specs.
    pub fn compute(op: &Op, operands: &[Tensor], out: &Spec, device: Device) -> Result<Self> {
        if !out.dtype.is_native() || operands.iter().any(|operand| !operand.dtype.is_native()) {
            return Tensor::compute_lowered(op, operands, out, device);
        }
        Ok(match Operands::of(op.name(), operands, device)? {
            Operands::Host(values) => Tensor::from(OnHost.execute(op, values, out)?),
            Operands::Device(values, device, accelerator) => {
                let executor = OnDevice { device: accelerator };
                Tensor::on_device(executor.execute(op, values, out)?, device)
            }
        })
    }

    /// An operation on types that Burn lacks is a program of native ones.
    fn compute_lowered(op: &Op, operands: &[Tensor], out: &Spec, device: Device) -> Result<Self> {
        let count = operands.len();
        let graph = Graph {
            inputs: operands.iter().map(Tensor::spec).collect(),
            instructions: vec![Instruction::apply(
                op.clone(),
                &(0..count).collect::<Vec<_>>(),
                out.dtype,
            )],
            outputs: vec![count],
        };
        Ok(Program::compile(graph)?.run(operands, device)?.swap_remove(0))
    }

    /// A tensor of a native type.
    pub(crate) fn on_device(value: Value<Accelerator>, device: Device) -> Self {
        let dtype = value.dtype();
        Self { device, dtype, storage: value.into(), imaginary: None }
    }
}

impl From<HostTensor> for Tensor {
    fn from(tensor: HostTensor) -> Self {
        let dtype = tensor.dtype();
        Self { device: Device::Cpu, dtype, storage: tensor.into(), imaginary: None }
    }
}

/// What stores tensors of one device, in the form its executor takes.
pub(crate) enum Operands {
    Host(Vec<HostTensor>),
    Device(Vec<Value<Accelerator>>, Device, DeviceOf<Accelerator>),
}

impl Operands {
    /// Refuses tensors of several devices. Without any, they count as on `device`.
    pub(crate) fn of(op: &str, tensors: &[Tensor], device: Device) -> Result<Self> {
        let device = tensors.first().map_or(device, Tensor::device);
        for tensor in tensors {
            ensure!(
                tensor.device == device,
                op,
                format!("tensors on {device} and {}", tensor.device),
                "tensors on one device"
            );
        }
        Ok(match device.check(op)?.accelerator() {
            Some(accelerator) => {
                let parts = tensors.iter().flat_map(Tensor::parts);
                let values = parts.map(|part| part.to_value(&accelerator)).collect();
                Operands::Device(values, device, accelerator)
            }
            None => {
                let parts = tensors.iter().flat_map(Tensor::parts);
                Operands::Host(parts.map(Storage::to_host).collect::<Result<_>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Binary, Iota};

    #[test]
    fn reads_computes_and_writes() {
        let spec = Spec::new(DType::S32, [2]);
        let bytes: Vec<u8> = [1_i32, 2].into_iter().flat_map(i32::to_ne_bytes).collect();
        let tensor = Tensor::from_bytes(&bytes, &spec, Device::Cpu).unwrap();
        let op = Op::from(Binary::Add);
        let sum = Tensor::apply(&op, &[tensor.clone(), tensor], DType::S32, Device::Cpu).unwrap();
        assert_eq!(sum.to_host().unwrap().elements::<i32>().as_ref(), [2, 4]);
        assert_eq!(sum.device(), Device::Cpu);
    }

    #[test]
    fn refuses_what_no_memory_holds() {
        let op = Op::from(Iota { shape: vec![1 << 45], axis: None });
        let error = Tensor::apply(&op, &[], DType::F64, Device::Cpu).unwrap_err();
        assert_eq!(error.expected, "a result that fits in memory");
    }

    #[test]
    fn refuses_devices_that_are_not_there() {
        let tensor = Tensor::from(HostTensor::from_vec(vec![1_u8], &[]));
        for device in Device::ALL {
            let available = Device::available().contains(&device);
            assert_eq!(tensor.to_device(device).is_ok(), available, "{device}");
        }
    }
}
