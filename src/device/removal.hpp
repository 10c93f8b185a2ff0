// Removal: the destruction of what stands at a place, without the question whose it is; both
// `destroy` and the roll-back of a `create` need it. One rule: the caller has made sure it is ours.
#pragma once

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"
#include "device/patience.hpp"

namespace tangram::device {

// Succeeds when it was seen that nothing stands there any more. The failure says what does, and
// who holds it.
[[nodiscard]] Outcome<void> remove(const Library& library, const Gpu& gpu, const Place& place,
                                   const Patience& patience);

// "2g.10gb@4"
[[nodiscard]] std::string text_of(const Place& place);

// The instance at that place, if it is in the list.
[[nodiscard]] std::optional<Instance> find_at(const std::vector<Instance>& instances,
                                              const Place& place);

}  // namespace tangram::device
