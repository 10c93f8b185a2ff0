// The state of a lease as callers know it, from that of its job, for whoever shows or counts
// leases. One rule: what is on its way but not recorded yet is for Leases to add.
#pragma once

#include "api/job.hpp"
#include "api/lease.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

[[nodiscard]] inline api::LeaseState lease_state(const store::JobRow& row) {
  if (row.over) return api::LeaseState::kOver;
  if (row.state == api::name_of(api::JobState::kRunning)) return api::LeaseState::kGranted;
  if (row.state == api::name_of(api::JobState::kStopping)) return api::LeaseState::kReleasing;
  return api::LeaseState::kWaiting;
}

}  // namespace tangram::daemon
