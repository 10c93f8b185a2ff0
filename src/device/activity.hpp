// What goes on on a GPU: the processes on it and the traffic of its PCIe link. One rule: numbers
// are of the moment they were asked for; nobody stores them here.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/failure.hpp"
#include "device/library.hpp"

namespace tangram::device {

// All compute processes of a GPU, with the instance each one is on.
[[nodiscard]] Outcome<std::vector<Process>> processes(const Library& library,
                                                      const std::string& gpu_uuid);
// Those on one GPU instance.
[[nodiscard]] Outcome<std::vector<Process>> processes(const Library& library,
                                                      const std::string& gpu_uuid, unsigned gi);

// Of the whole GPU: there is no counter of an instance. Blocks for about 40 ms.
[[nodiscard]] Outcome<PcieThroughput> pcie_throughput(const Library& library,
                                                      const std::string& gpu_uuid);

}  // namespace tangram::device
