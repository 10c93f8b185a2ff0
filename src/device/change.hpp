// The two changes Tangram makes to a GPU: create an instance at a place, destroy one. Each is
// several calls of the driver, any of which can fail, lie or take effect in spite of an error; so
// each looks at the GPU before and after, and its answer is what it saw. One rule: a change is done
// and verified, or undone, or its Failure says what is left; and what is not ours is not touched.
#pragma once

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"
#include "device/owned.hpp"
#include "device/patience.hpp"
#include "mig/model.hpp"

namespace tangram::device {

// Creates the GPU instance and the compute instance that fills it. If the second fails the first is
// destroyed again. `placement` is one of gpu.model's. The place is in `owned` afterwards unless
// Failure::left is kNothing or the place was another's. Not more than one change of a GPU at a
// time.
[[nodiscard]] Outcome<Instance> create(const Library& library, const Gpu& gpu,
                                       mig::Placement placement, Owned& owned,
                                       const Patience& patience);

// Destroys whatever compute instances it has, then the GPU instance; one that is half destroyed or
// gone already is no failure. While it is in use it is tried again for as long as `patience` says.
[[nodiscard]] Outcome<void> destroy(const Library& library, const Gpu& gpu,
                                    const Instance& instance, Owned& owned,
                                    const Patience& patience);

// Fails with the instruction what to do if MIG is not on, or the GPU has no model.
[[nodiscard]] Outcome<void> check_ready(const Gpu& gpu);

}  // namespace tangram::device
