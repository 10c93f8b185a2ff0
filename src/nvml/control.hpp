// The emulator's control functions: what its libnvidia-ml.so.1 exports besides NVML, for `tangram
// emulate`, for tests, and for emulated jobs that register themselves (as processes on an instance,
// as load on the PCIe link). Looked up with dlsym; real drivers do not have them. Plain C. Every
// function works without nvmlInit, returns an NVML result code, and sets tangramEmulatorError if
// that is not 0.
#pragma once

#include "nvml/abi.hpp"

namespace tangram::nvml {
extern "C" {

// Why the last call of this thread failed, as a sentence; never null.
const char* tangramEmulatorError(void);

// The state of the node as JSON: GPUs, instances, processes, links, faults. With a null buffer,
// sets *length to the bytes needed including the terminating zero.
Return tangramEmulatorStatus(char* buffer, unsigned* length);

// Resets the node to the state in which the state file was created: only the node file's instances,
// no processes, no faults. Handles that programs hold become stale. `description` (a short form or
// the path of a node file) replaces the node; null: TANGRAM_EMULATE, or if that is not set the same
// node.
Return tangramEmulatorReset(const char* description);
// Emulates a reboot: instances and processes are gone; a pending MIG mode takes effect on Ampere
// and is lost on Hopper and later; lost GPUs are back.
Return tangramEmulatorReboot(void);
// Emulates the reset of one GPU: like a reboot for it alone, but its MIG mode is kept.
Return tangramEmulatorResetGpu(unsigned gpu);

// Injects a fault: "CALL=WHAT". CALL: the name of an NVML function ("nvmlGpuInstanceDestroy"; a
// version suffix may be left out) or * for every call on a GPU. WHAT: one of
//   an error's name (IN_USE, INSUFFICIENT_RESOURCES, GPU_IS_LOST, …): the call fails with it
//   hang:MS    the call takes MS milliseconds longer, then does its work
//   lie        the call reports success and does nothing
// `gpu`: index or -1 for all. `times`: how often (0: until cleared). `percent`: probability that a
// call is hit (100: every one), from a sequence that is the same for the same node.
Return tangramEmulatorFault(const char* fault, int gpu, unsigned times, unsigned percent);
Return tangramEmulatorClearFaults(void);
// Raises an Xid on a GPU; `gi` and `ci`: ids or kNoInstanceId.
Return tangramEmulatorXid(unsigned gpu, unsigned long long xid, unsigned gi, unsigned ci);
// Makes the GPU fall off the bus: every call on it returns GPU_IS_LOST until a reboot.
Return tangramEmulatorFallOff(unsigned gpu);

// Creates an instance as another program would. Faults do not apply.
Return tangramEmulatorForeign(unsigned gpu, const char* profile, unsigned start);

// Removes the instance there and its processes, as if by force.
Return tangramEmulatorVanish(unsigned gpu, const char* profile, unsigned start);

// Registers a process on a GPU ("GPU-…": holds the whole GPU, as a monitoring daemon does) or on a
// MIG device ("MIG-…"): it is listed, and blocks destruction until it ends or is unregistered.
Return tangramEmulatorRegister(const char* uuid, unsigned pid, unsigned long long memory_bytes);
Return tangramEmulatorUnregister(const char* uuid, unsigned pid);

// The PCIe link of a GPU, shared by its MIG devices. Demand: what a process would transfer if it
// were alone, in KB/s (0: none). Share: what it gets beside the others. The link's capacity is
// divided equally; no process gets more than its demand or than one flow's maximum.
Return tangramEmulatorDemand(const char* uuid, unsigned pid, unsigned to_gpu_kbps,
                             unsigned from_gpu_kbps);
Return tangramEmulatorShare(const char* uuid, unsigned pid, unsigned* to_gpu_kbps,
                            unsigned* from_gpu_kbps);
}
}  // namespace tangram::nvml
