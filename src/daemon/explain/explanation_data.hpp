// Explanations as data: the core's explanations turned into wire values. Only what the caller may
// do differs between callers; what is said about the node is the same for all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "api/explanation.hpp"
#include "core/explain.hpp"
#include "core/node.hpp"

namespace tangram::daemon {

// What the caller may do, and lookups for the views.
struct CallerRights {
  bool is_admin = false;
  std::function<bool(std::uint64_t job)> may_control;
  std::function<std::string(std::uint64_t job)> user_of;
  std::function<api::WallTime(Instant)> wall_of;
};

// Adds the candidates, the criterion that decided between the first two, and the GPUs without one.
void add_arrival(const core::ArrivalExplanation& from, const core::PlacementPolicy& policy,
                 api::ExplanationBase& to);
// Adds what would unblock the job.
void add_waiting(const core::WaitingExplanation& from, const core::Node& node,
                 const CallerRights& rights, api::ExplanationBase& to);
// Adds the job to `to.leases` if it is a lease.
void add_lease(std::uint64_t job, const core::Node& node, api::ExplanationBase& to);

}  // namespace tangram::daemon
