// See limits.hpp.
#include "daemon/limits.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "daemon/problems.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

constexpr double kBurstSeconds = 5;
constexpr std::size_t kMostBuckets = 10'000;

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
  for (const auto& [uid, share] : shares_) users.push_back(uid);
  for (const std::uint32_t uid : users) let_go(uid);
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

// A bucket that leaks at the allowed rate and holds a few seconds' worth.
double Limits::drops(std::uint32_t uid, Steady::time_point now) const {
  const auto bucket = buckets_.find(uid);
  if (bucket == buckets_.end()) return 0;
  const auto rate = static_cast<double>(limits_.submissions_per_second);
  const double gone = std::chrono::duration<double>(now - bucket->second.at).count() * rate;
  return std::max(0.0, bucket->second.drops - gone);
}

bool Limits::is_full(double drops) const {
  const auto rate = static_cast<double>(limits_.submissions_per_second);
  return rate != 0 && drops + 1 > rate * kBurstSeconds;
}

bool Limits::too_fast(std::uint32_t uid) {
  if (limits_.submissions_per_second == 0) return false;
  if (buckets_.size() > kMostBuckets) buckets_.clear();
  const auto now = Steady::now();
  const double held = drops(uid, now);
  const bool full = is_full(held);
  buckets_[uid] = {.drops = held + (full ? 0 : 1), .at = now};
  return full;
}

api::Problem Limits::comes_too_fast() const {
  return too_many(cat("more than ", limits_.submissions_per_second,
                      " submissions a second are not accepted from one user; wait a moment."));
}

http::Answer<Limits::Admission> Limits::admit(const http::Caller& caller, std::uint32_t uid,
                                              const std::string& profile) {
  if (access_.is_admin(caller)) return Admission{};
  if (too_fast(uid)) return std::unexpected(comes_too_fast());
  return check(uid, profile);
}

http::Answer<Limits::Admission> Limits::would_admit(const http::Caller& caller, std::uint32_t uid,
                                                    const std::string& profile) const {
  if (access_.is_admin(caller)) return Admission{};
  if (is_full(drops(uid, Steady::now()))) return std::unexpected(comes_too_fast());
  return check(uid, profile);
}

// How much he has.
http::Answer<Limits::Admission> Limits::check(std::uint32_t uid, const std::string& profile) const {
  const auto at = shares_.find(uid);
  const Share share = at == shares_.end() ? Share{} : at->second;
  if (limits_.jobs != 0 && share.jobs >= limits_.jobs) {
    return std::unexpected(
        too_many(cat("you have ", share.jobs, " jobs that are not over, and may have ",
                     limits_.jobs, "; wait for some, or cancel some.")));
  }
  const std::uint32_t slices = slices_of(profile);
  if (limits_.slices == 0) return Admission{};
  if (slices > limits_.slices) {
    return std::unexpected(
        unserved(cat("a ", profile, " has ", slices, " compute slices, and a user may have ",
                     limits_.slices, " at once.")));
  }
  return Admission{.over_limit = share.slices + slices > limits_.slices,
                   .has = share.slices,
                   .most = limits_.slices,
                   .needs = slices};
}

std::optional<Limits::Hold> Limits::hold_of(std::uint64_t job) const {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return std::nullopt;
  const auto share = shares_.find(at->second.uid);
  if (share == shares_.end() || !share->second.held.contains(job)) return std::nullopt;
  Hold hold{.has = share->second.slices, .most = limits_.slices, .needs = at->second.slices};
  if (*share->second.held.begin() != job) {  // let_go() begins with that one
    hold.behind = *share->second.held.begin();
    return hold;
  }
  for (const auto& [id, other] : jobs_) {
    if (other.uid != at->second.uid || !other.counts) continue;
    if (hold.has - other.slices + hold.needs <= hold.most) hold.enough.push_back(id);
  }
  return hold;
}

void Limits::coming(std::uint64_t job, std::uint32_t uid, const std::string& profile, bool held) {
  count(job, {.uid = uid, .slices = slices_of(profile), .counts = !held});
}

void Limits::not_coming(std::uint64_t job) { forget(job); }

void Limits::count(std::uint64_t job, const Counted& now) {
  forget(job);
  jobs_[job] = now;
  Share& share = shares_[now.uid];
  ++share.jobs;
  if (now.counts) share.slices += now.slices;
}

void Limits::forget(std::uint64_t job) {
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return;
  Share& share = shares_[at->second.uid];
  --share.jobs;
  if (at->second.counts) share.slices -= at->second.slices;
  share.held.erase(job);
  if (share.jobs == 0) shares_.erase(at->second.uid);
  jobs_.erase(at);
}

bool Limits::let_in(std::uint64_t job) {
  if (exceeds(job)) return false;
  const auto at = jobs_.find(job);
  if (at != jobs_.end() && !at->second.counts) {
    at->second.counts = true;
    shares_[at->second.uid].slices += at->second.slices;
  }
  return true;
}

bool Limits::exceeds(std::uint64_t job) const {
  const auto at = jobs_.find(job);
  if (at == jobs_.end() || limits_.slices == 0) return false;
  const auto share = shares_.find(at->second.uid);
  if (share == shares_.end() || access_.is_admin(local(at->second.uid))) return false;
  const std::uint32_t more = at->second.counts ? 0 : at->second.slices;
  return share->second.slices + more > limits_.slices;
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
    if ((holds & core::kHoldLimit) != 0) shares_[row->uid].held.insert(id);
  }
  for (const std::uint32_t uid : users) let_go(uid);
}

// In the order of their submission; the first that does not fit waits, and the others behind it.
void Limits::let_go(std::uint32_t uid) {
  const auto at = shares_.find(uid);
  if (at == shares_.end()) return;
  while (!at->second.held.empty()) {
    const std::uint64_t job = *at->second.held.begin();
    if (exceeds(job)) return;
    at->second.held.erase(at->second.held.begin());
    Counted& counted = jobs_.at(job);
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
