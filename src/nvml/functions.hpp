// The functions of NVML that the device module calls, with their C signatures. The emulator defines
// them (and more) and the device module looks them up by name, so a signature that is wrong on one
// side does not compile. Drivers since R460 export each of them, unless its comment says from when.
#pragma once

#include "nvml/abi.hpp"

// clang-format off
namespace tangram::nvml {
extern "C" {

Return nvmlInit_v2(void);
Return nvmlShutdown(void);
const char* nvmlErrorString(Return result);
Return nvmlSystemGetDriverVersion(char* version, unsigned length);
Return nvmlSystemGetNVMLVersion(char* version, unsigned length);
Return nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length);

Return nvmlDeviceGetCount_v2(unsigned* count);
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device);
Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device);
Return nvmlDeviceGetUUID(Device device, char* uuid, unsigned length);
Return nvmlDeviceGetName(Device device, char* name, unsigned length);
Return nvmlDeviceGetIndex(Device device, unsigned* index);
Return nvmlDeviceGetMinorNumber(Device device, unsigned* minor);
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci);
Return nvmlDeviceGetArchitecture(Device device, unsigned* architecture);
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory);
Return nvmlDeviceGetPcieThroughput(Device device, unsigned counter, unsigned* kbps);
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos);
Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos);
Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values);

Return nvmlDeviceSetMigMode(Device device, unsigned mode, Return* activation_status);
Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending);
Return nvmlDeviceGetGpuInstanceProfileInfo(Device device, unsigned profile, GiProfileInfo* info);
Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, unsigned profile_id, Placement* placements, unsigned* count);
Return nvmlDeviceGetGpuInstanceRemainingCapacity(Device device, unsigned profile_id, unsigned* count);
Return nvmlDeviceCreateGpuInstanceWithPlacement(Device device, unsigned profile_id, const Placement* placement, GpuInstance* instance);
Return nvmlGpuInstanceDestroy(GpuInstance instance);
Return nvmlDeviceGetGpuInstances(Device device, unsigned profile_id, GpuInstance* instances, unsigned* count);
Return nvmlDeviceGetGpuInstanceById(Device device, unsigned id, GpuInstance* instance);
Return nvmlGpuInstanceGetInfo(GpuInstance instance, GpuInstanceInfo* info);
Return nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance instance, unsigned profile, unsigned engine, CiProfileInfo* info);
Return nvmlGpuInstanceCreateComputeInstance(GpuInstance instance, unsigned profile_id, ComputeInstance* compute);
Return nvmlComputeInstanceDestroy(ComputeInstance compute);
Return nvmlGpuInstanceGetComputeInstances(GpuInstance instance, unsigned profile_id, ComputeInstance* computes, unsigned* count);
Return nvmlGpuInstanceGetComputeInstanceById(GpuInstance instance, unsigned id, ComputeInstance* compute);
Return nvmlComputeInstanceGetInfo_v2(ComputeInstance compute, ComputeInstanceInfo* info);

Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count);
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* mig);
Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device* device);
Return nvmlDeviceGetGpuInstanceId(Device mig, unsigned* id);
Return nvmlDeviceGetComputeInstanceId(Device mig, unsigned* id);

Return nvmlEventSetCreate(EventSet* set);
Return nvmlEventSetFree(EventSet set);
Return nvmlDeviceGetSupportedEventTypes(Device device, unsigned long long* types);
Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set);
Return nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned timeout_ms);
}
}  // namespace tangram::nvml
// clang-format on
