// See gpu.hpp: compute instances.
#include <algorithm>

#include "emulator/gpu.hpp"
#include "emulator/processes.hpp"

namespace tangram::emulator {
namespace {

bool overlap(const CiState& ci, unsigned start, unsigned size) {
  return ci.used != 0 && start < ci.start + ci.size && ci.start < start + size;
}

bool is_free(const GiState& gi, unsigned start, unsigned size) {
  return std::ranges::none_of(gi.cis, [&](const CiState& ci) { return overlap(ci, start, size); });
}

}  // namespace

const CiProfile* ci_profile_by_id(const GpuState& gpu, unsigned gi, unsigned id) {
  const auto& all = board_of(gpu).ci_profiles_of(mig::ProfileIndex(gpu.gis[gi].profile));
  const auto found = std::ranges::find(all, id, &CiProfile::number);
  return found == all.end() ? nullptr : &*found;
}

unsigned ci_remaining_capacity(const GpuState& gpu, unsigned gi, const CiProfile& profile) {
  return static_cast<unsigned>(std::ranges::count_if(profile.starts, [&](std::uint8_t start) {
    return is_free(gpu.gis[gi], start, profile.slices);
  }));
}

Return create_ci(GpuState& gpu, unsigned gi_id, const CiProfile& profile,
                 std::optional<unsigned> start, unsigned& id) {
  GiState& gi = gpu.gis[gi_id];
  if (start && std::ranges::find(profile.starts, *start) == profile.starts.end()) {
    return nvml::kInvalidArgument;
  }
  if (!start) {
    const auto first = std::ranges::find_if(
        profile.starts, [&](std::uint8_t s) { return is_free(gi, s, profile.slices); });
    if (first == profile.starts.end()) return nvml::kInsufficientResources;
    start = *first;
  }
  if (!is_free(gi, *start, profile.slices)) return nvml::kInsufficientResources;
  const auto slot = std::ranges::find(gi.cis, 0, &CiState::used);
  if (slot == std::end(gi.cis)) return nvml::kInsufficientResources;
  *slot = {.used = 1,
           .profile = profile.number,
           .start = static_cast<std::uint8_t>(*start),
           .size = profile.slices,
           .generation = gpu.next_generation++};
  id = static_cast<unsigned>(slot - std::begin(gi.cis));
  ++gpu.changes;
  add_event(gpu, {.type = nvml::kEventMigConfigChange});
  return nvml::kSuccess;
}

Return destroy_ci(GpuState& gpu, unsigned gi_id, unsigned ci, std::int64_t now_ns,
                  std::int64_t linger_ns) {
  if (has_live_process(gpu, gi_id, ci)) return nvml::kInUse;
  GiState& gi = gpu.gis[gi_id];
  gi.cis[ci] = CiState{};
  if (gi.had_process != 0) gi.lingers_until_ns = now_ns + linger_ns;
  remove_processes(gpu, gi_id, ci);
  ++gpu.changes;
  add_event(gpu, {.type = nvml::kEventMigConfigChange});
  return nvml::kSuccess;
}

std::vector<MigDevice> mig_devices(const GpuState& gpu) {
  std::vector<MigDevice> all;
  for (unsigned gi = 0; gi < kGiIds; ++gi) {
    if (gpu.gis[gi].used == 0) continue;
    for (unsigned ci = 0; ci < kMaxCis; ++ci) {
      if (gpu.gis[gi].cis[ci].used != 0) all.push_back({gi, ci});
    }
  }
  return all;
}

}  // namespace tangram::emulator
