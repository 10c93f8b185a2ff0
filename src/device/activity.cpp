// See activity.hpp.
#include "device/activity.hpp"

#include <algorithm>
#include <array>

namespace tangram::device {
namespace {

// NVML states no maximum length for the name of a process; longer names are truncated.
constexpr unsigned kProcessNameBuffer = 256;
constexpr unsigned long long kMemoryNotAvailable = ~0ULL;

std::string process_name(const Library& library, unsigned pid) {
  std::array<char, kProcessNameBuffer> text{};
  const nvml::Return code = library.calls().process_name(pid, text.data(), kProcessNameBuffer);
  text.back() = '\0';
  return code == nvml::kSuccess ? text.data() : "";
}

// The number of processes can grow between two calls, so the buffer has spare entries, more of them
// at every try.
template <class List>
Outcome<std::vector<nvml::ProcessInfo>> process_infos(const List& list, nvml::Device device,
                                                      const std::string& gpu_uuid) {
  constexpr int kTries = 10;
  constexpr unsigned kSpare = 32;
  nvml::Return code = nvml::kInsufficientSize;
  unsigned capacity = kSpare;
  for (int i = 0; i < kTries && code == nvml::kInsufficientSize; ++i) {
    std::vector<nvml::ProcessInfo> infos(capacity);
    unsigned count = capacity;
    code = list(device, &count, infos.data());
    if (code == nvml::kSuccess) {
      infos.resize(std::min(count, capacity));
      return infos;
    }
    capacity = std::max(2 * capacity, count + kSpare);
  }
  return std::unexpected(failure_of(code, "list the processes", gpu_uuid));
}

Process process_of(const Library& library, const nvml::ProcessInfo& info) {
  Process process{.pid = info.pid,
                  .name = process_name(library, info.pid),
                  .memory_bytes = 0,
                  .gi = std::nullopt};
  if (info.used_gpu_memory != kMemoryNotAvailable) process.memory_bytes = info.used_gpu_memory;
  if (info.gpu_instance_id != nvml::kNoInstanceId) process.gi = info.gpu_instance_id;
  return process;
}

}  // namespace

Outcome<std::vector<Process>> processes(const Library& library, const std::string& gpu_uuid) {
  const Outcome<nvml::Device> device = library.device(gpu_uuid);
  if (!device) return std::unexpected(device.error());
  const auto infos = process_infos(library.calls().device_processes, *device, gpu_uuid);
  if (!infos) return std::unexpected(infos.error());
  std::vector<Process> found;
  for (const nvml::ProcessInfo& info : *infos) found.push_back(process_of(library, info));
  return found;
}

Outcome<std::vector<Process>> all_processes(const Library& library, const std::string& gpu_uuid) {
  const Outcome<nvml::Device> device = library.device(gpu_uuid);
  if (!device) return std::unexpected(device.error());
  auto found = processes(library, gpu_uuid);
  if (!found) return found;
  const auto infos = process_infos(library.calls().device_graphics, *device, gpu_uuid);
  if (!infos) {
    const bool has_none = infos.error().kind == Failure::Kind::kUnsupported;
    return has_none ? std::move(found) : std::unexpected(infos.error());
  }
  for (const nvml::ProcessInfo& info : *infos) found->push_back(process_of(library, info));
  return found;
}

Outcome<std::vector<Process>> processes(const Library& library, const std::string& gpu_uuid,
                                        unsigned gi) {
  auto all = processes(library, gpu_uuid);
  if (all) std::erase_if(*all, [&](const Process& process) { return process.gi != gi; });
  return all;
}

Outcome<PcieThroughput> pcie_throughput(const Library& library, const std::string& gpu_uuid) {
  const Outcome<nvml::Device> device = library.device(gpu_uuid);
  if (!device) return std::unexpected(device.error());
  unsigned sent = 0;  // NVML counts from the GPU's side
  unsigned received = 0;
  nvml::Return code = library.calls().device_throughput(*device, nvml::kPcieTx, &sent);
  if (code == nvml::kSuccess) {
    code = library.calls().device_throughput(*device, nvml::kPcieRx, &received);
  }
  if (code != nvml::kSuccess) {
    return std::unexpected(failure_of(code, "read the PCIe throughput", gpu_uuid));
  }
  return PcieThroughput{.to_gpu_kbps = received, .from_gpu_kbps = sent};
}

}  // namespace tangram::device
