// The instances of a GPU as the driver has them now: whole ones, half-made ones (a GPU instance
// without a compute instance), split ones (several compute instances), whoever made them. One rule:
// the list is complete or it is an error; an instance that was missed would look like free room.
#pragma once

#include <optional>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// By start. Empty when MIG is off.
[[nodiscard]] Outcome<std::vector<Instance>> list_instances(const Library& library, const Gpu& gpu);

// The same, tried again when the driver stumbles over something that may pass.
[[nodiscard]] Outcome<std::vector<Instance>> look(const Library& library, const Gpu& gpu);

// Below: what the changes need besides; handles are good until the next change.

// A GPU instance and its handle.
struct GiRecord {
  nvml::GpuInstance handle = nullptr;
  nvml::GpuInstanceInfo info{};
};
// The one that stands at `place`, if any.
[[nodiscard]] Outcome<std::optional<GiRecord>> find_gpu_instance(const Library& library,
                                                                 const Gpu& gpu,
                                                                 const Place& place);

// The compute instances in a GPU instance.
[[nodiscard]] Outcome<std::vector<nvml::ComputeInstance>> compute_instances(const Library& library,
                                                                            const Gpu& gpu,
                                                                            nvml::GpuInstance gi);

// The compute instance profile that fills a GPU instance of so many compute slices: of those with
// as many slices the one with the most multiprocessors, because a double-memory 1g of Hopper has
// more of them than the plain profile of one slice takes.
[[nodiscard]] Outcome<nvml::CiProfileInfo> filling_profile(const Library& library, const Gpu& gpu,
                                                           nvml::GpuInstance gi, unsigned slices);

}  // namespace tangram::device
