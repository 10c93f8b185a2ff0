// See limits.hpp: jobs held at a limit of compute slices, and their release.
#include <algorithm>
#include <utility>

#include "daemon/access/limits.hpp"
#include "daemon/access/user_cache.hpp"

namespace tangram::daemon {
namespace {

http::Caller local(std::uint32_t uid) {
  http::Caller caller;
  caller.uid = uid;
  caller.gid = group_of(uid);
  return caller;
}

}  // namespace

// Which limits a job would exceed if it counted.
struct Limits::Excess {
  bool of_user = false;
  std::vector<std::string> groups = {};
  Hold first = {};                       // the figures of the first of them
  std::set<std::uint32_t> members = {};  // the users that it limits

  [[nodiscard]] bool any() const { return of_user || !groups.empty(); }
};

Limits::Excess Limits::excess_of(std::uint64_t job) const {
  Excess excess;
  const auto at = jobs_.find(job);
  if (at == jobs_.end()) return excess;
  const std::uint32_t uid = at->second.uid;
  if (access_.is_admin(local(uid))) return excess;
  const std::uint32_t needs = at->second.slices;
  const std::uint32_t more = at->second.counts ? 0 : needs;
  const std::uint32_t limit = limits_of_user(uid).slices;
  const std::uint32_t has = load_of(uid).slices;
  if (limit != 0 && has + more > limit) {
    excess.of_user = true;
    excess.first = {.has = has, .most = limit, .needs = needs};
    excess.members = {uid};
  }
  for (const GroupUse& group : groups_of_user(uid)) {
    if (group.limits.slices == 0 || group.slices + more <= group.limits.slices) continue;
    if (!excess.any()) {
      excess.first = {
          .has = group.slices, .most = group.limits.slices, .needs = needs, .group = group.name};
      excess.members = group.members;
    }
    excess.groups.push_back(group.name);
  }
  return excess;
}

std::uint8_t Limits::holds_of(std::uint64_t job) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(job));
  return slot == core::kNoJob ? std::uint8_t{0} : node.job(slot).holds;
}

void Limits::prepare_release(std::uint64_t job, core::HoldCause cause) {
  if ((holds_of(job) & ~(cause | core::kHoldUnservable)) != 0) return;
  if (!try_unhold(job)) engine_.post(core::JobHeld{core::JobId(job), core::kHoldLimit});
}

bool Limits::try_unhold(std::uint64_t job) {
  if (excess_of(job).any()) return false;
  const auto at = jobs_.find(job);
  if (at != jobs_.end() && !at->second.counts) {
    CountedJob now = at->second;
    now.counts = true;
    now.waits = false;
    count(job, now);
  }
  return true;
}

std::optional<Limits::Hold> Limits::hold_of(std::uint64_t job) const {
  const auto at = jobs_.find(job);
  if (at == jobs_.end() || !load_of(at->second.uid).held.contains(job)) return std::nullopt;
  const Excess excess = excess_of(job);
  const std::uint32_t uid = at->second.uid;
  Hold hold = excess.first;
  if (!excess.any()) {  // only held ones before it
    hold = {
        .has = load_of(uid).slices, .most = limits_of_user(uid).slices, .needs = at->second.slices};
  }
  std::uint64_t first = job;  // release_held() starts with it
  for (const std::uint32_t user : excess.members) {
    const UserLoad& load = load_of(user);
    if (!load.held.empty()) first = std::min(first, *load.held.begin());
  }
  first = std::min(first, *load_of(uid).held.begin());
  if (first != job) {
    hold.behind = first;
  } else {
    hold.enough = jobs_enough_for(hold, excess.members, job);
  }
  return hold;
}

std::vector<std::uint64_t> Limits::jobs_enough_for(const Hold& hold,
                                                   const std::set<std::uint32_t>& users,
                                                   std::uint64_t job) const {
  std::vector<std::uint64_t> enough;
  for (const auto& [id, other] : jobs_) {
    if (id == job || !other.counts || !users.contains(other.uid)) continue;
    if (hold.has - other.slices + hold.needs <= hold.most) enough.push_back(id);
  }
  return enough;
}

// In order of submission. A job that does not fit keeps back the later ones of its user, and of the
// groups whose limit it exceeds.
void Limits::release_held() {
  std::set<std::pair<std::uint64_t, std::uint32_t>> first;  // job and user
  for (const auto& [uid, load] : loads_) {
    if (!load.held.empty()) first.emplace(*load.held.begin(), uid);
  }
  std::set<std::string> full;
  const bool has_names = !limits_.users.empty() || !limits_.groups.empty();
  while (!first.empty()) {
    const auto [job, uid] = *first.begin();
    first.erase(first.begin());
    if (has_names && !is_user_resolved(uid)) continue;  // its limits are not known yet
    const auto groups = listed_groups_of(uid);
    if (std::ranges::any_of(groups, [&](const auto& name) { return full.contains(name); })) {
      continue;
    }
    const Excess excess = excess_of(job);
    full.insert(excess.groups.begin(), excess.groups.end());
    if (excess.any()) continue;
    release(job);
    const UserLoad& load = load_of(uid);
    if (!load.held.empty()) first.emplace(*load.held.begin(), uid);
  }
}

void Limits::release(std::uint64_t job) {
  CountedJob now = jobs_.at(job);
  loads_[now.uid].held.erase(job);
  const bool is_held = (holds_of(job) & ~(core::kHoldLimit | core::kHoldUnservable)) != 0;
  if (!is_held && !now.counts) {
    now.counts = true;
    now.waits = false;
    count(job, now);
  }
  engine_.post(core::JobReleased{core::JobId(job), core::kHoldLimit});
}

}  // namespace tangram::daemon
