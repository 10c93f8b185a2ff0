// See user_limits.hpp.
#include "daemon/config/user_limits.hpp"

#include <algorithm>

namespace tangram::daemon {
namespace {

// The larger limit; 0 is unlimited.
template <class T>
T larger(T a, T b) {
  return a == T{} || b == T{} ? T{} : std::max(a, b);
}

template <class T>
void widen(std::optional<T>& limit, const std::optional<T>& other) {
  if (other) limit = limit ? larger(*limit, *other) : *other;
}

void apply(const LimitOverrides& overrides, UserLimits& to) {
  to.slices = overrides.slices.value_or(to.slices);
  to.jobs = overrides.jobs.value_or(to.jobs);
  to.held_jobs = overrides.held_jobs.value_or(to.held_jobs);
  to.max_time = overrides.max_time.value_or(to.max_time);
  to.max_priority = overrides.max_priority.value_or(to.max_priority);
}

}  // namespace

UserLimits limits_of(const UserLimits& limits, const std::string& user,
                     const std::vector<std::string>& groups) {
  UserLimits own = limits;
  own.users.clear();
  own.groups.clear();
  LimitOverrides of_groups;
  for (const std::string& name : groups) {
    const auto group = limits.groups.find(name);
    if (group == limits.groups.end()) continue;
    const LimitOverrides& each = group->second.each;
    widen(of_groups.slices, each.slices);
    widen(of_groups.jobs, each.jobs);
    widen(of_groups.held_jobs, each.held_jobs);
    widen(of_groups.max_time, each.max_time);
    if (each.max_priority) {
      of_groups.max_priority =
          std::max(*each.max_priority, of_groups.max_priority.value_or(*each.max_priority));
    }
  }
  apply(of_groups, own);
  if (const auto at = limits.users.find(user); at != limits.users.end()) apply(at->second, own);
  return own;
}

}  // namespace tangram::daemon
