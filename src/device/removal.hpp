// Destroys the instance at a location without checking that it is Tangram's: for destroy() and the
// roll-back of create(), whose caller has made sure of that.
#pragma once

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"
#include "device/retry_policy.hpp"

namespace tangram::device {

// Succeeds once the driver lists no instance there. Else the failure says what is left and which
// processes hold it.
[[nodiscard]] Outcome<void> remove(const Library& library, const Gpu& gpu,
                                   const InstanceLocation& location, const RetryPolicy& retry);

// "2g.10gb@4"
[[nodiscard]] std::string text_of(const InstanceLocation& location);

// The instance at the location, if it is in the list.
[[nodiscard]] std::optional<Instance> find_at(const std::vector<Instance>& instances,
                                              const InstanceLocation& location);

}  // namespace tangram::device
