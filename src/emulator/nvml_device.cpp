// NVML: a device's identity, topology, memory and PCIe link.
#include <algorithm>
#include <climits>
#include <cstring>
#include <span>
#include <unistd.h>

#include "base/text.hpp"
#include "emulator/call.hpp"
#include "emulator/identity.hpp"
#include "emulator/processes.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::copy_text;
using emulator::MigDevice;
using emulator::on_device;
using emulator::on_gpu;
using emulator::Rights;
using emulator::Target;
using emulator::write_result;

constexpr unsigned long long kMib = 1024ULL * 1024;
constexpr unsigned kScopeSocket = 1;  // nvmlAffinityScope_t: node 0, socket 1

MigDevice mig_of(const Target& t) { return {t.handle.gi, t.handle.ci}; }

struct MemoryUse {
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long used = 0;  // by processes
};

// The memory of a MIG device's GPU instance, or the sum of the GPU for callers with the rights to
// see it.
Return memory_of(const Target& t, MemoryUse& use) {
  if (!t.is_mig() && t.gpu.mig_current != 0 &&
      !emulator::is_permitted(t.state, Rights::kPrivileged) &&
      t.state.node().privileges == emulator::Privileges::kRoot) {
    return kNoPermission;
  }
  const emulator::Board& board = t.board();
  use.total = t.is_mig()
                  ? static_cast<unsigned long long>(board.facts_of(t.profile()).memory_mib) * kMib
                  : board.memory_mib * kMib;
  use.reserved = t.is_mig() ? 0 : board.reserved_mib * kMib;
  for (const emulator::ProcessState& p : emulator::live_processes(t.gpu)) {
    if (!t.is_mig() || p.gi == t.handle.gi) use.used += p.memory_bytes;
  }
  use.used = std::min(use.used, use.total - use.reserved);
  return kSuccess;
}

template <class Pci>
Return pci(std::string_view name, Device device, Pci* info, std::size_t bytes) {
  return on_device(name, device, [&](Target& t) {
    if (info == nullptr) return kInvalidArgument;
    const PciInfo full = emulator::pci_info(t.board(), t.index);
    std::memcpy(info, &full, bytes);
    return kSuccess;
  });
}

// Emulated GPUs are close to every CPU of the machine, on one memory node. Bits beyond the caller's
// buffer are dropped.
Return first_bits(std::string_view name, Device device, long count, unsigned size,
                  unsigned long* set) {
  return on_device(name, device, [&](Target&) {
    constexpr auto kBits = static_cast<long>(sizeof(unsigned long) * CHAR_BIT);
    if (size == 0 || set == nullptr) return kInvalidArgument;
    for (unsigned long& word : std::span(set, size)) {
      const long here = std::clamp(count, 0L, kBits);
      word = here == 0 ? 0 : ULONG_MAX >> (kBits - here);
      count -= here;
    }
    return kSuccess;
  });
}

}  // namespace

extern "C" {

Return nvmlDeviceGetUUID(Device device, char* uuid, unsigned length) {
  return on_device("nvmlDeviceGetUUID", device, [&](Target& t) {
    const std::string text =
        t.is_mig() ? emulator::uuid_of(t.gpu, mig_of(t)) : emulator::uuid_of(t.gpu);
    return copy_text(text, uuid, length);
  });
}

Return nvmlDeviceGetName(Device device, char* name, unsigned length) {
  return on_device("nvmlDeviceGetName", device, [&](Target& t) {
    return copy_text(t.is_mig() ? emulator::name_of(t.gpu, mig_of(t)) : t.board().device_name, name,
                     length);
  });
}

Return nvmlDeviceGetIndex(Device device, unsigned* index) {
  return on_device("nvmlDeviceGetIndex", device, [&](Target& t) {
    if (!t.is_mig()) return write_result(index, t.index);
    const auto all = emulator::mig_devices(t.gpu);
    const auto at = std::ranges::find_if(
        all, [&](MigDevice m) { return m.gi == t.handle.gi && m.ci == t.handle.ci; });
    return write_result(index, static_cast<unsigned>(at - all.begin()));
  });
}

Return nvmlDeviceGetMinorNumber(Device device, unsigned* minor) {
  return on_gpu("nvmlDeviceGetMinorNumber", Rights::kNothing, device,
                [&](Target& t) { return write_result(minor, t.index); });
}

Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  return pci("nvmlDeviceGetPciInfo", device, info, sizeof(PciInfo));
}
Return nvmlDeviceGetPciInfo_v2(Device device, PciInfo* info) {
  return pci("nvmlDeviceGetPciInfo", device, info, kOldPciInfoBytes);
}
Return nvmlDeviceGetPciInfo(Device device, PciInfo* info) {
  return pci("nvmlDeviceGetPciInfo", device, info, kOldPciInfoBytes);
}

Return nvmlDeviceGetPciInfoExt(Device device, PciInfoExt* info) {
  return on_device("nvmlDeviceGetPciInfoExt", device, [&](Target& t) {
    if (info == nullptr) return kInvalidArgument;
    if (info->version != version_of<PciInfoExt>(1)) return kArgumentVersionMismatch;
    const PciInfo full = emulator::pci_info(t.board(), t.index);
    *info = {info->version,         full.domain, full.bus, full.device, full.pci_device_id,
             full.pci_subsystem_id, 3,           2,        {}};  // a 3D controller
    std::memcpy(info->bus_id, full.bus_id, sizeof info->bus_id);
    return kSuccess;
  });
}

