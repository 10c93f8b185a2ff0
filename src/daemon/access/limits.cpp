// See limits.hpp.
#include "daemon/access/limits.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

constexpr double kBurstSeconds = 5;
constexpr std::size_t kMaxBuckets = 10'000;

http::Caller local(std::uint32_t uid) {
  http::Caller caller;
  caller.uid = uid;
  caller.gid = group_of(uid);
  return caller;
}

}  // namespace

Limits::Limits(Engine& engine, const Access& access, const UserLimits& limits)
    : engine_(engine), access_(access), limits_(limits) {
  std::vector<std::uint64_t> jobs;
  for (const auto& [id, row] : engine_.records().jobs()) jobs.push_back(id);
  changed(jobs);
}

void Limits::set(const UserLimits& limits) {
  limits_ = limits;
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

// Leaky bucket: drains at the allowed rate and holds a few seconds' worth of submissions.
double Limits::bucket_level(std::uint32_t uid, Steady::time_point now) const {
  const auto bucket = buckets_.find(uid);
  if (bucket == buckets_.end()) return 0;
  const auto rate = static_cast<double>(limits_.submissions_per_second);
  const double drained = std::chrono::duration<double>(now - bucket->second.at).count() * rate;
  return std::max(0.0, bucket->second.level - drained);
}

bool Limits::is_full(double level) const {
  const auto rate = static_cast<double>(limits_.submissions_per_second);
  return rate != 0 && level + 1 > rate * kBurstSeconds;
}

bool Limits::exceeds_rate_limit(std::uint32_t uid) {
  if (limits_.submissions_per_second == 0) return false;
  if (buckets_.size() > kMaxBuckets) buckets_.clear();
  const auto now = Steady::now();
  const double level = bucket_level(uid, now);
  const bool full = is_full(level);
  buckets_[uid] = {.level = level + (full ? 0 : 1), .at = now};
  return full;
}

api::Problem Limits::rate_limited() const {
  return too_many(cat("rate limit reached (", limits_.submissions_per_second,
                      " submissions per second): retry in a moment."));
}

http::Answer<Limits::Admission> Limits::admit(const http::Caller& caller, std::uint32_t uid,
                                              const std::string& profile) {
  if (access_.is_admin(caller)) return Admission{};
  if (exceeds_rate_limit(uid)) return std::unexpected(rate_limited());
  return check(uid, profile);
}

http::Answer<Limits::Admission> Limits::would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const {
  if (access_.is_admin(caller)) return Admission{};
  if (is_full(bucket_level(uid, Steady::now()))) return std::unexpected(rate_limited());
  return check(uid, profile);
}

// The quotas, without the rate limit.
http::Answer<Limits::Admission> Limits::check(std::uint32_t uid, const std::string& profile) const {
  const auto at = loads_.find(uid);
  const UserLoad load = at == loads_.end() ? UserLoad{} : at->second;
  if (limits_.jobs != 0 && load.jobs >= limits_.jobs) {
    return std::unexpected(too_many(cat("job limit reached (", load.jobs, " of ", limits_.jobs,
                                        " active): wait for one to finish or cancel one.")));
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

void Limits::add_pending(std::uint64_t job, std::uint32_t uid, const std::string& profile,
                         bool held) {
  count(job, {.uid = uid, .slices = slices_of(profile), .counts = !held});
}

void Limits::remove_pending(std::uint64_t job) { forget(job); }

void Limits::count(std::uint64_t job, const CountedJob& now) {
  forget(job);
  jobs_[job] = now;
  UserLoad& load = loads_[now.uid];
  ++load.jobs;
  if (now.counts) load.slices += now.slices;
}

void Limits::forget(std::uint64_t job) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  UserLoad& load = loads_[at->second.uid];
  --load.jobs;
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

void Limits::changed(const std::vector<std::uint64_t>& jobs) {
  std::set<std::uint32_t> users;
  const core::Node& node = engine_.scheduler().node();
  for (const std::uint64_t id : jobs) {
    const store::JobRow* row = engine_.records().job(id);
    if (const auto at = jobs_.find(id); at != jobs_.end()) users.insert(at->second.uid);
    if (row == nullptr || row->over) {
      forget(id);
      continue;
    }
    users.insert(row->uid);
    const core::JobSlot slot = node.find_job(core::JobId(id));
    const std::uint8_t holds = slot == core::kNoJob ? 0 : node.job(slot).holds;
    const bool held = (holds & (core::kHoldUser | core::kHoldLimit)) != 0;
    count(id, {.uid = row->uid, .slices = slices_of(row->profile), .counts = !held});
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
