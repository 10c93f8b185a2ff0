// Stolen: how much of the processors' time the host gave to others meanwhile, for programs that
// measure: latencies taken while that is more than a little are the host's, not the daemon's.
#pragma once

#include <array>
#include <fstream>
#include <numeric>
#include <string>

namespace tangram::tests {

class Stolen {
 public:
  // Since it was made; 0 where no host takes any.
  [[nodiscard]] double percent() const {
    const Times now = times();
    const double all = now.all - begun_.all;
    return all > 0 ? 100 * (now.stolen - begun_.stolen) / all : 0;
  }

 private:
  struct Times {
    double all = 0;
    double stolen = 0;
  };
  // user nice system idle iowait irq softirq steal, in ticks of all processors together
  static Times times() {
    std::ifstream file("/proc/stat");
    std::string cpu;
    std::array<double, 8> ticks{};
    file >> cpu;
    for (double& each : ticks) file >> each;
    return {.all = std::accumulate(ticks.begin(), ticks.end(), 0.0), .stolen = ticks.back()};
  }

  Times begun_ = times();
};

}  // namespace tangram::tests
