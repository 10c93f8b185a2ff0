// See processes.hpp.
#include "emulator/processes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::emulator {
namespace {

// Reads up to `max_bytes` of a file of /proc; empty if it cannot be read.
std::string read_proc_file(const std::string& path, std::size_t max_bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text(max_bytes, '\0');
  std::size_t size = 0;
  while (size < max_bytes) {
    const ssize_t n = read(fd, text.data() + size, max_bytes - size);
    if (n <= 0) break;
    size += static_cast<std::size_t>(n);
  }
  close(fd);
  text.resize(size);
  return text;
}

bool is_alive(std::uint32_t pid, std::uint64_t started) {
  return pid != 0 && start_time(pid) == started;
}

bool is_on(const ProcessState& p, unsigned gi, unsigned ci) {
  return p.pid != 0 && p.gi == gi && p.ci == ci;
}

// The value of a variable in a block of NAME=VALUE strings.
std::string_view variable(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view line = environment.substr(0, environment.find('\0'));
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=') {
      return line.substr(name.size() + 1);
    }
    if (line.size() >= environment.size()) break;
    environment.remove_prefix(line.size() + 1);
  }
  return {};
}

}  // namespace

std::uint64_t start_time(std::uint32_t pid) {
  // Called for every list of processes, so it allocates no memory.
  std::array<char, 32> path{};
  std::snprintf(path.data(), path.size(), "/proc/%u/stat", pid);
  std::array<char, 512> buffer{};
  const int fd = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t size = read(fd, buffer.data(), buffer.size());
  close(fd);
  const std::string_view stat(buffer.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  // The name in brackets may contain anything, so count from the last bracket: state is field 3,
  // the start field 22.
  const std::size_t bracket = stat.rfind(')');
  if (bracket == std::string_view::npos) return 0;
  std::string_view rest = stat.substr(bracket + 1);
  if (rest.size() < 2 || rest[1] == 'Z' || rest[1] == 'X') return 0;
  for (int field = 3; field <= 22; ++field) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space + 1);
    if (field == 22) break;
  }
  std::uint64_t started = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), started);
  return started;
}

bool has_live_process(const GpuState& gpu) {
  return std::ranges::any_of(gpu.processes,
                             [](const ProcessState& p) { return is_alive(p.pid, p.started); });
}

bool has_live_process(const GpuState& gpu, unsigned gi, unsigned ci) {
  return std::ranges::any_of(gpu.processes, [&](const ProcessState& p) {
    return is_on(p, gi, ci) && is_alive(p.pid, p.started);
  });
}

std::vector<ProcessState> live_processes(const GpuState& gpu) {
  std::vector<ProcessState> live;
  for (const ProcessState& p : gpu.processes) {
    if (is_alive(p.pid, p.started)) live.push_back(p);
  }
  return live;
}

std::vector<FlowState> live_flows(const GpuState& gpu) {
  std::vector<FlowState> live;
  for (const FlowState& f : gpu.flows) {
    if (is_alive(f.pid, f.started)) live.push_back(f);
  }
  return live;
}

bool add_process(GpuState& gpu, const ProcessState& process) {
  if (process.started == 0) return false;
  ProcessState* free = nullptr;
  for (ProcessState& p : gpu.processes) {
    if (is_on(p, process.gi, process.ci) && p.pid == process.pid) {
      p = process;
      return true;
    }
    if (free == nullptr && !is_alive(p.pid, p.started)) free = &p;
  }
  if (free == nullptr) return false;
  *free = process;
  if (process.gi < kGiIds) gpu.gis[process.gi].had_process = 1;
  return true;
}

bool remove_process(GpuState& gpu, std::uint32_t pid, unsigned gi, unsigned ci) {
  for (ProcessState& p : gpu.processes) {
    if (!is_on(p, gi, ci) || p.pid != pid) continue;
    p = ProcessState{};
    return true;
  }
  return false;
}

void remove_processes(GpuState& gpu, unsigned gi, unsigned ci) {
  for (ProcessState& p : gpu.processes) {
    if (is_on(p, gi, ci)) p = ProcessState{};
  }
  for (FlowState& f : gpu.flows) {
    if (f.pid != 0 && f.gi == gi && f.ci == ci) f = FlowState{};
  }
}

bool set_flow(GpuState& gpu, const FlowState& flow) {
  FlowState* slot = nullptr;
  for (FlowState& f : gpu.flows) {
    const bool same =
        f.pid == flow.pid && f.started == flow.started && f.gi == flow.gi && f.ci == flow.ci;
    if (same) {
      slot = &f;
      break;
    }
    if (slot == nullptr && !is_alive(f.pid, f.started)) slot = &f;
  }
  if (slot == nullptr) return false;
  *slot = flow.to_gpu_kbps == 0 && flow.from_gpu_kbps == 0 ? FlowState{} : flow;
  return true;
}

std::vector<FoundProcess> find_processes(const StateFile& node,
                                         const std::vector<std::string>& uuids) {
  constexpr std::size_t kMaxEnvironmentBytes = 262'144;
  std::vector<FoundProcess> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return found;
  while (const dirent* entry = readdir(proc.get())) {
    const auto pid = parse_int(entry->d_name, 1, 0x7FFFFFFF);
    if (!pid) continue;
    const std::string environment =
        read_proc_file(cat("/proc/", *pid, "/environ"), kMaxEnvironmentBytes);
    const std::string_view devices = variable(environment, "CUDA_VISIBLE_DEVICES");
    if (devices.empty()) continue;
    const std::string_view state = variable(environment, "TANGRAM_EMULATOR_STATE");
    if (!state.empty() && !node.is_at(std::string(state))) continue;
    for (std::size_t i = 0; i < uuids.size(); ++i) {
      if (devices.find(uuids[i]) != std::string_view::npos) {
        found.push_back({static_cast<std::uint32_t>(*pid), i});
      }
    }
  }
  return found;
}

}  // namespace tangram::emulator
