// The behaviour of an emulated GPU: MIG mode, instances, processes, events, its PCIe link. Pure
// functions on a GpuState and its Board that return NVML's result codes; rights, latency and
// storage are handled elsewhere. A function that does not return kSuccess has changed nothing.
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

// The initial state of the GPU of that index.
[[nodiscard]] GpuState new_gpu(const NodeSpec& spec, unsigned index);
[[nodiscard]] inline const Board& board_of(const GpuState& gpu) { return board_of(gpu.model); }

// Returns whether a record read from a file is valid: a known model, legal instances.
[[nodiscard]] bool is_valid(const GpuState& gpu);

// Switches MIG mode. `activation`: the driver's result of making the change effective at once.
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
// Removes the instance with its contents, even if it is in use.
Return remove_gi(GpuState& gpu, mig::Placement placement);
[[nodiscard]] mig::Placement placement_of(const GiState& gi);

// Compute instances.
[[nodiscard]] const CiProfile* ci_profile_by_id(const GpuState& gpu, unsigned gi, unsigned id);
[[nodiscard]] unsigned ci_remaining_capacity(const GpuState& gpu, unsigned gi,
                                             const CiProfile& profile);
Return create_ci(GpuState& gpu, unsigned gi, const CiProfile& profile,
                 std::optional<unsigned> start, unsigned& id);
// `linger_ns`: how long the driver keeps the GPU instance in use after its last process.
Return destroy_ci(GpuState& gpu, unsigned gi, unsigned ci, std::int64_t now_ns,
                  std::int64_t linger_ns);

// A MIG device is a compute instance; the driver numbers them by the ids of their instances.
struct MigDevice {
  unsigned gi = 0;
  unsigned ci = 0;
};
[[nodiscard]] std::vector<MigDevice> mig_devices(const GpuState& gpu);

void add_event(GpuState& gpu, const EventState& event);

// The share of each flow of the link in one direction: max-min fair, at most `cap`.
[[nodiscard]] std::vector<std::uint32_t> fair_shares(const std::vector<std::uint32_t>& demands,
                                                     std::uint32_t capacity, std::uint32_t cap);

}  // namespace tangram::emulator
