// See restore_scheduler.hpp.
#include "store/restore_scheduler.hpp"

#include "core/saved.hpp"
#include "policies/registry.hpp"

namespace tangram::store {

Result<core::Scheduler> restore_scheduler(const core::Saved& saved) {
  const auto policies = policies::find_policies(saved.rest.tuning);
  if (!policies) return std::unexpected(policies.error());
  return core::Scheduler::restore(saved, *policies);
}

}  // namespace tangram::store
