// NVML: compute instance profiles, creating and destroying compute instances.
#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "emulator/call.hpp"
#include "emulator/identity.hpp"
#include "emulator/processes.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::CiProfile;
using emulator::GpuState;
using emulator::Handle;
using emulator::HandleKind;
using emulator::MigDevice;
using emulator::on_ci;
using emulator::on_gi;
using emulator::Rights;
using emulator::Target;
using emulator::to_opaque;
using emulator::write_result;

CiProfileInfo info_of(const Target& t, const CiProfile& profile) {
  const mig::ProfileFacts& f = t.board().facts_of(t.profile());
  const auto shared = [](int fact) { return static_cast<unsigned>(fact); };
  return {.id = profile.number,
          .slice_count = profile.slices,
          .instance_count = profile.max_count,
          .multiprocessor_count = profile.multiprocessors,
          .shared_copy_engine_count = shared(f.copy_engines),
          .shared_decoder_count = shared(f.decoders),
          .shared_encoder_count = shared(f.encoders),
          .shared_jpeg_count = shared(f.jpeg),
          .shared_ofa_count = shared(f.ofa)};
}

std::string name_of(const Target& t, const CiProfile& profile) {
  const mig::Profile& gi = t.board().model->profile(t.profile());
  const bool whole = profile.slices == gi.compute_slices;
  return cat("MIG ", whole ? "" : cat(unsigned{profile.slices}, "c."), gi.name);
}

// Finds the profile of that number in this instance.
Return find_profile(const Target& t, unsigned number, unsigned engine, const CiProfile*& profile) {
  if (number >= kCiProfileCount || engine != kCiEngineShared) return kInvalidArgument;
  profile = emulator::ci_profile_by_id(t.gpu, t.handle.gi, number);
  return profile == nullptr ? kNotSupported : kSuccess;
}

Return create(std::string_view name, GpuInstance instance, unsigned profile_id,
              const Placement* placement, ComputeInstance* compute) {
  return on_gi(name, Rights::kPrivileged, instance, [&](Target& t) {
    if (compute == nullptr) return kInvalidArgument;
    const CiProfile* profile = emulator::ci_profile_by_id(t.gpu, t.handle.gi, profile_id);
    if (profile == nullptr || (placement != nullptr && placement->size != profile->slices)) {
      return kInvalidArgument;
    }
    emulator::emulate_latency(t.state.node().latencies.create_ci);
    if (t.lie) {
      Handle invalid = t.handle;
      invalid.kind = HandleKind::kComputeInstance;
      invalid.generation = 0xFFFFFFFFU;
      *compute = to_opaque<ComputeInstance>(invalid);
      return kSuccess;
    }
    return emulator::change_target(t, [&](GpuState& gpu) {
      unsigned id = 0;
      const auto start = placement == nullptr ? std::nullopt : std::optional(placement->start);
      const Return result = emulator::create_ci(gpu, t.handle.gi, *profile, start, id);
      if (result == kSuccess) {
        *compute = to_opaque<ComputeInstance>(emulator::ci_handle(gpu, t.index, {t.handle.gi, id}));
      }
      return result;
    });
  });
}

ComputeInstanceInfo instance_info(const Target& t) {
  const MigDevice mig{t.handle.gi, t.handle.ci};
  return {to_opaque<Device>(emulator::mig_handle(t.gpu, t.index, mig)),
          to_opaque<GpuInstance>(emulator::gi_handle(t.gpu, t.index, mig.gi)),
          mig.ci,
          t.ci().profile,
          {t.ci().start, t.ci().size}};
}

// How long the driver keeps this instance in use: up to the node's latency, varying from one to the
// next.
std::int64_t linger_ns(const Target& t) {
  constexpr std::int64_t kMicrosecond = 1000;
  constexpr unsigned kSteps = 16;
  const double max_us = t.state.node().latencies.linger * emulator::latency_scale();
  const unsigned step = t.gpu.changes * 7 % kSteps;
  return static_cast<std::int64_t>(max_us * step / kSteps) * kMicrosecond;
}

bool found_in_environment(const Target& t) {
  if (t.state.node().find_processes == 0) return false;
  const std::string uuid = emulator::uuid_of(t.gpu, {t.handle.gi, t.handle.ci});
  return !emulator::find_processes(t.state, {uuid}).empty();
}

}  // namespace

