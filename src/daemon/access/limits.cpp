// See limits.hpp.
#include "daemon/access/limits.hpp"

#include <chrono>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

constexpr double kBurstSeconds = 5;  // a user may submit at once what the rate allows in this time

http::Caller local(std::uint32_t uid) {
  http::Caller caller;
  caller.uid = uid;
  caller.gid = group_of(uid);
  return caller;
}

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
  std::vector<std::uint32_t> users;
  for (const auto& [uid, load] : loads_) users.push_back(uid);
  for (const std::uint32_t uid : users) release_held(uid);
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

http::Answer<Limits::Admission> Limits::admit(const http::Caller& caller,
                                              const store::JobRow& row) {
  if (access_.is_admin(caller)) return Admission{};
  if (limits_.submissions_per_second != 0 &&
      !submission_rate_.try_acquire(std::to_string(row.uid), std::chrono::steady_clock::now())) {
    return std::unexpected(rate_limited());
  }
  return check(row.uid, row.profile, row.request.size());
}

http::Answer<Limits::Admission> Limits::would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const {
  if (access_.is_admin(caller)) return Admission{};
  if (limits_.submissions_per_second != 0 &&
      !submission_rate_.can_acquire(std::to_string(uid), std::chrono::steady_clock::now())) {
    return std::unexpected(rate_limited());
  }
  return check(uid, profile, 0);
}

api::TimeLimits Limits::time_limits_of(const http::Caller& caller) const {
  const auto limit = [](std::chrono::milliseconds time) {
    return time.count() > 0 ? TimeLimit(time) : std::nullopt;
  };
  return {.standard = limit(limits_.default_time),
          .longest = access_.is_admin(caller) ? std::nullopt : limit(limits_.max_time)};
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

const Limits::UserLoad* Limits::load_of(std::uint32_t uid) const {
  const auto at = loads_.find(uid);
  return at == loads_.end() ? nullptr : &at->second;
}

api::UserUse Limits::use_of(const http::Caller& caller) const {
  const UserLoad* load = load_of(caller.uid);
  const bool is_limited = !access_.is_admin(caller);
  const auto use = [&](std::uint64_t used, std::uint64_t limit) {
    return api::LimitUse{.used = used,
                         .limit = is_limited && limit != 0 ? std::optional(limit) : std::nullopt};
  };
  return {.jobs = use(load == nullptr ? 0 : load->jobs, limits_.jobs),
          .slices = use(load == nullptr ? 0 : load->slices, limits_.slices),
          .request_bytes = use(load == nullptr ? 0 : load->request_bytes, limits_.request_bytes),
          .log_bytes = use(0, limits_.log_bytes)};
}

http::Answer<void> Limits::admit_priority(const http::Caller& caller, int priority) const {
  if (priority <= limits_.max_priority || access_.is_admin(caller)) return {};
  return std::unexpected(
      forbidden(cat("priority ", priority, " is above your maximum of ", limits_.max_priority,
                    ": use at most that, or ask an admin (access.max_priority).")));
}

// The quotas, without the rate limit.
http::Answer<Limits::Admission> Limits::check(std::uint32_t uid, const std::string& profile,
                                              std::uint64_t request_bytes) const {
  static const UserLoad kNoLoad;
  const UserLoad* const known = load_of(uid);
  const UserLoad& load = known == nullptr ? kNoLoad : *known;
  if (limits_.jobs != 0 && load.jobs >= limits_.jobs) {
    return std::unexpected(too_many(cat("job limit reached (", load.jobs, " of ", limits_.jobs,
                                        " active): wait for one to finish or cancel one.")));
  }
  if (limits_.request_bytes != 0 && load.request_bytes + request_bytes > limits_.request_bytes) {
    return std::unexpected(too_many(cat(
        "request size limit reached (", load.request_bytes, " of ", limits_.request_bytes,
        " bytes in active jobs, ", request_bytes,
        " requested): wait for a job to finish, cancel one, or submit a smaller environment.")));
  }
  const std::uint32_t slices = slices_of(profile);
  if (limits_.slices == 0) return Admission{};
  if (slices > limits_.slices) {
    return std::unexpected(
        unservable(cat("a ", profile, " has ", slices, " compute slices; the limit per user is ",
                       limits_.slices, ".")));
  }
  return Admission{.over_limit = load.slices + slices > limits_.slices,
                   .has = load.slices,
                   .most = limits_.slices,
                   .needs = slices};
}

std::optional<Limits::Hold> Limits::hold_of(std::uint64_t job) const {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return std::nullopt;
  const auto load = loads_.find(at->second.uid);
  if (load == loads_.end() || !load->second.held.contains(job)) return std::nullopt;
  Hold hold{.has = load->second.slices, .most = limits_.slices, .needs = at->second.slices};
  if (*load->second.held.begin() != job) {  // release_held() starts with it
    hold.behind = *load->second.held.begin();
    return hold;
  }
  for (const auto& [id, other] : jobs_) {
    if (other.uid != at->second.uid || !other.counts) continue;
    if (hold.has - other.slices + hold.needs <= hold.most) hold.enough.push_back(id);
  }
  return hold;
}

void Limits::add_pending(const store::JobRow& row, bool held) {
  count(row.id, {.uid = row.uid,
                 .slices = slices_of(row.profile),
                 .counts = !held,
                 .request_bytes = row.request.size()});
}

void Limits::remove_pending(std::uint64_t job) { forget(job); }

void Limits::count(std::uint64_t job, const CountedJob& now) {
  forget(job);
  jobs_[job] = now;
  UserLoad& load = loads_[now.uid];
  ++load.jobs;
  load.request_bytes += now.request_bytes;
  if (now.counts) load.slices += now.slices;
}

void Limits::forget(std::uint64_t job) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  UserLoad& load = loads_[at->second.uid];
  --load.jobs;
  load.request_bytes -= at->second.request_bytes;
  if (at->second.counts) load.slices -= at->second.slices;
  load.held.erase(job);
  if (load.jobs == 0) loads_.erase(at->second.uid);
  jobs_.erase(at);
}

