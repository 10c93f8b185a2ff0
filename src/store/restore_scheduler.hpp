// restore_scheduler(): the one way from a stored state to a running scheduler. The start of the
// daemon, `tangram store check`, the verification of backups and replay all use it, so that a state
// that one of them accepts is accepted by all.
#pragma once

#include "base/error.hpp"
#include "core/scheduler.hpp"

namespace tangram::store {

// Fails if the state is damaged, or names a policy that this version does not have.
[[nodiscard]] Result<core::Scheduler> restore_scheduler(const core::Saved& saved);

}  // namespace tangram::store
