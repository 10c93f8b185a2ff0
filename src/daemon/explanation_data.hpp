// Explanations as callers get them, in data: what the core says turned into wire values. One rule:
// what differs from caller to caller is only what he may do; everybody is told the same of the
// node.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/explanation.hpp"
#include "core/explain.hpp"
#include "core/node.hpp"

namespace tangram::daemon {

// Who asks, and what he may have moved.
struct Asker {
  bool is_admin = false;
  std::function<bool(std::uint64_t job)> may_control;
  std::function<std::string(std::uint64_t job)> user_of;
  std::function<api::WallTime(Instant)> wall_of;
};

// Candidates, what decided between the first two, and the GPUs without one.
void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::Why& to);
// What would unblock it.
void add_waiting(const core::WaitingExplanation& from, const core::Node& node, const Asker& asker,
                 api::Why& to);
// Notes the job if it is a lease.
void add_lease(std::uint64_t job, const core::Node& node, api::Why& to);

}  // namespace tangram::daemon
