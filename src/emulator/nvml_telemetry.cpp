// NVML: the values that monitoring tools read: clocks, temperature, power, modes. They are
// plausible and follow the share of the GPU that is in use. What MIG mode removes on hardware
// (utilization, cores) is NOT_SUPPORTED here too.
#include <algorithm>
#include <vector>

#include "emulator/call.hpp"
#include "emulator/processes.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {
namespace {

using emulator::on_device;
using emulator::on_gpu;
using emulator::Rights;
using emulator::Target;
using emulator::write_result;

constexpr unsigned kMilliwatts = 1000;  // in a watt
constexpr unsigned kMaxGraphicsMhz = 1410;
constexpr unsigned kLeastGraphicsMhz = 210;
constexpr unsigned kGraphicsStepMhz = 15;
constexpr unsigned kMemoryMhz = 1215;
constexpr unsigned kClockMemory = 2;  // nvmlClockType_t: graphics 0, SM 1, memory 2, video 3

// The percentage of memory slices in use.
unsigned busy_percent(const Target& t) {
  const mig::Model& model = *t.board().model;
  if (t.gpu.mig_current == 0) return emulator::has_live_process(t.gpu) ? 100 : 0;
  unsigned busy = 0;
  for (unsigned gi = 0; gi < emulator::kGiIds; ++gi) {
    if (t.gpu.gis[gi].used == 0) continue;
    for (unsigned ci = 0; ci < emulator::kMaxCis; ++ci) {
      if (!emulator::has_live_process(t.gpu, gi, ci)) continue;
      const auto profile = mig::ProfileIndex(t.gpu.gis[gi].profile);
      busy += static_cast<unsigned>(model.profile(profile).memory_slices);
      break;
    }
  }
  return busy * 100 / static_cast<unsigned>(model.memory_slices());
}

unsigned graphics_mhz(const Target& t) {
  return busy_percent(t) > 0 ? kMaxGraphicsMhz : kLeastGraphicsMhz;
}

Return value(std::string_view name, Device device, unsigned* to, unsigned value) {
  return on_gpu(name, Rights::kNothing, device, [&](Target&) { return write_result(to, value); });
}

Return power_limit(std::string_view name, Device device, unsigned* milliwatts) {
  return on_gpu(name, Rights::kNothing, device, [&](Target& t) {
    return write_result(milliwatts, t.board().power_limit_w * kMilliwatts);
  });
}

// Two-call protocol: the number needed, then the clocks, highest first.
Return write_clocks(const std::vector<unsigned>& all, unsigned* count, unsigned* clocks) {
  if (count == nullptr) return kInvalidArgument;
  const unsigned capacity = *count;
  *count = static_cast<unsigned>(all.size());
  if (capacity < all.size()) return kInsufficientSize;
  if (clocks == nullptr) return kInvalidArgument;
  std::ranges::copy(all, clocks);
  return kSuccess;
}

}  // namespace

extern "C" {

Return nvmlDeviceGetUtilizationRates(Device device, Utilization* utilization) {
  return on_device("nvmlDeviceGetUtilizationRates", device, [&](Target& t) {
    if (t.gpu.mig_current != 0) return kNotSupported;
    return write_result(utilization, Utilization{busy_percent(t), busy_percent(t) / 2});
  });
}

Return nvmlDeviceGetTemperature(Device device, unsigned sensor, unsigned* degrees) {
  return on_gpu("nvmlDeviceGetTemperature", Rights::kNothing, device, [&](Target& t) {
    if (sensor != 0) return kInvalidArgument;
    return write_result(degrees, 31 + busy_percent(t) * 30 / 100);
  });
}

Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  return on_gpu("nvmlDeviceGetPowerUsage", Rights::kNothing, device, [&](Target& t) {
    const unsigned limit = t.board().power_limit_w * kMilliwatts;
    return write_result(milliwatts, limit / 8 + limit / 400 * 3 * busy_percent(t));
  });
}
Return nvmlDeviceGetPowerManagementLimit(Device device, unsigned* milliwatts) {
  return power_limit("nvmlDeviceGetPowerManagementLimit", device, milliwatts);
}
Return nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned* milliwatts) {
  return power_limit("nvmlDeviceGetPowerManagementDefaultLimit", device, milliwatts);
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return power_limit("nvmlDeviceGetEnforcedPowerLimit", device, milliwatts);
}
Return nvmlDeviceGetPowerManagementMode(Device device, unsigned* mode) {
  return value("nvmlDeviceGetPowerManagementMode", device, mode, 1);
}

