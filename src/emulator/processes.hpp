// Processes on an emulated GPU: those that somebody registered and that still live, and, where the
// node file asks for it, those whose environment names a MIG device. A process is known by its pid
// and when it began, so that a later one with the same pid is not taken for it. One rule: nothing
// here waits; a process that cannot be looked at does not count.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/state.hpp"
#include "emulator/state_file.hpp"

namespace tangram::emulator {

// When a living process began, in the kernel's ticks since boot; 0 if it is gone or a zombie.
[[nodiscard]] std::uint64_t start_time(std::uint32_t pid);

[[nodiscard]] bool has_live_process(const GpuState& gpu);
[[nodiscard]] bool has_live_process(const GpuState& gpu, unsigned gi, unsigned ci);
[[nodiscard]] std::vector<ProcessState> live_processes(const GpuState& gpu);
[[nodiscard]] std::vector<FlowState> live_flows(const GpuState& gpu);

// False if the table is full of living ones, or the process does not live.
[[nodiscard]] bool add_process(GpuState& gpu, const ProcessState& process);
bool remove_process(GpuState& gpu, std::uint32_t pid, unsigned gi, unsigned ci);
void forget_processes(GpuState& gpu, unsigned gi, unsigned ci);
// Sets what a process wants of the link; nothing at all takes it out of the table.
[[nodiscard]] bool set_flow(GpuState& gpu, const FlowState& flow);

// Pids whose CUDA_VISIBLE_DEVICES has one of these UUIDs. Looks at every process of the machine.
// Two emulated nodes give their devices the same UUIDs, so a process whose environment names the
// state of another node is none of `node`'s.
struct FoundProcess {
  std::uint32_t pid = 0;
  std::size_t uuid = 0;  // which of them
};
[[nodiscard]] std::vector<FoundProcess> find_processes(const StateFile& node,
                                                       const std::vector<std::string>& uuids);

}  // namespace tangram::emulator
