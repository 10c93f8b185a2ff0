// What the driver reports of a GPU's MIG profiles and of where each may stand, gathered for the
// geometry (mig/reported.hpp) to make sense of. One rule: nothing is interpreted here; a profile
// that this GPU lacks is skipped, anything else that fails ends the report.
#pragma once

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"
#include "mig/reported.hpp"

namespace tangram::device {

// `gpu` must have its name and memory.
[[nodiscard]] Outcome<mig::ReportedGpu> read_report(const Library& library, nvml::Device device,
                                                    const Gpu& gpu);

}  // namespace tangram::device
