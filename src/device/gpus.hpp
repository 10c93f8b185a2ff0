// The GPUs of a node, as the driver reports them: identity, MIG mode, and the model (profiles and
// placements) that its MIG instances follow. It exists so that no table of ours decides what a GPU
// can do. One rule: a GPU that cannot be read is listed with its trouble; it never makes the others
// vanish.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// In the driver's order. Fails only when not even their number can be read, or there is none.
[[nodiscard]] Outcome<std::vector<Gpu>> list_gpus(const Library& library);

// One GPU, read anew; fails if it cannot be found or read at all.
[[nodiscard]] Outcome<Gpu> read_gpu(const Library& library, const std::string& gpu_uuid);

// "on", "pending-off": as people and programs read it.
[[nodiscard]] std::string_view name_of(MigMode mode);

[[nodiscard]] Outcome<MigMode> read_mig_mode(const Library& library, nvml::Device device,
                                             const std::string& gpu_uuid);

}  // namespace tangram::device
