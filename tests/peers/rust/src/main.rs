//! A Rust program that uses NVML through the safe crate where it suffices, and through the raw bindings
//! for MIG. Shows that bindings generated from NVIDIA's header work with the emulated library. It knows
//! nothing of Tangram and prints only what the crates return.
//!
//!     nvml-peer list            GPUs, their MIG devices, memory and processes
//!     nvml-peer walk GPU NAME   create an instance of this profile, show it, destroy it again

use nvml_wrapper::{enums::device::UsedGpuMemory, error::NvmlError, Device, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlComputeInstanceInfo_t, nvmlComputeInstanceProfileInfo_t, nvmlDevice_t,
    nvmlGpuInstanceProfileInfo_v2_t, nvmlReturn_t, NvmlLib,
};
use std::{error::Error, ffi::CStr, mem, ptr, thread::sleep, time::Duration};

type Outcome<T> = Result<T, Box<dyn Error>>;

const SUCCESS: nvmlReturn_t = 0;
const NOT_SUPPORTED: nvmlReturn_t = 3;
const IN_USE: nvmlReturn_t = 19;
const PROFILES: u32 = 18;
const MIB: u64 = 1 << 20;

/// The raw bindings; the safe crate keeps its own copy of the same library initialised.
struct Raw(NvmlLib);

impl Raw {
    fn check(&self, what: &str, code: nvmlReturn_t) -> Outcome<()> {
        if code == SUCCESS {
            return Ok(());
        }
        let text = unsafe { CStr::from_ptr(self.0.nvmlErrorString(code)) };
        Err(format!("{what}: {}", text.to_string_lossy()).into())
    }

    fn gpu(&self, index: u32) -> Outcome<nvmlDevice_t> {
        let mut gpu: nvmlDevice_t = ptr::null_mut();
        let code = unsafe { self.0.nvmlDeviceGetHandleByIndex_v2(index, &mut gpu) };
        self.check("nvmlDeviceGetHandleByIndex_v2", code)?;
        Ok(gpu)
    }

    fn uuid(&self, device: nvmlDevice_t) -> Outcome<String> {
        let mut text = [0; 96];
        let code = unsafe { self.0.nvmlDeviceGetUUID(device, text.as_mut_ptr(), 96) };
        self.check("nvmlDeviceGetUUID", code)?;
        Ok(unsafe { CStr::from_ptr(text.as_ptr()) }
            .to_str()?
            .to_string())
    }

    fn mig_devices(&self, gpu: nvmlDevice_t) -> Outcome<Vec<String>> {
        let mut most = 0;
        let code = unsafe { self.0.nvmlDeviceGetMaxMigDeviceCount(gpu, &mut most) };
        self.check("nvmlDeviceGetMaxMigDeviceCount", code)?;
        let mut uuids = Vec::new();
        for index in 0..most {
            let mut mig: nvmlDevice_t = ptr::null_mut();
            let code = unsafe {
                self.0
                    .nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &mut mig)
            };
            if code == SUCCESS {
                uuids.push(self.uuid(mig)?);
            }
        }
        Ok(uuids)
    }

    fn profile(&self, gpu: nvmlDevice_t, name: &str) -> Outcome<nvmlGpuInstanceProfileInfo_v2_t> {
        for number in 0..PROFILES {
            let mut info: nvmlGpuInstanceProfileInfo_v2_t = unsafe { mem::zeroed() };
            info.version = mem::size_of_val(&info) as u32 | 2 << 24;
            let code = unsafe {
                self.0
                    .nvmlDeviceGetGpuInstanceProfileInfoV(gpu, number, &mut info)
            };
            if code == NOT_SUPPORTED {
                continue;
            }
            self.check("nvmlDeviceGetGpuInstanceProfileInfoV", code)?;
            let found = unsafe { CStr::from_ptr(info.name.as_ptr()) }.to_str()?;
            if found == format!("MIG {name}") {
                return Ok(info);
            }
        }
        Err(format!("no profile {name}").into())
    }
}