bool Limits::try_unhold(std::uint64_t job) {
  if (exceeds(job)) return false;
  const auto at = jobs_.find(job);
  if (at != jobs_.end() && !at->second.counts) {
    at->second.counts = true;
    loads_[at->second.uid].slices += at->second.slices;
  }
  return true;
}

bool Limits::exceeds(std::uint64_t job) const {
  const auto at = jobs_.find(job);
  if (at == jobs_.end() || limits_.slices == 0) return false;
  const auto load = loads_.find(at->second.uid);
  if (load == loads_.end() || access_.is_admin(local(at->second.uid))) return false;
  const std::uint32_t more = at->second.counts ? 0 : at->second.slices;
  return load->second.slices + more > limits_.slices;
}

void Limits::on_jobs_changed(const std::vector<std::uint64_t>& jobs) {
  std::set<std::uint32_t> users;
  const core::Node& node = engine_.scheduler().node();
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    const auto at = jobs_.find(id);
    if (at != jobs_.end()) users.insert(at->second.uid);
    const std::uint64_t request_bytes = at == jobs_.end() ? 0 : at->second.request_bytes;
    if (row == nullptr || row->over) {
      forget(id);
      continue;
    }
    users.insert(row->uid);
    const core::JobSlot slot = node.find_job(core::JobId(id));
    const std::uint8_t holds = slot == core::kNoJob ? 0 : node.job(slot).holds;
    const bool held = (holds & (core::kHoldUser | core::kHoldLimit)) != 0;
    count(id, {.uid = row->uid,
               .slices = slices_of(row->profile),
               .counts = !held,
               .request_bytes = request_bytes});
    if ((holds & core::kHoldLimit) != 0) loads_[row->uid].held.insert(id);
  }
  for (const std::uint32_t uid : users) release_held(uid);
}

// In order of submission, up to the first that does not fit.
void Limits::release_held(std::uint32_t uid) {
  const auto at = loads_.find(uid);
  if (at == loads_.end()) return;
  while (!at->second.held.empty()) {
    const std::uint64_t job = *at->second.held.begin();
    if (exceeds(job)) return;
    at->second.held.erase(at->second.held.begin());
    CountedJob& counted = jobs_.at(job);
    const core::Node& node = engine_.scheduler().node();
    const core::JobSlot slot = node.find_job(core::JobId(job));
    const bool by_user = slot != core::kNoJob && (node.job(slot).holds & core::kHoldUser) != 0;
    if (!counted.counts && !by_user) {
      counted.counts = true;
      at->second.slices += counted.slices;
    }
    engine_.post(core::JobReleased{core::JobId(job), true});
  }
}

}  // namespace tangram::daemon
