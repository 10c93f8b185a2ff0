"""A Python program that uses NVML through NVIDIA's own binding (pynvml), as Debian ships it.

Shows that the binding most tools use works with the emulated library. It knows nothing of Tangram
and prints only what the binding returns.

    nvml_peer.py list            GPUs, profiles, MIG devices, memory, processes
    nvml_peer.py walk GPU NAME   create an instance of this profile, show it, destroy it
    nvml_peer.py mode GPU        switch MIG mode off and on again
"""

import ctypes
import sys
import time

import pynvml as nvml

MIB = 1 << 20


def processes(device):
    return [
        (p.pid, p.usedGpuMemory // MIB, p.gpuInstanceId, p.computeInstanceId)
        for p in nvml.nvmlDeviceGetComputeRunningProcesses(device)
    ]


def profiles(gpu):
    """Yields the GPU instance profiles of this GPU."""
    for number in range(0x12):
        try:
            yield nvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, number)
        except nvml.NVMLError_NotSupported:
            pass


def placements(gpu, profile_id):
    count = ctypes.c_uint(0)
    nvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, profile_id, None, ctypes.byref(count))
    array = (nvml.c_nvmlGpuInstancePlacement_t * count.value)()
    nvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, profile_id, array, ctypes.byref(count))
    return [p.start for p in array]


def mig_devices(gpu):
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(gpu)):
        try:
            yield nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index)
        except nvml.NVMLError_NotFound:
            pass


def show_mig(mig):
    a = nvml.nvmlDeviceGetAttributes(mig)
    memory = nvml.nvmlDeviceGetMemoryInfo(mig)
    gi = nvml.nvmlDeviceGetGpuInstanceId(mig)
    ci = nvml.nvmlDeviceGetComputeInstanceId(mig)
    print(f"  {nvml.nvmlDeviceGetName(mig)} {nvml.nvmlDeviceGetUUID(mig)}")
    print(
        f"    GI {gi} CI {ci}, {a.multiprocessorCount} SMs, slices {a.gpuInstanceSliceCount}"
        f"/{a.computeInstanceSliceCount}, {a.memorySizeMB} MiB, {memory.used // MIB} used"
    )
    print(f"    processes {processes(mig)}")


def show_gpu(gpu):
    memory = nvml.nvmlDeviceGetMemoryInfo(gpu, nvml.nvmlMemory_v2)
    print(f"{nvml.nvmlDeviceGetName(gpu)} {nvml.nvmlDeviceGetUUID(gpu)}")
    print(
        f"  {memory.total // MIB} MiB, {memory.reserved // MIB} reserved, {memory.used // MIB} used"
        f", at {nvml.nvmlDeviceGetPciInfo(gpu).busId}, MIG {nvml.nvmlDeviceGetMigMode(gpu)}"
    )
    for p in profiles(gpu):
        try:
            free = nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(gpu, p.id)
        except nvml.NVMLError_NotSupported:
            free = "-"
        starts = placements(gpu, p.id)
        print(
            f"  {p.name} id {p.id}, {free}/{p.instanceCount} free, {p.memorySizeMB} MiB"
            f", {p.multiprocessorCount} SMs, at {starts}"
        )
    print(f"  processes {processes(gpu)}")
    for mig in mig_devices(gpu):
        show_mig(mig)


def destroy_gpu_instance(gi):
    for _ in range(50):
        try:
            return nvml.nvmlGpuInstanceDestroy(gi)
        except nvml.NVMLError_InUse:
            time.sleep(0.1)
    raise TimeoutError("the GPU instance stays in use")


def walk(gpu, name):
    profile = next(p for p in profiles(gpu) if p.name == f"MIG {name}")
    before = nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(gpu, profile.id)
    gi = nvml.nvmlDeviceCreateGpuInstance(gpu, profile.id)
    info = nvml.nvmlGpuInstanceGetInfo(gi)
    print(f"created GI {info.id} at {info.placement.start} of size {info.placement.size}")
    for number in range(nvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT):
        try:
            part = nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(gi, number, 0)
        except nvml.NVMLError_NotSupported:
            continue
        if part.sliceCount == profile.sliceCount:
            break
    ci = nvml.nvmlGpuInstanceCreateComputeInstance(gi, part.id)
    uuid = nvml.nvmlDeviceGetUUID(nvml.nvmlComputeInstanceGetInfo(ci).device)
    mig = nvml.nvmlDeviceGetHandleByUUID(uuid)
    show_mig(mig)
    try:
        nvml.nvmlGpuInstanceDestroy(gi)
    except nvml.NVMLError_InUse as error:
        print(f"GPU instance with a compute instance: {error}")
    nvml.nvmlComputeInstanceDestroy(ci)
    destroy_gpu_instance(gi)
    try:
        nvml.nvmlDeviceGetName(mig)
    except nvml.NVMLError_InvalidArgument as error:
        print(f"the MIG device afterwards: {error}")
    after = nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(gpu, profile.id)
    print(f"room before and after: {before} {after}")


def mode(gpu):
    for wanted in (0, 1):
        status = nvml.nvmlDeviceSetMigMode(gpu, wanted)
        print(f"MIG {wanted}: status {status}, mode {nvml.nvmlDeviceGetMigMode(gpu)}")


def main(verb, *rest):
    nvml.nvmlInit()
    if verb == "list":
        for index in range(nvml.nvmlDeviceGetCount()):
            show_gpu(nvml.nvmlDeviceGetHandleByIndex(index))
    elif verb == "walk":
        walk(nvml.nvmlDeviceGetHandleByIndex(int(rest[0])), rest[1])
    elif verb == "mode":
        mode(nvml.nvmlDeviceGetHandleByIndex(int(rest[0])))
    nvml.nvmlShutdown()


main(*sys.argv[1:])
