// The instances of a GPU as the driver reports them: complete ones, GPU instances without a compute
// instance, split ones (several compute instances), created by Tangram or not. A list is complete
// or an error: a missing instance would look like free slices.
#pragma once

#include <optional>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// Sorted by start. Empty when MIG is off.
[[nodiscard]] Outcome<std::vector<Instance>> list_instances(const Library& library, const Gpu& gpu);

// list_instances(), retried for up to 0.5 s after errors that may pass.
[[nodiscard]] Outcome<std::vector<Instance>> list_instances_with_retry(const Library& library,
                                                                       const Gpu& gpu);

// Below: for create and destroy. Handles are valid until the next change.

// A GPU instance and its handle.
struct GiRecord {
  nvml::GpuInstance handle = nullptr;
  nvml::GpuInstanceInfo info{};
};
// The GPU instance at `location`, if any.
[[nodiscard]] Outcome<std::optional<GiRecord>> find_gpu_instance(const Library& library,
                                                                 const Gpu& gpu,
                                                                 const InstanceLocation& location);

// The compute instances in a GPU instance.
[[nodiscard]] Outcome<std::vector<nvml::ComputeInstance>> compute_instances(const Library& library,
                                                                            const Gpu& gpu,
                                                                            nvml::GpuInstance gi);

// The compute instance profile that fills a GPU instance of `slices` compute slices: of those with
// as many slices the one with the most multiprocessors, because a double-memory 1g of Hopper has
// more of them than the plain one-slice profile uses.
[[nodiscard]] Outcome<nvml::CiProfileInfo> filling_profile(const Library& library, const Gpu& gpu,
                                                           nvml::GpuInstance gi, unsigned slices);

}  // namespace tangram::device
