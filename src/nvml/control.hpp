// The emulator's own doors: what its libnvidia-ml.so.1 exports besides NVML, for `tangram emulate`,
// for tests, and for emulated jobs that want to be seen (as processes on an instance, as load on
// the PCIe link). A program finds them by name with dlsym; on real hardware they are not there.
// Plain C, so that any language can call them. One rule: every function works without nvmlInit,
// returns an NVML result code, and says why in tangramEmulatorError when that is not 0.
#pragma once

#include "nvml/abi.hpp"

namespace tangram::nvml {
extern "C" {

// Why the last call of this thread failed, in a sentence; never null.
const char* tangramEmulatorError(void);

// The state of the node as JSON: GPUs, instances, processes, links, faults. With a null buffer
// only *length is set, to the bytes needed with the terminating zero.
Return tangramEmulatorStatus(char* buffer, unsigned* length);

// The node as it was when the state file was made: no instances but the node file's, no processes,
// no faults. Handles that programs still have become stale. With a description (a short form or
// the path of a node file) the node becomes that one; null is what TANGRAM_EMULATE says, else the
// node stays as it was described.
Return tangramEmulatorReset(const char* description);
// What a reboot does: instances and processes are gone; a pending MIG mode takes effect on Ampere,
// and is lost on Hopper and later; GPUs that fell off are back.
Return tangramEmulatorReboot(void);
// A reset of one GPU: the same for it alone, but its mode is kept whatever its architecture.
Return tangramEmulatorResetGpu(unsigned gpu);

// Injects a fault: "CALL=WHAT", CALL the name of an NVML function ("nvmlGpuInstanceDestroy"; any
// version suffix may be left out) or * for every call on a GPU, WHAT one of
//   an error's name (IN_USE, INSUFFICIENT_RESOURCES, GPU_IS_LOST, …): the call fails with it
//   hang:MS    the call takes so much longer, then does its work
//   lie        the call says it succeeded and does nothing
// `gpu` is an index or -1 for all; `times` how often (0: until cleared); `percent` the chance that
// a call is hit (100: every one), drawn from a sequence that is the same for the same node.
Return tangramEmulatorFault(const char* fault, int gpu, unsigned times, unsigned percent);
Return tangramEmulatorClearFaults(void);
// Raises an Xid on a GPU; gi and ci are ids or kNoInstanceId.
Return tangramEmulatorXid(unsigned gpu, unsigned long long xid, unsigned gi, unsigned ci);
// The GPU falls off the bus: from now on every call on it says GPU_IS_LOST (until a reboot).
Return tangramEmulatorFallOff(unsigned gpu);

// An instance that is nobody's: as if somebody else had made it. No fault hits it.
Return tangramEmulatorForeign(unsigned gpu, const char* profile, unsigned start);

// The instance there is gone, with whatever was in it: as if somebody had removed it by force.
Return tangramEmulatorVanish(unsigned gpu, const char* profile, unsigned start);

// A process on a GPU ("GPU-…": holds the whole GPU, as a monitoring daemon would) or on a MIG
// device ("MIG-…"): listed, and in the way of destruction, until it ends or is taken back.
Return tangramEmulatorRegister(const char* uuid, unsigned pid, unsigned long long memory_bytes);
Return tangramEmulatorUnregister(const char* uuid, unsigned pid);

// The PCIe link of a GPU, shared by its MIG devices. `demand` is what a process would transfer if
// it were alone, in KB/s (0: nothing any more); `share` is what it gets beside the others: the
// link's capacity is divided equally, nobody gets more than it asks for or than one flow can have.
Return tangramEmulatorDemand(const char* uuid, unsigned pid, unsigned to_gpu_kbps,
                             unsigned from_gpu_kbps);
Return tangramEmulatorShare(const char* uuid, unsigned pid, unsigned* to_gpu_kbps,
                            unsigned* from_gpu_kbps);
}
}  // namespace tangram::nvml
