// Processes on an emulated GPU: registered ones that are alive, and, if the node file says so,
// those whose environment names a MIG device. A process is identified by pid and start time,
// because pids are reused. Nothing here blocks; a process that cannot be read does not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/state.hpp"
#include "emulator/state_file.hpp"

namespace tangram::emulator {

// The start time of a live process in the kernel's ticks since boot; 0 if it is gone or a zombie.
[[nodiscard]] std::uint64_t start_time(std::uint32_t pid);

[[nodiscard]] bool has_live_process(const GpuState& gpu);
[[nodiscard]] bool has_live_process(const GpuState& gpu, unsigned gi, unsigned ci);
[[nodiscard]] std::vector<ProcessState> live_processes(const GpuState& gpu);
[[nodiscard]] std::vector<FlowState> live_flows(const GpuState& gpu);

// Returns false if the table is full of live processes, or the process is not alive.
[[nodiscard]] bool add_process(GpuState& gpu, const ProcessState& process);
bool remove_process(GpuState& gpu, std::uint32_t pid, unsigned gi, unsigned ci);
void remove_processes(GpuState& gpu, unsigned gi, unsigned ci);
// Sets a process's demand on the link; a demand of 0 removes the entry. Returns false if the table
// is full.
[[nodiscard]] bool set_flow(GpuState& gpu, const FlowState& flow);

// Finds the pids whose CUDA_VISIBLE_DEVICES has one of these UUIDs, among all processes of the
// machine. Two emulated nodes give their devices the same UUIDs, so a process whose
// TANGRAM_EMULATOR_STATE names another node's state is not of `node`.
struct FoundProcess {
  std::uint32_t pid = 0;
  std::size_t uuid = 0;  // index into `uuids`
};
[[nodiscard]] std::vector<FoundProcess> find_processes(const StateFile& node,
                                                       const std::vector<std::string>& uuids);

}  // namespace tangram::emulator
