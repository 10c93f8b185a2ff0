// The API state of a lease, derived from the stored state of its job. Changes that are posted but
// not committed are not included; Leases::state_of() adds them.
#pragma once

#include "api/job.hpp"
#include "api/lease.hpp"
#include "store/store.hpp"

namespace tangram::daemon {

[[nodiscard]] inline api::LeaseState lease_state(const store::JobRow& row) {
  if (row.over) return api::LeaseState::kEnded;
  if (row.state == api::name_of(api::JobState::kRunning)) return api::LeaseState::kGranted;
  if (row.state == api::name_of(api::JobState::kStopping)) return api::LeaseState::kReleasing;
  return api::LeaseState::kWaiting;
}

}  // namespace tangram::daemon
