// The two changes Tangram makes to a GPU: create an instance, destroy one. Each takes several
// driver calls, any of which can fail, report success without effect, or take effect in spite of an
// error; so both list the instances before and after, and the outcome is what was seen. A change is
// done and verified, or undone, or its Failure says what is left over. Instances that are not in
// `owned` are not touched.
#pragma once

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"
#include "device/owned_instances.hpp"
#include "device/retry_policy.hpp"
#include "mig/model.hpp"

namespace tangram::device {

// Creates the GPU instance and the compute instance that fills it. If the second fails, the first
// is destroyed again. `placement` is one of gpu.model's. The location is in `owned` afterwards
// unless Failure::leftover is kNothing or another program's instance was there. One change of a GPU
// at a time.
[[nodiscard]] Outcome<Instance> create(const Library& library, const Gpu& gpu,
                                       mig::Placement placement, OwnedInstances& owned,
                                       const RetryPolicy& retry);

// Destroys all compute instances of the GPU instance, then the GPU instance. A partly or wholly
// removed instance is not a failure. While it is in use, retries as `retry` allows.
[[nodiscard]] Outcome<void> destroy(const Library& library, const Gpu& gpu,
                                    const Instance& instance, OwnedInstances& owned,
                                    const RetryPolicy& retry);

// Fails, with what to do, if MIG is not on or the GPU has no model.
[[nodiscard]] Outcome<void> check_ready(const Gpu& gpu);

}  // namespace tangram::device
