// See limits.hpp.
#include "daemon/access/limits.hpp"

#include <algorithm>
#include <chrono>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

constexpr double kBurstSeconds = 5;  // a user may submit at once what the rate allows in this time

}  // namespace

Limits::Limits(Engine& engine, const Access& access, const UserLimits& limits)
    : engine_(engine), access_(access) {
  set(limits);
  count_stored_jobs();
}

// The rows in memory have no requests.
void Limits::count_stored_jobs() {
  const auto sizes = engine_.store().request_sizes();
  if (!sizes) spdlog::error("{}", sizes.error().message);
  std::vector<std::uint64_t> jobs;
  for (const auto& [id, row] : engine_.records().jobs()) jobs.push_back(id);
  on_jobs_changed(jobs);
  for (auto& [id, job] : jobs_) {
    const auto size = sizes ? sizes->find(id) : decltype(sizes->end()){};
    if (!sizes || size == sizes->end()) continue;
    job.request_bytes = size->second;
    loads_[job.uid].request_bytes += size->second;
  }
}

void Limits::set(const UserLimits& limits) {
  limits_ = limits;
  const auto rate = static_cast<double>(limits.submissions_per_second);
  submission_rate_.set_rate(rate * kBurstSeconds, rate);
  std::vector<std::string> groups;
  for (const auto& [name, group] : limits.groups) groups.push_back(name);
  list_groups(std::move(groups));
  release_held();
}

UserLimits Limits::limits_of_user(std::uint32_t uid) const {
  return limits_of(limits_, user_name(uid), listed_groups_of(uid));
}

