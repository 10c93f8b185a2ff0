// What an emulated GPU does: MIG mode, instances, processes, events, its PCIe link. Pure functions
// on a GpuState and its Board, each answering with NVML's result code; who may ask, how long it
// takes and where the state lies are others' affairs. One rule: a function that does not return
// kSuccess has changed nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "emulator/board.hpp"
#include "emulator/node_spec.hpp"
#include "emulator/state.hpp"
#include "nvml/abi.hpp"

namespace tangram::emulator {

using nvml::Return;

// The GPU of that index as the node describes it.
[[nodiscard]] GpuState new_gpu(const NodeSpec& spec, unsigned index);
[[nodiscard]] inline const Board& board_of(const GpuState& gpu) { return board_of(gpu.model); }

// Whether a record that was found in a file can be believed: a known model, legal instances.
[[nodiscard]] bool is_sound(const GpuState& gpu);

// MIG mode. `activation` is what the driver says of the change taking effect at once.
void set_mig_mode(GpuState& gpu, bool on, Return& activation);
void reboot(GpuState& gpu);
void reset_gpu(GpuState& gpu);

// Geometry.
[[nodiscard]] std::optional<mig::ProfileIndex> profile_by_enum(const Board& board, unsigned number);
[[nodiscard]] std::optional<mig::ProfileIndex> profile_by_id(const Board& board, unsigned id);
[[nodiscard]] mig::Occupancy occupancy_of(const GpuState& gpu);
[[nodiscard]] unsigned remaining_capacity(const GpuState& gpu, mig::ProfileIndex profile);

// GPU instances. Without a start the driver chooses one.
Return create_gi(GpuState& gpu, mig::ProfileIndex profile, std::optional<unsigned> start,
                 unsigned& id);
Return destroy_gi(GpuState& gpu, unsigned gi, std::int64_t now_ns);
// With all that is in it, whoever uses it.
Return remove_gi(GpuState& gpu, mig::Placement placement);
[[nodiscard]] mig::Placement placement_of(const GiState& gi);

// Compute instances.
[[nodiscard]] const CiProfile* ci_profile_by_id(const GpuState& gpu, unsigned gi, unsigned id);
[[nodiscard]] unsigned ci_remaining_capacity(const GpuState& gpu, unsigned gi,
                                             const CiProfile& profile);
Return create_ci(GpuState& gpu, unsigned gi, const CiProfile& profile,
                 std::optional<unsigned> start, unsigned& id);
// `linger_ns` is how long the driver holds on to an instance that had a process.
Return destroy_ci(GpuState& gpu, unsigned gi, unsigned ci, std::int64_t now_ns,
                  std::int64_t linger_ns);

// A MIG device is a compute instance; the driver numbers them by the ids of their instances.
struct MigDevice {
  unsigned gi = 0;
  unsigned ci = 0;
};
[[nodiscard]] std::vector<MigDevice> mig_devices(const GpuState& gpu);

void add_event(GpuState& gpu, const EventState& event);

// What each flow gets of the link in one direction: max-min fair, capped.
[[nodiscard]] std::vector<std::uint32_t> fair_shares(const std::vector<std::uint32_t>& demands,
                                                     std::uint32_t capacity, std::uint32_t cap);

}  // namespace tangram::emulator
