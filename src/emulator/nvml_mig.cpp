// NVML: MIG mode, GPU instance profiles, placements, capacity.
#include <cstring>

#include "base/text.hpp"
#include "emulator/call.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::GpuState;
using emulator::on_gpu;
using emulator::Rights;
using emulator::Target;
using emulator::write_result;

unsigned count_of(int fact) { return static_cast<unsigned>(fact); }

GiProfileInfo info_of(const emulator::Board& board, mig::ProfileIndex p) {
  const mig::Profile& profile = board.model->profile(p);
  const mig::ProfileFacts& f = board.facts_of(p);
  return {.id = count_of(f.nvml_id),
          .is_p2p_supported = 0,
          .slice_count = count_of(profile.compute_slices),
          .instance_count = count_of(profile.max_instances),
          .multiprocessor_count = count_of(f.multiprocessors),
          .copy_engine_count = count_of(f.copy_engines),
          .decoder_count = count_of(f.decoders),
          .encoder_count = count_of(f.encoders),
          .jpeg_count = count_of(f.jpeg),
          .ofa_count = count_of(f.ofa),
          .memory_size_mb = static_cast<unsigned long long>(f.memory_mib)};
}

void set_name(char (&name)[96], const std::string& profile) {
  const std::string text = cat("MIG ", profile);
  std::memcpy(name, text.c_str(), text.size() + 1);
}

// Versions 2 and 3 have the same size; the version field distinguishes them.
Return write_versioned(const emulator::Board& board, mig::ProfileIndex p, GiProfileInfoV2* info) {
  const GiProfileInfo i = info_of(board, p);
  const std::string& name = board.model->profile(p).name;
  if (info->version == version_of<GiProfileInfoV2>(2)) {
    *info = {info->version,
             i.id,
             i.is_p2p_supported,
             i.slice_count,
             i.instance_count,
             i.multiprocessor_count,
             i.copy_engine_count,
             i.decoder_count,
             i.encoder_count,
             i.jpeg_count,
             i.ofa_count,
             i.memory_size_mb,
             {}};
    set_name(info->name, name);
    return kSuccess;
  }
  if (info->version != version_of<GiProfileInfoV3>(3)) return kInvalidArgument;
  GiProfileInfoV3 third{info->version,
                        i.id,
                        i.slice_count,
                        i.instance_count,
                        i.multiprocessor_count,
                        i.copy_engine_count,
                        i.decoder_count,
                        i.encoder_count,
                        i.jpeg_count,
                        i.ofa_count,
                        i.memory_size_mb,
                        {},
                        name.ends_with("+gfx") ? kCapabilityGfx : 0};
  set_name(third.name, name);
  std::memcpy(info, &third, sizeof third);
  return kSuccess;
}

Return placements(std::string_view name, Device device, unsigned id, Placement* list,
                  unsigned* count, bool old) {
  return on_gpu(name, Rights::kPrivileged, device, [&](Target& t) {
    if (count == nullptr) return kInvalidArgument;
    const auto p = emulator::profile_by_id(t.board(), id);
    if (!p) return kInvalidArgument;
    const mig::Profile& profile = t.board().model->profile(*p);
    // The old function's arrays have max_instances entries.
    if (old && profile.starts.size() > count_of(profile.max_instances)) return kNotSupported;
    *count = static_cast<unsigned>(profile.starts.size());
    if (list == nullptr) return kSuccess;
    for (std::size_t i = 0; i < profile.starts.size(); ++i) {
      list[i] = {count_of(profile.starts[i]), count_of(profile.memory_slices)};
    }
    return kSuccess;
  });
}

}  // namespace

extern "C" {

Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  return on_gpu("nvmlDeviceGetMigMode", Rights::kNothing, device, [&](Target& t) {
    if (current == nullptr || pending == nullptr) return kInvalidArgument;
    *current = t.gpu.mig_current;
    *pending = t.gpu.mig_pending;
    return kSuccess;
  });
}

Return nvmlDeviceSetMigMode(Device device, unsigned mode, Return* activation_status) {
  return on_gpu("nvmlDeviceSetMigMode", Rights::kPrivileged, device, [&](Target& t) {
    if (mode > kMigOn || activation_status == nullptr) return kInvalidArgument;
    emulator::emulate_latency(t.state.node().latencies.mig_mode);
    *activation_status = kSuccess;
    if (t.lie) return kSuccess;
    return emulator::change_target(t, [&](GpuState& gpu) {
      emulator::set_mig_mode(gpu, mode == kMigOn, *activation_status);
      return kSuccess;
    });
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfo(Device device, unsigned profile, GiProfileInfo* info) {
  return on_gpu("nvmlDeviceGetGpuInstanceProfileInfo", Rights::kNothing, device, [&](Target& t) {
    if (info == nullptr || profile >= kGiProfileCount) return kInvalidArgument;
    const auto p = emulator::profile_by_enum(t.board(), profile);
    return p ? write_result(info, info_of(t.board(), *p)) : kNotSupported;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfoV(Device device, unsigned profile,
                                            GiProfileInfoV2* info) {
  return on_gpu("nvmlDeviceGetGpuInstanceProfileInfoV", Rights::kNothing, device, [&](Target& t) {
    if (info == nullptr || profile >= kGiProfileCount) return kInvalidArgument;
    const auto p = emulator::profile_by_enum(t.board(), profile);
    return p ? write_versioned(t.board(), *p, info) : kNotSupported;
  });
}

Return nvmlDeviceGetGpuInstanceProfileInfoByIdV(Device device, unsigned id, GiProfileInfoV2* info) {
  return on_gpu("nvmlDeviceGetGpuInstanceProfileInfoByIdV", Rights::kNothing, device,
                [&](Target& t) {
                  if (info == nullptr) return kInvalidArgument;
                  const auto p = emulator::profile_by_id(t.board(), id);
                  return p ? write_versioned(t.board(), *p, info) : kNotSupported;
                });
}

Return nvmlDeviceGetGpuInstancePossiblePlacements_v2(Device device, unsigned profile_id,
                                                     Placement* list, unsigned* count) {
  return placements("nvmlDeviceGetGpuInstancePossiblePlacements", device, profile_id, list, count,
                    false);
}
Return nvmlDeviceGetGpuInstancePossiblePlacements(Device device, unsigned profile_id,
                                                  Placement* list, unsigned* count) {
  return placements("nvmlDeviceGetGpuInstancePossiblePlacements", device, profile_id, list, count,
                    true);
}

Return nvmlDeviceGetGpuInstanceRemainingCapacity(Device device, unsigned profile_id,
                                                 unsigned* count) {
  return on_gpu("nvmlDeviceGetGpuInstanceRemainingCapacity", Rights::kPrivileged, device,
                [&](Target& t) {
                  if (t.gpu.mig_current == 0) return kNotSupported;
                  const auto p = emulator::profile_by_id(t.board(), profile_id);
                  if (!p) return kInvalidArgument;
                  return write_result(count, emulator::remaining_capacity(t.gpu, *p));
                });
}
}

}  // namespace tangram::nvml