Return nvmlDeviceGetArchitecture(Device device, unsigned* architecture) {
  return on_device("nvmlDeviceGetArchitecture", device,
                   [&](Target& t) { return write_result(architecture, t.board().architecture); });
}

Return nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
  return on_device("nvmlDeviceGetCudaComputeCapability", device, [&](Target& t) {
    if (major == nullptr || minor == nullptr) return kInvalidArgument;
    *major = t.board().compute_major;
    *minor = t.board().compute_minor;
    return kSuccess;
  });
}

Return nvmlDeviceGetBrand(Device device, unsigned* brand) {
  constexpr unsigned kNvidia = 14;
  return on_device("nvmlDeviceGetBrand", device,
                   [&](Target&) { return write_result(brand, kNvidia); });
}

Return nvmlDeviceGetSerial(Device device, char* serial, unsigned length) {
  return on_gpu("nvmlDeviceGetSerial", Rights::kNothing, device,
                [&](Target& t) { return copy_text(emulator::serial_of(t.index), serial, length); });
}

Return nvmlDeviceGetVbiosVersion(Device device, char* version, unsigned length) {
  return on_gpu("nvmlDeviceGetVbiosVersion", Rights::kNothing, device,
                [&](Target&) { return copy_text("92.00.45.00.03", version, length); });
}

Return nvmlDeviceGetBoardId(Device device, unsigned* id) {
  return on_gpu("nvmlDeviceGetBoardId", Rights::kNothing, device,
                [&](Target& t) { return write_result(id, emulator::pci_bus(t.index) << 8U); });
}

Return nvmlDeviceGetMultiGpuBoard(Device device, unsigned* multi) {
  return on_gpu("nvmlDeviceGetMultiGpuBoard", Rights::kNothing, device,
                [&](Target&) { return write_result(multi, 0U); });
}

Return nvmlDeviceGetCpuAffinity(Device device, unsigned size, unsigned long* set) {
  return first_bits("nvmlDeviceGetCpuAffinity", device, sysconf(_SC_NPROCESSORS_CONF), size, set);
}
Return nvmlDeviceGetCpuAffinityWithinScope(Device device, unsigned size, unsigned long* set,
                                           unsigned scope) {
  const long cpus = sysconf(_SC_NPROCESSORS_CONF);
  return first_bits("nvmlDeviceGetCpuAffinityWithinScope", device, cpus,
                    scope > kScopeSocket ? 0 : size, set);
}
Return nvmlDeviceGetMemoryAffinity(Device device, unsigned size, unsigned long* set,
                                   unsigned scope) {
  return first_bits("nvmlDeviceGetMemoryAffinity", device, 1, scope > kScopeSocket ? 0 : size, set);
}

Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  return on_device("nvmlDeviceGetMemoryInfo", device, [&](Target& t) {
    if (memory == nullptr) return kInvalidArgument;
    MemoryUse use;
    if (const Return result = memory_of(t, use); result != kSuccess) return result;
    const unsigned long long used = use.reserved + use.used;
    *memory = {use.total, use.total - used, used};
    return kSuccess;
  });
}

Return nvmlDeviceGetMemoryInfo_v2(Device device, MemoryV2* memory) {
  return on_device("nvmlDeviceGetMemoryInfo_v2", device, [&](Target& t) {
    if (memory == nullptr) return kInvalidArgument;
    if (memory->version != version_of<MemoryV2>(2)) return kArgumentVersionMismatch;
    MemoryUse use;
    if (const Return result = memory_of(t, use); result != kSuccess) return result;
    *memory = {memory->version, use.total, use.reserved, use.total - use.reserved - use.used,
               use.used};
    return kSuccess;
  });
}

Return nvmlDeviceGetBAR1MemoryInfo(Device device, Bar1Memory* memory) {
  return on_device("nvmlDeviceGetBAR1MemoryInfo", device, [&](Target& t) {
    const unsigned long long whole = t.board().bar1_mib * kMib;
    const auto slices = static_cast<unsigned long long>(t.board().model->memory_slices());
    const auto size = static_cast<unsigned long long>(
        t.is_mig() ? t.board().model->profile(t.profile()).memory_slices : 0);
    const unsigned long long total = t.is_mig() ? whole * size / slices : whole;
    return write_result(memory, Bar1Memory{total, total - kMib, kMib});
  });
}

// The driver counts bytes over a window, so a reading takes that long.
Return nvmlDeviceGetPcieThroughput(Device device, unsigned counter, unsigned* kbps) {
  return on_gpu("nvmlDeviceGetPcieThroughput", Rights::kNothing, device, [&](Target& t) {
    if (kbps == nullptr || counter > kPcieRx) return kInvalidArgument;
    emulator::emulate_latency(t.state.node().latencies.pcie_throughput);
    std::vector<std::uint32_t> demands;
    for (const emulator::FlowState& flow : emulator::live_flows(t.gpu)) {
      demands.push_back(counter == kPcieRx ? flow.to_gpu_kbps : flow.from_gpu_kbps);
    }
    *kbps = 0;
    for (const std::uint32_t share :
         emulator::fair_shares(demands, t.gpu.link_kbps, t.gpu.flow_kbps)) {
      *kbps += share;
    }
    return kSuccess;
  });
}
}

}  // namespace tangram::nvml