Return nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* mhz) {
  return on_gpu("nvmlDeviceGetClockInfo", Rights::kNothing, device, [&](Target& t) {
    if (type > 3) return kInvalidArgument;
    return write_result(mhz, type == kClockMemory ? kMemoryMhz : graphics_mhz(t));
  });
}
Return nvmlDeviceGetMaxClockInfo(Device device, unsigned type, unsigned* mhz) {
  return on_gpu("nvmlDeviceGetMaxClockInfo", Rights::kNothing, device, [&](Target&) {
    if (type > 3) return kInvalidArgument;
    return write_result(mhz, type == kClockMemory ? kMemoryMhz : kMaxGraphicsMhz);
  });
}
Return nvmlDeviceGetApplicationsClock(Device device, unsigned type, unsigned* mhz) {
  return on_gpu("nvmlDeviceGetApplicationsClock", Rights::kNothing, device, [&](Target&) {
    if (type > 3) return kInvalidArgument;
    return write_result(mhz, type == kClockMemory ? kMemoryMhz : kMaxGraphicsMhz);
  });
}
Return nvmlDeviceGetSupportedMemoryClocks(Device device, unsigned* count, unsigned* clocks) {
  return on_gpu("nvmlDeviceGetSupportedMemoryClocks", Rights::kNothing, device,
                [&](Target&) { return write_clocks({kMemoryMhz}, count, clocks); });
}
Return nvmlDeviceGetSupportedGraphicsClocks(Device device, unsigned memory_mhz, unsigned* count,
                                            unsigned* clocks) {
  return on_gpu("nvmlDeviceGetSupportedGraphicsClocks", Rights::kNothing, device, [&](Target&) {
    if (memory_mhz != kMemoryMhz) return kNotFound;
    std::vector<unsigned> all;
    for (unsigned mhz = kMaxGraphicsMhz; mhz >= kLeastGraphicsMhz; mhz -= kGraphicsStepMhz) {
      all.push_back(mhz);
    }
    return write_clocks(all, count, clocks);
  });
}
Return nvmlDeviceGetPerformanceState(Device device, unsigned* state) {
  return value("nvmlDeviceGetPerformanceState", device, state, 0);
}
Return nvmlDeviceGetPowerState(Device device, unsigned* state) {
  return value("nvmlDeviceGetPowerState", device, state, 0);
}

Return nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return on_gpu("nvmlDeviceGetCurrPcieLinkGeneration", Rights::kNothing, device,
                [&](Target& t) { return write_result(generation, t.board().pcie_generation); });
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  return on_gpu("nvmlDeviceGetMaxPcieLinkGeneration", Rights::kNothing, device,
                [&](Target& t) { return write_result(generation, t.board().pcie_generation); });
}
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  return value("nvmlDeviceGetCurrPcieLinkWidth", device, width, 16);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* width) {
  return value("nvmlDeviceGetMaxPcieLinkWidth", device, width, 16);
}

Return nvmlDeviceGetPersistenceMode(Device device, unsigned* mode) {
  return value("nvmlDeviceGetPersistenceMode", device, mode, 1);
}
Return nvmlDeviceGetDisplayMode(Device device, unsigned* mode) {
  return value("nvmlDeviceGetDisplayMode", device, mode, 0);
}
Return nvmlDeviceGetDisplayActive(Device device, unsigned* active) {
  return value("nvmlDeviceGetDisplayActive", device, active, 0);
}
Return nvmlDeviceGetComputeMode(Device device, unsigned* mode) {
  return on_device("nvmlDeviceGetComputeMode", device,
                   [&](Target&) { return write_result(mode, 0U); });
}
Return nvmlDeviceGetEccMode(Device device, unsigned* current, unsigned* pending) {
  return on_gpu("nvmlDeviceGetEccMode", Rights::kNothing, device, [&](Target&) {
    if (current == nullptr || pending == nullptr) return kInvalidArgument;
    *current = *pending = 1;
    return kSuccess;
  });
}
Return nvmlDeviceGetNumGpuCores(Device device, unsigned* cores) {
  return on_gpu("nvmlDeviceGetNumGpuCores", Rights::kNothing, device, [&](Target& t) {
    if (t.gpu.mig_current != 0) return kNotSupported;
    return write_result(cores, 6912U);
  });
}

Return nvmlDeviceGetFieldValues(Device device, int count, FieldValue* values) {
  return on_device("nvmlDeviceGetFieldValues", device, [&](Target& t) {
    constexpr unsigned kUnsignedInt = 1;
    if (values == nullptr || count < 0) return kInvalidArgument;
    for (FieldValue& field : std::span(values, static_cast<std::size_t>(count))) {
      field.nvml_return = kNotSupported;
      if (field.field_id != kFieldResetlessMig) continue;
      field.nvml_return = kSuccess;
      field.value_type = kUnsignedInt;
      field.value.ui = t.board().resetless ? 1 : 0;
    }
    return kSuccess;
  });
}
}

}  // namespace tangram::nvml
