// NVML: creating, listing and destroying GPU instances.
#include "emulator/call.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::GpuState;
using emulator::Handle;
using emulator::HandleKind;
using emulator::on_gi;
using emulator::on_gpu;
using emulator::Rights;
using emulator::Target;
using emulator::to_opaque;

// The handle that a false success returns: no instance has it.
constexpr Handle kInvalidHandle{.kind = HandleKind::kGpuInstance, .generation = 0xFFFFFFFFU};

Return create(std::string_view name, Device device, unsigned profile_id, const Placement* placement,
              GpuInstance* instance) {
  return on_gpu(name, Rights::kPrivileged, device, [&](Target& t) {
    if (instance == nullptr) return kInvalidArgument;
    if (t.gpu.mig_current == 0) return kNotSupported;
    const auto profile = emulator::profile_by_id(t.board(), profile_id);
    if (!profile) return kInvalidArgument;
    const mig::Profile& p = t.board().model->profile(*profile);
    if (placement != nullptr && placement->size != static_cast<unsigned>(p.memory_slices)) {
      return kInvalidArgument;
    }
    emulator::emulate_latency(t.state.node().latencies.create_gi);
    if (t.lie) {
      Handle invalid = kInvalidHandle;
      invalid.gpu = t.index;
      *instance = to_opaque<GpuInstance>(invalid);
      return kSuccess;
    }
    return emulator::change_target(t, [&](GpuState& gpu) {
      unsigned id = 0;
      const auto start = placement == nullptr ? std::nullopt : std::optional(placement->start);
      const Return result = emulator::create_gi(gpu, *profile, start, id);
      if (result == kSuccess) {
        *instance = to_opaque<GpuInstance>(emulator::gi_handle(gpu, t.index, id));
      }
      return result;
    });
  });
}

}  // namespace

extern "C" {

Return nvmlDeviceCreateGpuInstance(Device device, unsigned profile_id, GpuInstance* instance) {
  return create("nvmlDeviceCreateGpuInstance", device, profile_id, nullptr, instance);
}

Return nvmlDeviceCreateGpuInstanceWithPlacement(Device device, unsigned profile_id,
                                                const Placement* placement, GpuInstance* instance) {
  if (placement == nullptr && emulator::session_state() != nullptr) return kInvalidArgument;
  return create("nvmlDeviceCreateGpuInstanceWithPlacement", device, profile_id, placement,
                instance);
}

Return nvmlGpuInstanceDestroy(GpuInstance instance) {
  return on_gi("nvmlGpuInstanceDestroy", Rights::kPrivileged, instance, [&](Target& t) {
    emulator::emulate_latency(t.state.node().latencies.destroy_gi);
    if (t.lie) return kSuccess;
    return emulator::change_target(t, [&](GpuState& gpu) {
      return emulator::destroy_gi(gpu, t.handle.gi, emulator::boot_time_ns());
    });
  });
}

Return nvmlDeviceGetGpuInstances(Device device, unsigned profile_id, GpuInstance* instances,
                                 unsigned* count) {
  return on_gpu("nvmlDeviceGetGpuInstances", Rights::kPrivileged, device, [&](Target& t) {
    if (instances == nullptr || count == nullptr) return kInvalidArgument;
    if (t.gpu.mig_current == 0) return kNotSupported;
    const auto profile = emulator::profile_by_id(t.board(), profile_id);
    if (!profile) return kInvalidArgument;
    *count = 0;
    for (unsigned gi = 0; gi < emulator::kGiIds; ++gi) {
      if (t.gpu.gis[gi].used == 0 || t.gpu.gis[gi].profile != profile->value()) continue;
      instances[(*count)++] = to_opaque<GpuInstance>(emulator::gi_handle(t.gpu, t.index, gi));
    }
    return kSuccess;
  });
}

Return nvmlDeviceGetGpuInstanceById(Device device, unsigned id, GpuInstance* instance) {
  return on_gpu("nvmlDeviceGetGpuInstanceById", Rights::kPrivileged, device, [&](Target& t) {
    if (instance == nullptr) return kInvalidArgument;
    if (t.gpu.mig_current == 0) return kNotSupported;
    if (id >= emulator::kGiIds || t.gpu.gis[id].used == 0) return kNotFound;
    *instance = to_opaque<GpuInstance>(emulator::gi_handle(t.gpu, t.index, id));
    return kSuccess;
  });
}

Return nvmlGpuInstanceGetInfo(GpuInstance instance, GpuInstanceInfo* info) {
  return on_gi("nvmlGpuInstanceGetInfo", Rights::kNothing, instance, [&](Target& t) {
    const mig::Profile& profile = t.board().model->profile(t.profile());
    return emulator::write_result(
        info, GpuInstanceInfo{to_opaque<Device>(emulator::gpu_handle(t.index)),
                              t.handle.gi,
                              static_cast<unsigned>(t.board().facts_of(t.profile()).nvml_id),
                              {t.gi().start, static_cast<unsigned>(profile.memory_slices)}});
  });
}
}

}  // namespace tangram::nvml
