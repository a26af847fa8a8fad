//! A tensor on a device chosen at run time.

use crate::device::Accelerator;
use crate::execute::{Executor, OnDevice, OnHost};
use crate::{DType, Device, HostTensor, Op, Operation, Result, Spec, Value, ensure};
use burn_backend::tensor::Device as DeviceOf;

/// A tensor of any type and rank on any device.
///
/// Clones share their elements.
#[derive(Debug, Clone)]
pub struct Tensor {
    device: Device,
    storage: Storage,
}

/// Where the elements are.
#[derive(Debug, Clone)]
enum Storage {
    /// In main memory.
    Host(HostTensor),
    /// On one of Burn's devices.
    Device(Value<Accelerator>),
}

impl Tensor {
    /// A tensor read from its elements' bytes, row-major and in native order.
    pub fn from_bytes(bytes: &[u8], spec: &Spec, device: Device) -> Result<Self> {
        Tensor::from(HostTensor::from_bytes("from_binary", bytes, spec)?).to_device(device)
    }

    /// Type and shape.
    pub fn spec(&self) -> Spec {
        match &self.storage {
            Storage::Host(tensor) => tensor.spec(),
            Storage::Device(value) => value.spec(),
        }
    }

    /// Bytes of memory the tensor keeps, shared or not.
    pub fn byte_size(&self) -> usize {
        match &self.storage {
            Storage::Host(tensor) => tensor.storage_size(),
            Storage::Device(value) => value.spec().byte_size(),
        }
    }

    /// Where the elements are.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The tensor in main memory.
    pub fn to_host(&self) -> Result<HostTensor> {
        match &self.storage {
            Storage::Host(tensor) => Ok(tensor.clone()),
            Storage::Device(value) => value.clone().to_host("to_host"),
        }
    }

    /// The tensor as a value of Burn's on `accelerator`.
    fn to_value(&self, accelerator: &DeviceOf<Accelerator>) -> Value<Accelerator> {
        match &self.storage {
            Storage::Host(tensor) => Value::from_host(tensor, accelerator),
            Storage::Device(value) => value.clone(),
        }
    }

    /// The tensor on another device; itself where it is there already.
    pub fn to_device(&self, device: Device) -> Result<Self> {
        device.check("to_device")?;
        if device == self.device {
            return Ok(self.clone());
        }
        let host = self.to_host()?;
        Ok(match device.accelerator() {
            Some(accelerator) => Tensor::on_device(Value::from_host(&host, &accelerator), device),
            None => Tensor::from(host),
        })
    }

    /// Runs one operation on tensors of one device; without operands, the result goes to `device`.
    pub fn apply(op: &Op, operands: &[Tensor], dtype: DType, device: Device) -> Result<Self> {
        let specs: Vec<Spec> = operands.iter().map(Tensor::spec).collect();
        Tensor::compute(op, operands, &op.infer(&specs, dtype)?, device)
    }

    /// As [`Tensor::apply`], once [`Operation::infer`] gave `out` for the operands' specs.
    pub fn compute(op: &Op, operands: &[Tensor], out: &Spec, device: Device) -> Result<Self> {
        Ok(match Operands::of(op.name(), operands, device)? {
            Operands::Host(values) => Tensor::from(OnHost.execute(op, values, out)?),
            Operands::Device(values, device, accelerator) => {
                let executor = OnDevice { device: accelerator };
                Tensor::on_device(executor.execute(op, values, out)?, device)
            }
        })
    }

    pub(crate) fn on_device(value: Value<Accelerator>, device: Device) -> Self {
        Self { device, storage: Storage::Device(value) }
    }
}

impl From<HostTensor> for Tensor {
    fn from(tensor: HostTensor) -> Self {
        Self { device: Device::Cpu, storage: Storage::Host(tensor) }
    }
}

/// Tensors of one device, in the form its executor takes.
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
                let values = tensors.iter().map(|tensor| tensor.to_value(&accelerator)).collect();
                Operands::Device(values, device, accelerator)
            }
            None => Operands::Host(tensors.iter().map(Tensor::to_host).collect::<Result<_>>()?),
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
