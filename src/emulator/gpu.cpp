// See gpu.hpp: mode, geometry and GPU instances.
#include "emulator/gpu.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "emulator/processes.hpp"
#include "emulator/uuid.hpp"
#include "mig/driver.hpp"
#include "mig/limits.hpp"

namespace tangram::emulator {
namespace {

void remove_instances(GpuState& gpu) {
  for (GiState& gi : gpu.gis) gi = GiState{};
  for (ProcessState& p : gpu.processes) p = ProcessState{};
  for (FlowState& f : gpu.flows) f = FlowState{};
}

std::vector<mig::ProfileIndex> present(const GpuState& gpu) {
  std::vector<mig::ProfileIndex> all;
  for (const GiState& gi : gpu.gis) {
    if (gi.used != 0) all.emplace_back(gi.profile);
  }
  return all;
}

bool any_instance(const GpuState& gpu) {
  return std::ranges::any_of(gpu.gis, [](const GiState& gi) { return gi.used != 0; });
}

bool any_compute_instance(const GiState& gi) {
  return std::ranges::any_of(gi.cis, [](const CiState& ci) { return ci.used != 0; });
}

void config_changed(GpuState& gpu) {
  ++gpu.changes;
  add_event(gpu, {.type = nvml::kEventMigConfigChange});
}

bool are_compute_instances_valid(const GpuState& gpu, unsigned gi, int slices) {
  return std::ranges::all_of(gpu.gis[gi].cis, [&](const CiState& ci) {
    return ci.used == 0 ||
           (ci_profile_by_id(gpu, gi, ci.profile) != nullptr && ci.start + ci.size <= slices);
  });
}

}  // namespace

bool is_valid(const GpuState& gpu) {
  const Board* board =
      std::memchr(gpu.model, 0, sizeof gpu.model) == nullptr ? nullptr : find_board(gpu.model);
  if (board == nullptr) return false;
  const mig::Model& model = *board->model;
  mig::Occupancy occupancy = mig::kEmpty;
  for (unsigned id = 0; id < kGiIds; ++id) {
    const GiState& gi = gpu.gis[id];
    if (gi.used == 0) continue;
    if (gi.profile >= board->facts.size() || gi.start >= model.memory_slices()) return false;
    const mig::Placement placement = placement_of(gi);
    if (!model.fits(occupancy, placement) || gi_id_of(model, placement, gpu.swapped != 0) != id ||
        !are_compute_instances_valid(gpu, id, model.profile(placement.profile).compute_slices)) {
      return false;
    }
    occupancy = model.with(occupancy, placement);
  }
  return true;
}

GpuState new_gpu(const NodeSpec& spec, unsigned index) {
  const GpuSpec& wanted = spec.gpus[index];
  GpuState gpu;
  std::memcpy(gpu.model, wanted.model.c_str(), wanted.model.size() + 1);
  const auto uuid = gpu_uuid(wanted.model, index);
  std::ranges::copy(uuid, gpu.uuid);
  gpu.mig_current = gpu.mig_pending = wanted.mig ? 1 : 0;
  gpu.swapped = wanted.swapped ? 1 : 0;
  gpu.in_vm = wanted.in_vm ? 1 : 0;
  gpu.link_kbps = wanted.link_kbps;
  gpu.flow_kbps = wanted.flow_kbps;
  const Board& board = board_of(gpu);
  for (const mig::PlacementText& text : wanted.instances) {
    const auto profile = board.model->find_profile(text.profile);
    CHECK(profile.has_value());  // node_spec.cpp has checked it
    unsigned gi = 0;
    unsigned ci = 0;
    CHECK(create_gi(gpu, *profile, static_cast<unsigned>(text.start), gi) == nvml::kSuccess);
    CHECK(create_ci(gpu, gi, board.ci_profiles_of(*profile).back(), {}, ci) == nvml::kSuccess);
  }
  gpu.events_written = 0;
  return gpu;
}

// Ampere resets itself to switch, Hopper needs no reset; both need a GPU that is not in use.
void set_mig_mode(GpuState& gpu, bool on, Return& activation) {
  activation = nvml::kSuccess;
  const std::uint8_t mode = on ? 1 : 0;
  if (gpu.mig_current == mode) {
    gpu.mig_pending = mode;
    return;
  }
  const bool resetless = board_of(gpu).resetless;
  const bool used = has_live_process(gpu) || any_instance(gpu);
  if (used || (!resetless && gpu.in_vm != 0)) {
    activation = used ? nvml::kInUse : nvml::kResetRequired;
    gpu.mig_pending = mode;
    return;
  }
  gpu.mig_current = gpu.mig_pending = mode;
  remove_instances(gpu);
  config_changed(gpu);
}

void reboot(GpuState& gpu) {
  remove_instances(gpu);
  gpu.lost = 0;
  // Ampere keeps the mode in its InfoROM; later ones lose it with the driver.
  gpu.mig_current = gpu.mig_pending = board_of(gpu).resetless ? std::uint8_t{0} : gpu.mig_pending;
}

void reset_gpu(GpuState& gpu) {
  remove_instances(gpu);
  gpu.mig_current = gpu.mig_pending;
  config_changed(gpu);
}

std::optional<mig::ProfileIndex> profile_by_enum(const Board& board, unsigned number) {
  for (std::size_t i = 0; i < board.facts.size(); ++i) {
    if (board.facts[i].nvml_enum == static_cast<int>(number)) {
      return mig::ProfileIndex(static_cast<std::uint8_t>(i));
    }
  }
  return std::nullopt;
}

std::optional<mig::ProfileIndex> profile_by_id(const Board& board, unsigned id) {
  for (std::size_t i = 0; i < board.facts.size(); ++i) {
    if (board.facts[i].nvml_id == static_cast<int>(id)) {
      return mig::ProfileIndex(static_cast<std::uint8_t>(i));
    }
  }
  return std::nullopt;
}

mig::Placement placement_of(const GiState& gi) { return {mig::ProfileIndex(gi.profile), gi.start}; }

mig::Occupancy occupancy_of(const GpuState& gpu) {
  const mig::Model& model = *board_of(gpu).model;
  mig::Occupancy occupancy = mig::kEmpty;
  for (const GiState& gi : gpu.gis) {
    if (gi.used != 0) occupancy = model.with(occupancy, placement_of(gi));
  }
  return occupancy;
}

// The number of instances of the profile that can be added, within the limits.
unsigned remaining_capacity(const GpuState& gpu, mig::ProfileIndex profile) {
  const mig::Model& model = *board_of(gpu).model;
  std::vector<mig::ProfileIndex> there = present(gpu);
  mig::Occupancy occupancy = occupancy_of(gpu);
  unsigned count = 0;
  for (int start = 0; start < model.memory_slices(); ++start) {
    const mig::Placement p{profile, static_cast<std::uint8_t>(start)};
    if (!model.fits(occupancy, p) || !mig::within_limits(model, there, profile)) continue;
    occupancy = model.with(occupancy, p);
    there.push_back(profile);
    ++count;
  }
  return count;
}

Return create_gi(GpuState& gpu, mig::ProfileIndex profile, std::optional<unsigned> start,
                 unsigned& id) {
  const mig::Model& model = *board_of(gpu).model;
  if (gpu.mig_current == 0) return nvml::kNotSupported;
  if (start && std::ranges::find(model.profile(profile).starts, static_cast<int>(*start)) ==
                   model.profile(profile).starts.end()) {
    return nvml::kInvalidArgument;
  }
  if (!any_instance(gpu) && has_live_process(gpu)) return nvml::kInUse;  // needs an idle GPU
  const mig::Occupancy occupancy = occupancy_of(gpu);
  if (!mig::within_limits(model, present(gpu), profile)) return nvml::kInsufficientResources;
  if (!start) {
    const auto chosen = mig::driver_start(model, occupancy, profile);
    if (!chosen) return nvml::kInsufficientResources;
    start = static_cast<unsigned>(*chosen);
  }
  const mig::Placement placement{profile, static_cast<std::uint8_t>(*start)};
  if (!model.fits(occupancy, placement)) return nvml::kInsufficientResources;
  id = gi_id_of(model, placement, gpu.swapped != 0);
  GiState& gi = gpu.gis[id];
  CHECK(gi.used == 0);
  gi = {.used = 1,
        .profile = profile.value(),
        .start = placement.start,
        .generation = gpu.next_generation++};
  config_changed(gpu);
  return nvml::kSuccess;
}

Return destroy_gi(GpuState& gpu, unsigned id, std::int64_t now_ns) {
  GiState& gi = gpu.gis[id];
  if (any_compute_instance(gi) || gi.lingers_until_ns > now_ns) return nvml::kInUse;
  gi = GiState{};
  config_changed(gpu);
  return nvml::kSuccess;
}

Return remove_gi(GpuState& gpu, mig::Placement placement) {
  for (unsigned id = 0; id < kGiIds; ++id) {
    GiState& gi = gpu.gis[id];
    if (gi.used == 0 || placement_of(gi) != placement) continue;
    for (ProcessState& p : gpu.processes) {
      if (p.gi == id) p = ProcessState{};
    }
    for (FlowState& f : gpu.flows) {
      if (f.gi == id) f = FlowState{};
    }
    gi = GiState{};
    config_changed(gpu);
    return nvml::kSuccess;
  }
  return nvml::kNotFound;
}

void add_event(GpuState& gpu, const EventState& event) {
  gpu.events[gpu.events_written++ % kEventsKept] = event;
}

std::vector<std::uint32_t> fair_shares(const std::vector<std::uint32_t>& demands,
                                       std::uint32_t capacity, std::uint32_t cap) {
  std::vector<std::size_t> order(demands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return demands[i]; });
  std::vector<std::uint32_t> shares(demands.size());
  std::uint32_t left = capacity;
  for (std::size_t done = 0; done < order.size(); ++done) {
    const auto fair = static_cast<std::uint32_t>(left / (order.size() - done));
    shares[order[done]] = std::min({demands[order[done]], cap, fair});
    left -= shares[order[done]];
  }
  return shares;
}

}  // namespace tangram::emulator
