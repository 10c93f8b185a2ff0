// The GPUs of a node as the driver reports them: identity, MIG mode, and the model (profiles and
// placements). The driver's report decides, not the built-in table. A GPU that cannot be read is
// listed with its trouble and does not affect the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// In the driver's order. Fails only if the number of GPUs cannot be read or is 0.
[[nodiscard]] Outcome<std::vector<Gpu>> list_gpus(const Library& library);

// Reads one GPU again. Fails if it cannot be found or not read at all.
[[nodiscard]] Outcome<Gpu> read_gpu(const Library& library, const std::string& gpu_uuid);

// "on", "pending-off": for people and in JSON.
[[nodiscard]] std::string_view name_of(MigMode mode);

// Whether instances can exist: MIG is on, even if it will be off after the next reset.
[[nodiscard]] inline bool is_mig_on(const Gpu& gpu) {
  return gpu.mig == MigMode::kOn || gpu.mig == MigMode::kPendingOff;
}
// Whether the GPU supports MIG and it is off, even if it will be on after the next reset.
[[nodiscard]] inline bool is_mig_off(const Gpu& gpu) {
  return gpu.mig == MigMode::kOff || gpu.mig == MigMode::kPendingOn;
}

[[nodiscard]] Outcome<MigMode> read_mig_mode(const Library& library, nvml::Device device,
                                             const std::string& gpu_uuid);

}  // namespace tangram::device
