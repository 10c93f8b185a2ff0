// The processes on a GPU and the traffic of its PCIe link, as the driver reports them now.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// All compute processes of a GPU, each with its GPU instance.
[[nodiscard]] Outcome<std::vector<Process>> processes(const Library& library,
                                                      const std::string& gpu_uuid);
// All compute and graphics processes of a GPU.
[[nodiscard]] Outcome<std::vector<Process>> all_processes(const Library& library,
                                                          const std::string& gpu_uuid);
// The compute processes on one GPU instance.
[[nodiscard]] Outcome<std::vector<Process>> processes(const Library& library,
                                                      const std::string& gpu_uuid, unsigned gi);

// For the whole GPU; there is no counter per instance. Blocks for about 40 ms.
[[nodiscard]] Outcome<PcieThroughput> pcie_throughput(const Library& library,
                                                      const std::string& gpu_uuid);

}  // namespace tangram::device
