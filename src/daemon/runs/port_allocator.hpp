// PortAllocator: chooses ports from a configured range, one after another, for runs and endpoints.
// A port that belongs to an active job or run is taken even if no process listens on it. A port
// that is bound but has no listener is the last choice: its owner may listen there before the run
// does.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "daemon/engine/job_table.hpp"

namespace tangram::daemon {

struct PortRange {
  std::uint16_t first;
  std::uint16_t last;
};

class PortAllocator {
 public:
  // Returns a port of `range` that no active row of `records` has: one to which no socket is bound,
  // else one without a listener. nullopt: all are taken.
  [[nodiscard]] std::optional<std::uint16_t> find_free(PortRange range, const JobTable& records);

 private:
  using IsFree = bool (*)(std::uint16_t port);
  [[nodiscard]] std::optional<std::uint16_t> find(PortRange range, const JobTable& records,
                                                  IsFree is_free);

  // Random start: two daemons on one machine would otherwise choose the same port at the same time.
  unsigned next_ = std::random_device()() % 10'000;
};

}  // namespace tangram::daemon
