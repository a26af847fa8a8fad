//! Devices: the CPU, always, and whatever graphics processors this build and machine have.

use crate::{Error, Result};
use burn_backend::Backend;
use burn_backend::tensor::Device as DeviceOf;
use serde::Deserialize;
use std::fmt;
use std::sync::OnceLock;

/// The backend of all devices but the CPU.
#[cfg(any(feature = "cuda", feature = "vulkan", feature = "metal"))]
pub(crate) type Accelerator = burn_dispatch::Dispatch;

/// The backend of all devices but the CPU. This build has none of them, and makes no tensor of it.
#[cfg(not(any(feature = "cuda", feature = "vulkan", feature = "metal")))]
pub(crate) type Accelerator = burn_flex::Flex;

/// A kind of device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Device {
    /// Main memory and all cores.
    Cpu,
    /// An NVIDIA graphics processor through CUDA.
    Cuda,
    /// A graphics processor through Vulkan.
    Vulkan,
    /// A graphics processor through Apple's Metal.
    Metal,
}

impl Device {
    /// Every kind of device there is, the most capable first.
    pub const ALL: [Device; 4] = [Device::Cuda, Device::Metal, Device::Vulkan, Device::Cpu];

    /// The devices that work here, the most capable first; the CPU is always among them.
    ///
    /// Found out once: the first call starts every driver this build knows.
    pub fn available() -> &'static [Device] {
        static AVAILABLE: OnceLock<Vec<Device>> = OnceLock::new();
        AVAILABLE.get_or_init(|| Device::ALL.into_iter().filter(|device| device.works()).collect())
    }

    /// The device itself, or why it can't be used.
    pub fn check(self, op: &str) -> Result<Self> {
        if Device::available().contains(&self) {
            return Ok(self);
        }
        let available: Vec<_> = Device::available().iter().map(Device::to_string).collect();
        Err(Error::new(op, format!("device {self}"), format!("one of: {}", available.join(", "))))
    }

    /// The kind's own name, as people know it.
    pub fn title(self) -> &'static str {
        match self {
            Device::Cpu => "CPU (Burn Flex)",
            Device::Cuda => "CUDA (NVIDIA GPU)",
            Device::Vulkan => "Vulkan (GPU)",
            Device::Metal => "Metal (Apple GPU)",
        }
    }

    /// Burn's name for the device; none for the CPU and for what this build leaves out.
    pub(crate) fn accelerator(self) -> Option<DeviceOf<Accelerator>> {
        match self {
            #[cfg(feature = "cuda")]
            Device::Cuda => Some(burn_dispatch::DispatchDevice::Cuda(Default::default())),
            #[cfg(feature = "vulkan")]
            Device::Vulkan => Some(burn_dispatch::DispatchDevice::Vulkan(Default::default())),
            #[cfg(feature = "metal")]
            Device::Metal => Some(burn_dispatch::DispatchDevice::Metal(Default::default())),
            _ => None,
        }
    }

    /// Whether the device's driver starts. A missing one panics deep inside the driver's own crate.
    fn works(self) -> bool {
        if self == Device::Cpu {
            return true;
        }
        if cfg!(target_os = "linux") && self == Device::Cuda {
            let drivers = ["/dev/nvidiactl", "/dev/dxg"];
            if !drivers.iter().any(|path| std::path::Path::new(path).exists()) {
                return false;
            }
        }
        self.accelerator().is_some_and(|device| {
            std::panic::catch_unwind(|| Accelerator::sync(&device).is_ok()).unwrap_or(false)
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Device::Cpu => "cpu",
            Device::Cuda => "cuda",
            Device::Vulkan => "vulkan",
            Device::Metal => "metal",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_always_there() {
        assert_eq!(Device::available().last(), Some(&Device::Cpu));
        assert_eq!(Device::Cpu.check("test"), Ok(Device::Cpu));
    }
}
