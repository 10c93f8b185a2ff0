// NVML: MIG devices, one per compute instance, and the processes on devices.
#include <algorithm>
#include <cstring>

#include "emulator/call.hpp"
#include "emulator/identity.hpp"
#include "emulator/processes.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::MigDevice;
using emulator::on_device;
using emulator::on_gpu;
using emulator::on_mig;
using emulator::Rights;
using emulator::Target;
using emulator::to_opaque;
using emulator::write_result;

DeviceAttributes attributes(const Target& t) {
  const auto count = [](int fact) { return static_cast<unsigned>(fact); };
  const mig::ProfileFacts& f = t.board().facts_of(t.profile());
  return {.multiprocessor_count =
              emulator::ci_profile_of(t.gpu, {t.handle.gi, t.handle.ci}).multiprocessors,
          .shared_copy_engine_count = count(f.copy_engines),
          .shared_decoder_count = count(f.decoders),
          .shared_encoder_count = count(f.encoders),
          .shared_jpeg_count = count(f.jpeg),
          .shared_ofa_count = count(f.ofa),
          .gpu_instance_slice_count = count(t.board().model->profile(t.profile()).compute_slices),
          .compute_instance_slice_count = t.ci().size,
          .memory_size_mb = static_cast<unsigned long long>(f.memory_mib)};
}

// Callers without rights see the processes of their own MIG device only.
bool may_see_processes(const Target& t) {
  return t.is_mig() || t.gpu.mig_current == 0 ||
         emulator::is_permitted(t.state, Rights::kPrivileged);
}

// All processes on the device.
std::vector<ProcessInfo> processes_of(const Target& t) {
  std::vector<ProcessInfo> all;
  const auto add = [&](std::uint32_t pid, unsigned long long memory, unsigned gi, unsigned ci) {
    if (t.is_mig() && (gi != t.handle.gi || ci != t.handle.ci)) return;
    const auto same = [&](const ProcessInfo& p) {
      return p.pid == pid && p.gpu_instance_id == gi && p.compute_instance_id == ci;
    };
    if (std::ranges::none_of(all, same)) all.push_back({pid, memory, gi, ci});
  };
  for (const emulator::ProcessState& p : emulator::live_processes(t.gpu)) {
    add(p.pid, p.memory_bytes, p.gi, p.ci);
  }
  if (t.state.node().find_processes != 0) {
    const std::vector<MigDevice> devices = emulator::mig_devices(t.gpu);
    std::vector<std::string> uuids;
    for (const MigDevice mig : devices) uuids.push_back(emulator::uuid_of(t.gpu, mig));
    for (const emulator::FoundProcess& p : emulator::find_processes(t.state, uuids)) {
      add(p.pid, 0, devices[p.uuid].gi, devices[p.uuid].ci);
    }
  }
  return all;
}

// Info: the struct of the caller's version; newer versions append members.
template <class Info>
Return processes(std::string_view name, Device device, unsigned* count, Info* infos) {
  return on_device(name, device, [&](Target& t) {
    if (count == nullptr) return kInvalidArgument;
    if (!may_see_processes(t)) return kNoPermission;
    const std::vector<ProcessInfo> all = processes_of(t);
    const unsigned capacity = *count;
    *count = static_cast<unsigned>(all.size());
    if (all.empty()) return kSuccess;
    if (capacity < all.size()) return kInsufficientSize;
    if (infos == nullptr) return kInvalidArgument;
    for (std::size_t i = 0; i < all.size(); ++i) std::memcpy(&infos[i], &all[i], sizeof(Info));
    return kSuccess;
  });
}

// There are no graphics or MPS processes.
Return no_processes(std::string_view name, Device device, unsigned* count) {
  return on_device(name, device, [&](Target&) { return write_result(count, 0U); });
}

}  // namespace

extern "C" {

Return nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* count) {
  return on_gpu("nvmlDeviceGetMaxMigDeviceCount", Rights::kNothing, device, [&](Target& t) {
    return write_result(count, t.gpu.mig_current == 0 ? 0U : t.board().max_mig_devices);
  });
}

Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* mig) {
  return on_gpu("nvmlDeviceGetMigDeviceHandleByIndex", Rights::kNothing, device, [&](Target& t) {
    if (mig == nullptr) return kInvalidArgument;
    if (t.gpu.mig_current == 0) return kNotSupported;
    if (index >= t.board().max_mig_devices) return kInvalidArgument;
    const auto all = emulator::mig_devices(t.gpu);
    if (index >= all.size()) return kNotFound;
    *mig = to_opaque<Device>(emulator::mig_handle(t.gpu, t.index, all[index]));
    return kSuccess;
  });
}