fn show(device: &Device, indent: &str) -> Outcome<()> {
    let memory = device.memory_info()?;
    println!("{indent}{} {}", device.name()?, device.uuid()?);
    println!(
        "{indent}  memory {} MiB, used {} MiB",
        memory.total / MIB,
        memory.used / MIB
    );
    for process in device.running_compute_processes()? {
        let used = match process.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => bytes / MIB,
            UsedGpuMemory::Unavailable => 0,
        };
        let ids = (process.gpu_instance_id, process.compute_instance_id);
        println!(
            "{indent}  process {} uses {used} MiB in {ids:?}",
            process.pid
        );
    }
    Ok(())
}

fn list(nvml: &Nvml, raw: &Raw) -> Outcome<()> {
    println!(
        "driver {}, NVML {}",
        nvml.sys_driver_version()?,
        nvml.sys_nvml_version()?
    );
    for index in 0..nvml.device_count()? {
        let device = nvml.device_by_index(index)?;
        show(&device, "")?;
        let pci = device.pci_info()?;
        match device.architecture() {
            Ok(architecture) => println!("  {architecture:?} at {}", pci.bus_id),
            // The crate is older than Hopper.
            Err(NvmlError::UnexpectedVariant(n)) => {
                println!("  architecture {n} at {}", pci.bus_id)
            }
            Err(error) => return Err(error.into()),
        }
        let same = nvml.device_by_pci_bus_id(pci.bus_id)?;
        assert_eq!(same.index()?, index);
        match device.utilization_rates() {
            Ok(rates) => println!("  utilization {}%", rates.gpu),
            Err(NvmlError::NotSupported) => println!("  utilization not supported"),
            Err(error) => return Err(error.into()),
        }
        for uuid in raw.mig_devices(raw.gpu(index)?)? {
            show(&nvml.device_by_uuid(uuid)?, "  ")?;
        }
    }
    Ok(())
}

fn walk(nvml: &Nvml, raw: &Raw, index: u32, name: &str) -> Outcome<()> {
    let gpu = raw.gpu(index)?;
    let profile = raw.profile(gpu, name)?;
    let (mut gi, mut ci) = (ptr::null_mut(), ptr::null_mut());
    let code = unsafe { raw.0.nvmlDeviceCreateGpuInstance(gpu, profile.id, &mut gi) };
    raw.check("nvmlDeviceCreateGpuInstance", code)?;
    let mut whole: nvmlComputeInstanceProfileInfo_t = unsafe { mem::zeroed() };
    for number in 0..8 {
        let code = unsafe {
            raw.0
                .nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, number, 0, &mut whole)
        };
        if code == SUCCESS && whole.sliceCount == profile.sliceCount {
            break;
        }
    }
    let code = unsafe {
        raw.0
            .nvmlGpuInstanceCreateComputeInstance(gi, whole.id, &mut ci)
    };
    raw.check("nvmlGpuInstanceCreateComputeInstance", code)?;
    let mut info: nvmlComputeInstanceInfo_t = unsafe { mem::zeroed() };
    let code = unsafe { raw.0.nvmlComputeInstanceGetInfo_v2(ci, &mut info) };
    raw.check("nvmlComputeInstanceGetInfo_v2", code)?;
    show(&nvml.device_by_uuid(raw.uuid(info.device)?)?, "")?;

    let code = unsafe { raw.0.nvmlGpuInstanceDestroy(gi) };
    println!(
        "destroying the GPU instance first: {}",
        if code == IN_USE { "in use" } else { "?" }
    );
    raw.check("nvmlComputeInstanceDestroy", unsafe {
        raw.0.nvmlComputeInstanceDestroy(ci)
    })?;
    let mut code = unsafe { raw.0.nvmlGpuInstanceDestroy(gi) };
    for _ in 0..50 {
        if code != IN_USE {
            break;
        }
        sleep(Duration::from_millis(100));
        code = unsafe { raw.0.nvmlGpuInstanceDestroy(gi) };
    }
    raw.check("nvmlGpuInstanceDestroy", code)?;
    println!("left: {} MIG devices", raw.mig_devices(gpu)?.len());
    Ok(())
}

fn main() -> Outcome<()> {
    let nvml = Nvml::init()?;
    let raw = Raw(unsafe { NvmlLib::new("libnvidia-ml.so.1") }?);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => list(&nvml, &raw),
        ["walk", gpu, profile] => walk(&nvml, &raw, gpu.parse()?, profile),
        _ => Err("usage: nvml-peer list | nvml-peer walk GPU PROFILE".into()),
    }
}