extern "C" {

Return nvmlGpuInstanceGetComputeInstanceProfileInfo(GpuInstance instance, unsigned number,
                                                    unsigned engine, CiProfileInfo* info) {
  return on_gi("nvmlGpuInstanceGetComputeInstanceProfileInfo", Rights::kNothing, instance,
               [&](Target& t) {
                 const CiProfile* profile = nullptr;
                 const Return found = find_profile(t, number, engine, profile);
                 return found == kSuccess ? write_result(info, info_of(t, *profile)) : found;
               });
}

Return nvmlGpuInstanceGetComputeInstanceProfileInfoV(GpuInstance instance, unsigned number,
                                                     unsigned engine, CiProfileInfoV2* info) {
  return on_gi("nvmlGpuInstanceGetComputeInstanceProfileInfoV", Rights::kNothing, instance,
               [&](Target& t) {
                 if (info == nullptr) return kInvalidArgument;
                 const bool third = info->version == version_of<CiProfileInfoV3>(3);
                 if (!third && info->version != version_of<CiProfileInfoV2>(2)) {
                   return kInvalidArgument;
                 }
                 const CiProfile* profile = nullptr;
                 const Return found = find_profile(t, number, engine, profile);
                 if (found != kSuccess) return found;
                 CiProfileInfoV3 full{info->version, info_of(t, *profile), {}, 0};
                 const std::string name = name_of(t, *profile);
                 std::memcpy(full.name, name.c_str(), name.size() + 1);
                 // Version 2 is version 3 without its last field.
                 std::memcpy(info, &full, third ? sizeof full : sizeof *info);
                 return kSuccess;
               });
}

Return nvmlGpuInstanceGetComputeInstanceRemainingCapacity(GpuInstance instance, unsigned profile_id,
                                                          unsigned* count) {
  return on_gi(
      "nvmlGpuInstanceGetComputeInstanceRemainingCapacity", Rights::kPrivileged, instance,
      [&](Target& t) {
        const CiProfile* profile = emulator::ci_profile_by_id(t.gpu, t.handle.gi, profile_id);
        if (profile == nullptr) return kInvalidArgument;
        return write_result(count, emulator::ci_remaining_capacity(t.gpu, t.handle.gi, *profile));
      });
}

Return nvmlGpuInstanceGetComputeInstancePossiblePlacements(GpuInstance instance,
                                                           unsigned profile_id, Placement* list,
                                                           unsigned* count) {
  return on_gi("nvmlGpuInstanceGetComputeInstancePossiblePlacements", Rights::kPrivileged, instance,
               [&](Target& t) {
                 const CiProfile* profile =
                     emulator::ci_profile_by_id(t.gpu, t.handle.gi, profile_id);
                 if (profile == nullptr || count == nullptr) return kInvalidArgument;
                 *count = static_cast<unsigned>(profile->starts.size());
                 for (std::size_t i = 0; list != nullptr && i < profile->starts.size(); ++i) {
                   list[i] = {profile->starts[i], profile->slices};
                 }
                 return kSuccess;
               });
}

Return nvmlGpuInstanceCreateComputeInstance(GpuInstance instance, unsigned profile_id,
                                            ComputeInstance* compute) {
  return create("nvmlGpuInstanceCreateComputeInstance", instance, profile_id, nullptr, compute);
}

Return nvmlGpuInstanceCreateComputeInstanceWithPlacement(GpuInstance instance, unsigned profile_id,
                                                         const Placement* placement,
                                                         ComputeInstance* compute) {
  if (placement == nullptr && emulator::session_state() != nullptr) return kInvalidArgument;
  return create("nvmlGpuInstanceCreateComputeInstanceWithPlacement", instance, profile_id,
                placement, compute);
}

Return nvmlComputeInstanceDestroy(ComputeInstance compute) {
  return on_ci("nvmlComputeInstanceDestroy", Rights::kPrivileged, compute, [&](Target& t) {
    emulator::emulate_latency(t.state.node().latencies.destroy_ci);
    if (t.lie) return kSuccess;
    if (found_in_environment(t)) return kInUse;
    return emulator::change_target(t, [&](GpuState& gpu) {
      return emulator::destroy_ci(gpu, t.handle.gi, t.handle.ci, emulator::boot_time_ns(),
                                  linger_ns(t));
    });
  });
}

Return nvmlGpuInstanceGetComputeInstances(GpuInstance instance, unsigned profile_id,
                                          ComputeInstance* computes, unsigned* count) {
  return on_gi("nvmlGpuInstanceGetComputeInstances", Rights::kPrivileged, instance, [&](Target& t) {
    if (computes == nullptr || count == nullptr) return kInvalidArgument;
    if (emulator::ci_profile_by_id(t.gpu, t.handle.gi, profile_id) == nullptr) {
      return kInvalidArgument;
    }
    *count = 0;
    for (unsigned ci = 0; ci < emulator::kMaxCis; ++ci) {
      const emulator::CiState& state = t.gi().cis[ci];
      if (state.used == 0 || state.profile != profile_id) continue;
      computes[(*count)++] =
          to_opaque<ComputeInstance>(emulator::ci_handle(t.gpu, t.index, {t.handle.gi, ci}));
    }
    return kSuccess;
  });
}

Return nvmlGpuInstanceGetComputeInstanceById(GpuInstance instance, unsigned id,
                                             ComputeInstance* compute) {
  return on_gi(
      "nvmlGpuInstanceGetComputeInstanceById", Rights::kPrivileged, instance, [&](Target& t) {
        if (compute == nullptr) return kInvalidArgument;
        if (id >= emulator::kMaxCis || t.gi().cis[id].used == 0) return kNotFound;
        *compute =
            to_opaque<ComputeInstance>(emulator::ci_handle(t.gpu, t.index, {t.handle.gi, id}));
        return kSuccess;
      });
}

Return nvmlComputeInstanceGetInfo_v2(ComputeInstance compute, ComputeInstanceInfo* info) {
  return on_ci("nvmlComputeInstanceGetInfo", Rights::kNothing, compute,
               [&](Target& t) { return write_result(info, instance_info(t)); });
}

Return nvmlComputeInstanceGetInfo(ComputeInstance compute, ComputeInstanceInfo* info) {
  return on_ci("nvmlComputeInstanceGetInfo", Rights::kNothing, compute, [&](Target& t) {
    if (info == nullptr) return kInvalidArgument;
    const ComputeInstanceInfo full = instance_info(t);
    std::memcpy(static_cast<void*>(info), &full, kOldComputeInstanceInfoBytes);
    return kSuccess;
  });
}
}

}  // namespace tangram::nvml
