// The emulated libnvidia-ml.so.1 as a client uses it: loaded at run time, every function looked up
// by name. NVML(nvmlInit_v2)() calls one; its type is that of our declaration, so a wrong argument
// does not compile. The tests link nothing of the emulator.
#pragma once

#include <algorithm>
#include <cstddef>

#include "nvml/abi.hpp"
#include "nvml/control.hpp"
#include "nvml/functions.hpp"

// Functions that the emulator has in addition to nvml/functions.hpp.
namespace tangram::nvml {
extern "C" {

Return nvmlInit(void);
Return nvmlInitWithFlags(unsigned flags);
Return nvmlSystemGetCudaDriverVersion_v2(int* version);
Return nvmlUnitGetCount(unsigned* count);
Return nvmlGetExcludedDeviceCount(unsigned* count);
Return nvmlDeviceGetHandleByUUIDV(const Uuid* uuid, Device* device);
Return nvmlDeviceGetHandleByPciBusId_v2(const char* id, Device* device);
Return nvmlDeviceGetHandleBySerial(const char* serial, Device* device);
Return nvmlDeviceGetSerial(Device device, char* serial, unsigned length);
Return nvmlDeviceGetBrand(Device device, unsigned* brand);
Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor);
Return nvmlDeviceGetPciInfoExt(Device device, PciInfoExt* info);
Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory);
Return nvmlDeviceGetBAR1MemoryInfo(Device device, Bar1Memory* memory);
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* utilization);
Return nvmlDeviceGetNumGpuCores(Device device, unsigned* cores);
Return nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* degrees);
Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts);
Return nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* mhz);
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation);
Return nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessInfoV1* infos);
Return nvmlDeviceGetRunningProcessDetailList(Device device, ProcessDetailList* list);
Return nvmlDeviceGetGpuInstanceProfileInfoV(Device device, unsigned profile, GiProfileInfoV2* info);
Return nvmlDeviceGetGpuInstanceProfileInfoByIdV(Device device, unsigned id, GiProfileInfoV2* info);
Return nvmlDeviceGetGpuInstancePossiblePlacements(Device device, unsigned profile_id,
                                                  Placement* list, unsigned* count);
Return nvmlDeviceCreateGpuInstance(Device device, unsigned profile_id, GpuInstance* instance);
Return nvmlGpuInstanceGetComputeInstanceProfileInfoV(GpuInstance instance, unsigned number,
                                                     unsigned engine, CiProfileInfoV2* info);
Return nvmlGpuInstanceGetComputeInstanceRemainingCapacity(GpuInstance instance, unsigned profile_id,
                                                          unsigned* count);
Return nvmlGpuInstanceGetComputeInstancePossiblePlacements(GpuInstance instance,
                                                           unsigned profile_id, Placement* list,
                                                           unsigned* count);
Return nvmlGpuInstanceCreateComputeInstanceWithPlacement(GpuInstance instance, unsigned profile_id,
                                                         const Placement* placement,
                                                         ComputeInstance* compute);
Return nvmlDeviceIsMigDeviceHandle(Device device, unsigned* is_mig);
Return nvmlDeviceGetAttributes_v2(Device device, DeviceAttributes* attributes);
}
}  // namespace tangram::nvml
// clang-format on

namespace tangram::tests {

// Aborts the test if the library lacks the name.
[[nodiscard]] void* find_symbol(const char* name);

template <std::size_t N>
struct Name {
  consteval Name(const char (&name)[N]) { std::copy_n(name, N, text); }
  char text[N]{};
};

// Looks the function up once.
template <Name kName, class Function>
[[nodiscard]] Function* function() {
  static auto* const found = reinterpret_cast<Function*>(find_symbol(kName.text));
  return found;
}

}  // namespace tangram::tests

#define NVML(name) (::tangram::tests::function<#name, decltype(::tangram::nvml::name)>())