std::vector<Limits::GroupUse> Limits::groups_of_user(std::uint32_t uid) const {
  std::vector<GroupUse> groups;
  for (const std::string& name : listed_groups_of(uid)) {
    const auto limits = limits_.groups.find(name);
    if (limits == limits_.groups.end()) continue;
    GroupUse group{.name = name, .limits = limits->second, .members = {uid}};
    for (const auto& [other, load] : loads_) {
      const auto of_other = listed_groups_of(other);
      if (std::ranges::find(of_other, name) == of_other.end()) continue;
      group.members.insert(other);
      group.jobs += load.jobs;
      group.slices += load.slices;
      group.held_jobs += load.held_jobs;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::uint32_t Limits::slices_of(const std::string& profile) const {
  const core::Node& node = engine_.scheduler().node();
  const auto name = node.find_name(profile);
  for (std::size_t m = 0; name && m < node.model_count(); ++m) {
    const core::ModelId id(static_cast<std::uint8_t>(m));
    if (const auto index = node.profile_on(id, *name)) {
      return static_cast<std::uint32_t>(node.model(id).profile(*index).compute_slices);
    }
  }
  return 0;
}

api::Problem Limits::rate_limited() const {
  return too_many(cat("rate limit reached (", limits_.submissions_per_second,
                      " submissions per second): retry in a moment."));
}

http::Answer<Limits::Admission> Limits::admit(const http::Caller& caller, const store::JobRow& row,
                                              const Beginning& beginning) {
  if (access_.is_admin(caller)) return Admission{};
  if (limits_.submissions_per_second != 0 &&
      !submission_rate_.try_acquire(std::to_string(row.uid), std::chrono::steady_clock::now())) {
    return std::unexpected(rate_limited());
  }
  return check(row.uid, row.profile, row.request.size(), beginning);
}

http::Answer<Limits::Admission> Limits::would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const {
  if (access_.is_admin(caller)) return Admission{};
  if (limits_.submissions_per_second != 0 &&
      !submission_rate_.can_acquire(std::to_string(uid), std::chrono::steady_clock::now())) {
    return std::unexpected(rate_limited());
  }
  return check(uid, profile, 0, {});
}

api::TimeLimits Limits::time_limits_of(const http::Caller& caller) const {
  const auto limit = [](std::chrono::milliseconds time) {
    return time.count() > 0 ? TimeLimit(time) : std::nullopt;
  };
  const TimeLimit standard = limit(limits_.default_time);
  if (access_.is_admin(caller)) return {.standard = standard, .longest = std::nullopt};
  const TimeLimit longest = limit(limits_of_user(caller.uid).max_time);
  const bool is_less = longest && standard && *longest < *standard;
  return {.standard = is_less ? longest : standard, .longest = longest};
}

http::Answer<Limits::TimeLimit> Limits::time_limit_of(const http::Caller& caller, api::JobKind kind,
                                                      TimeLimit requested) const {
  const api::TimeLimits limits = time_limits_of(caller);
  if (!requested) {
    const bool has_default = kind == api::JobKind::kBatch && limits.standard;
    return has_default ? limits.standard : limits.longest;
  }
  if (!limits.longest || *requested <= *limits.longest) return requested;
  return std::unexpected(
      unservable(cat("time limit ", api::duration_text(*requested), " is above the maximum of ",
                     api::duration_text(*limits.longest), ": request at most that.")));
}

http::Answer<void> Limits::check_ttl(const http::Caller& caller,
                                     std::optional<std::chrono::milliseconds> ttl) const {
  const TimeLimit longest = time_limits_of(caller).longest;
  if (!ttl || !longest || *ttl <= *longest) return {};
  return std::unexpected(unservable(cat("TTL ", api::duration_text(*ttl),
                                        " is above the maximum of ", api::duration_text(*longest),
                                        ": request at most that, and renew the lease.")));
}

const Limits::UserLoad& Limits::load_of(std::uint32_t uid) const {
  static const UserLoad kNone;
  const auto at = loads_.find(uid);
  return at == loads_.end() ? kNone : at->second;
}

api::UserUse Limits::use_of(const http::Caller& caller) const {
  const UserLoad& load = load_of(caller.uid);
  const UserLimits own = limits_of_user(caller.uid);
  const bool is_limited = !access_.is_admin(caller);
  const auto use = [&](std::uint64_t used, std::uint64_t limit) {
    return api::LimitUse{.used = used,
                         .limit = is_limited && limit != 0 ? std::optional(limit) : std::nullopt};
  };
  return {.jobs = use(load.jobs, own.jobs),
          .slices = use(load.slices, own.slices),
          .held_jobs = use(load.held_jobs, own.held_jobs),
          .request_bytes = use(load.request_bytes, own.request_bytes),
          .log_bytes = use(0, own.log_bytes)};
}

http::Answer<void> Limits::admit_priority(const http::Caller& caller, int priority) const {
  const std::int32_t most = limits_of_user(caller.uid).max_priority;
  if (priority <= most || access_.is_admin(caller)) return {};
  return std::unexpected(
      forbidden(cat("priority ", priority, " is above your maximum of ", most,
                    ": use at most that, or ask an admin (access.max_priority).")));
}

// The quotas, without the rate limit.
http::Answer<Limits::Admission> Limits::check(std::uint32_t uid, const std::string& profile,
                                              std::uint64_t request_bytes,
                                              const Beginning& beginning) const {
  const UserLimits own = limits_of_user(uid);
  const std::vector<GroupUse> groups = groups_of_user(uid);
  if (beginning.tasks > 1 && own.array_tasks != 0 && beginning.tasks > own.array_tasks) {
    return std::unexpected(
        unservable(cat("an array of ", beginning.tasks, " tasks is above the maximum of ",
                       own.array_tasks, " (access.array_tasks): submit smaller ones.")));
  }
  if (const auto ok = check_counts(uid, own, groups, beginning.tasks); !ok) {
    return std::unexpected(ok.error());
  }
  const UserLoad& load = load_of(uid);
  if (own.request_bytes != 0 && load.request_bytes + request_bytes > own.request_bytes) {
    return std::unexpected(too_many(cat(
        "request size limit reached (", load.request_bytes, " of ", own.request_bytes,
        " bytes in active jobs, ", request_bytes,
        " requested): wait for a job to finish, cancel one, or submit a smaller environment.")));
  }
  auto admission = check_slices(uid, profile, own, groups);
  if (admission && beginning.waits) admission->over_limit = false;  // checked when it is released
  if (!admission || !(beginning.held || admission->over_limit)) return admission;
  const std::uint32_t held = beginning.held ? beginning.tasks : 1;
  if (const auto ok = check_held(uid, own, groups, held); !ok) return std::unexpected(ok.error());
  return admission;
}

http::Answer<void> Limits::check_counts(std::uint32_t uid, const UserLimits& own,
                                        const std::vector<GroupUse>& groups,
                                        std::uint32_t more) const {
  const auto problem = [&](const std::string& whose, std::uint32_t jobs, std::uint32_t limit) {
    return std::unexpected(too_many(cat("job limit", whose, " reached (", jobs, " of ", limit,
                                        " active", more == 1 ? "" : cat(", ", more, " requested"),
                                        "): wait for one to finish or cancel one.")));
  };
  const UserLoad& load = load_of(uid);
  if (own.jobs != 0 && load.jobs + more > own.jobs) return problem("", load.jobs, own.jobs);
  for (const GroupUse& group : groups) {
    const std::uint32_t limit = group.limits.jobs;
    if (limit != 0 && group.jobs + more > limit)
      return problem(cat(" of group ", group.name), group.jobs, limit);
  }
  return {};
}

http::Answer<void> Limits::check_held(std::uint32_t uid, const UserLimits& own,
                                      const std::vector<GroupUse>& groups,
                                      std::uint32_t more) const {
  const auto problem = [](const std::string& whose, std::uint32_t jobs, std::uint32_t limit) {
    return std::unexpected(too_many(
        cat("held job limit", whose, " reached (", jobs, " of ", limit,
            " held), and this job would be held: release or cancel one, or wait for jobs to "
            "finish.")));
  };
  const UserLoad& load = load_of(uid);
  if (own.held_jobs != 0 && load.held_jobs + more > own.held_jobs)
    return problem("", load.held_jobs, own.held_jobs);
  for (const GroupUse& group : groups) {
    const std::uint32_t limit = group.limits.held_jobs;
    if (limit != 0 && group.held_jobs + more > limit)
      return problem(cat(" of group ", group.name), group.held_jobs, limit);
  }
  return {};
}

http::Answer<Limits::Admission> Limits::check_slices(std::uint32_t uid, const std::string& profile,
                                                     const UserLimits& own,
                                                     const std::vector<GroupUse>& groups) const {
  const std::uint32_t needs = slices_of(profile);
  const auto problem = [&](const std::string& whose, std::uint32_t limit) {
    return std::unexpected(unservable(cat(
        "a ", profile, " has ", needs, " compute slices; the limit ", whose, " is ", limit, ".")));
  };
  const std::uint32_t has = load_of(uid).slices;
  if (own.slices != 0 && needs > own.slices) return problem("per user", own.slices);
  Admission admission{.over_limit = own.slices != 0 && has + needs > own.slices,
                      .has = has,
                      .most = own.slices,
                      .needs = needs};
  for (const GroupUse& group : groups) {
    const std::uint32_t limit = group.limits.slices;
    if (limit != 0 && needs > limit) return problem(cat("of group ", group.name), limit);
    if (admission.over_limit || limit == 0 || group.slices + needs <= limit) continue;
    admission = {.over_limit = true,
                 .has = group.slices,
                 .most = limit,
                 .needs = needs,
                 .group = group.name};
  }
  return admission;
}

http::Answer<void> Limits::admit_hold(const http::Caller& caller,
                                      const std::vector<std::uint64_t>& jobs) const {
  std::uint32_t more = 0;
  std::uint32_t uid = 0;
  for (const std::uint64_t job : jobs) {
    const auto at = jobs_.find(job);
    if (at == jobs_.end() || (!at->second.counts && !at->second.waits)) continue;
    uid = at->second.uid;
    ++more;
  }
  if (more == 0 || access_.is_admin(caller)) return {};
  return check_held(uid, limits_of_user(uid), groups_of_user(uid), more);
}

bool Limits::is_over_limit(const http::Caller& caller, const store::JobRow& row) const {
  if (access_.is_admin(caller)) return false;
  const auto admission =
      check_slices(row.uid, row.profile, limits_of_user(row.uid), groups_of_user(row.uid));
  return admission && admission->over_limit;
}

void Limits::add_pending(const store::JobRow& row, const Beginning& beginning,
                         std::uint64_t request_bytes) {
  count(row.id, {.uid = row.uid,
                 .slices = slices_of(row.profile),
                 .counts = !beginning.held && !beginning.waits,
                 .waits = !beginning.held && beginning.waits,
                 .request_bytes = request_bytes});
}

void Limits::remove_pending(std::uint64_t job) { forget(job); }

void Limits::count(std::uint64_t job, const CountedJob& now) {
  forget(job);
  jobs_[job] = now;
  UserLoad& load = loads_[now.uid];
  ++load.jobs;
  load.request_bytes += now.request_bytes;
  if (now.counts) {
    load.slices += now.slices;
  } else if (!now.waits) {
    ++load.held_jobs;
  }
}

void Limits::forget(std::uint64_t job) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  UserLoad& load = loads_[at->second.uid];
  --load.jobs;
  load.request_bytes -= at->second.request_bytes;
  if (at->second.counts) {
    load.slices -= at->second.slices;
  } else if (!at->second.waits) {
    --load.held_jobs;
  }
  load.held.erase(job);
  if (load.jobs == 0) loads_.erase(at->second.uid);
  jobs_.erase(at);
}

void Limits::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    const auto at = jobs_.find(id);
    const std::uint64_t request_bytes = at == jobs_.end() ? 0 : at->second.request_bytes;
    if (row == nullptr || row->over) {
      forget(id);
      continue;
    }
    const std::uint8_t holds = holds_of(id);
    const bool held = (holds & (core::kHoldUser | core::kHoldLimit)) != 0;
    const bool waits = !held && (holds & (core::kHoldDependency | core::kHoldArray)) != 0;
    count(id, {.uid = row->uid,
               .slices = slices_of(row->profile),
               .counts = !held && !waits,
               .waits = waits,
               .request_bytes = request_bytes});
    if ((holds & core::kHoldLimit) != 0) loads_[row->uid].held.insert(id);
  }
  release_held();
}

}  // namespace tangram::daemon
