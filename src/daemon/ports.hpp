// Ports: gives out ports of a range, one after another, for runs and for endpoints. One rule: a
// port that a job or run of ours has, or may still come to use, is taken even if nobody listens.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "daemon/records.hpp"

namespace tangram::daemon {

struct PortRange {
  std::uint16_t first;
  std::uint16_t last;
};

class Ports {
 public:
  // none: all are taken.
  [[nodiscard]] std::optional<std::uint16_t> find_free(PortRange range, const Records& records);

 private:
  // Anywhere: two daemons on one machine would else choose the same port in the same moment.
  unsigned next_ = std::random_device()() % 10'000;
};

}  // namespace tangram::daemon
