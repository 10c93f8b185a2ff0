// Refusals: requests of strangers, counted per network instead of written down one by one, so that
// nobody can wash the lines of others out of the audit log. One rule: a network is reported at most
// once a minute, and there is a bounded number of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tangram::daemon {

class Refusals {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Report {
    std::string network;
    std::uint64_t count = 0;
  };

  void count(const std::string& network, Time now);
  // Those that are due; they are counted from zero again. A network's first one is due at once.
  [[nodiscard]] std::vector<Report> take_due(Time now);
  // Whatever was counted.
  [[nodiscard]] std::vector<Report> take_all();

 private:
  struct Count {
    std::uint64_t count = 0;
    Time due{};
  };
  std::map<std::string, Count> counts_;
  Time next_{};  // nothing is due before
};

}  // namespace tangram::daemon
