// Reads what the driver reports of a GPU's MIG profiles and placements, uninterpreted (see
// mig/reported.hpp). A profile that this GPU lacks is skipped; any other error ends the report.
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