Return nvmlDeviceIsMigDeviceHandle(Device device, unsigned* is_mig) {
  return on_device("nvmlDeviceIsMigDeviceHandle", device,
                   [&](Target& t) { return write_result(is_mig, t.is_mig() ? 1U : 0U); });
}

Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device* device) {
  return on_mig("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, [&](Target& t) {
    return write_result(device, to_opaque<Device>(emulator::gpu_handle(t.index)));
  });
}

Return nvmlDeviceGetGpuInstanceId(Device mig, unsigned* id) {
  return on_mig("nvmlDeviceGetGpuInstanceId", mig,
                [&](Target& t) { return write_result(id, t.handle.gi); });
}

Return nvmlDeviceGetComputeInstanceId(Device mig, unsigned* id) {
  return on_mig("nvmlDeviceGetComputeInstanceId", mig,
                [&](Target& t) { return write_result(id, t.handle.ci); });
}

Return nvmlDeviceGetAttributes_v2(Device device, DeviceAttributes* to) {
  return on_device("nvmlDeviceGetAttributes", device, [&](Target& t) {
    return t.is_mig() ? write_result(to, attributes(t)) : kNotSupported;
  });
}

// The first version has the engine counts only.
Return nvmlDeviceGetAttributes(Device device, DeviceAttributes* to) {
  return on_device("nvmlDeviceGetAttributes", device, [&](Target& t) {
    if (!t.is_mig()) return kNotSupported;
    if (to == nullptr) return kInvalidArgument;
    const DeviceAttributes full = attributes(t);
    std::memcpy(to, &full, offsetof(DeviceAttributes, gpu_instance_slice_count));
    return kSuccess;
  });
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* infos) {
  return processes("nvmlDeviceGetComputeRunningProcesses", device, count, infos);
}
Return nvmlDeviceGetComputeRunningProcesses_v2(Device device, unsigned* count, ProcessInfo* infos) {
  return processes("nvmlDeviceGetComputeRunningProcesses", device, count, infos);
}
Return nvmlDeviceGetComputeRunningProcesses(Device device, unsigned* count, ProcessInfoV1* infos) {
  return processes("nvmlDeviceGetComputeRunningProcesses", device, count, infos);
}

Return nvmlDeviceGetGraphicsRunningProcesses_v3(Device device, unsigned* count,
                                                ProcessInfo* /*infos*/) {
  return no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
Return nvmlDeviceGetGraphicsRunningProcesses_v2(Device device, unsigned* count, void* /*infos*/) {
  return no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
Return nvmlDeviceGetGraphicsRunningProcesses(Device device, unsigned* count, void* /*infos*/) {
  return no_processes("nvmlDeviceGetGraphicsRunningProcesses", device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses_v3(Device device, unsigned* count, void* /*infos*/) {
  return no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses_v2(Device device, unsigned* count, void* /*infos*/) {
  return no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}
Return nvmlDeviceGetMPSComputeRunningProcesses(Device device, unsigned* count, void* /*infos*/) {
  return no_processes("nvmlDeviceGetMPSComputeRunningProcesses", device, count);
}

Return nvmlDeviceGetRunningProcessDetailList(Device device, ProcessDetailList* list) {
  return on_device("nvmlDeviceGetRunningProcessDetailList", device, [&](Target& t) {
    if (list == nullptr) return kInvalidArgument;
    if (list->version != version_of<ProcessDetailList>(1)) return kArgumentVersionMismatch;
    if (!t.board().resetless) return kNotSupported;  // Hopper and later
    if (!may_see_processes(t)) return kNoPermission;
    const std::vector<ProcessInfo> all = processes_of(t);
    const unsigned capacity = list->count;
    list->count = static_cast<unsigned>(all.size());
    if (all.empty()) return kSuccess;
    if (capacity < all.size() || list->entries == nullptr) return kInsufficientSize;
    for (std::size_t i = 0; i < all.size(); ++i) {
      list->entries[i] = {all[i].pid, all[i].used_gpu_memory, all[i].gpu_instance_id,
                          all[i].compute_instance_id, 0};
    }
    return kSuccess;
  });
}
}

}  // namespace tangram::nvml
