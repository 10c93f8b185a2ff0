// StealTime: the share of processor time that the hypervisor gave to other machines since
// construction ("steal" in /proc/stat), for programs that measure: latencies taken while it is more
// than a little are the host's and not the daemon's.
#pragma once

#include <array>
#include <fstream>
#include <numeric>
#include <string>

namespace tangram::tests {

class StealTime {
 public:
  // Since construction; 0 on a physical machine.
  [[nodiscard]] double percent() const {
    const Times now = times();
    const double all = now.all - start_.all;
    return all > 0 ? 100 * (now.steal - start_.steal) / all : 0;
  }

 private:
  struct Times {
    double all = 0;
    double steal = 0;
  };
  // user nice system idle iowait irq softirq steal: ticks, summed over all processors
  static Times times() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    std::array<double, 8> ticks{};
    file >> cpu;
    for (double& each : ticks) file >> each;
    return {.all = std::accumulate(ticks.begin(), ticks.end(), 0.0), .steal = ticks.back()};
  }

  Times start_ = times();
};

}  // namespace tangram::tests
