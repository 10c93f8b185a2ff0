// See leases.hpp: those who wait for a lease, and what they are told when their time is over.
#include <algorithm>

#include "base/text.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/leases_visit.hpp"
#include "daemon/problems.hpp"

namespace tangram::daemon {

// One who waited for it has hung up.
void Leases::left(std::uint64_t id) {
  const auto at = visits_.find(id);
  if (at == visits_.end()) return;
  std::erase_if(at->second, [](const auto& each) { return each.expired(); });
  if (!at->second.empty()) return;
  visits_.erase(at);
  if (engine_.records().lease(id) != nullptr) return leave_alone(id);
  // Asked for and not committed: once that is clear.
  engine_.post(Input{.event = core::WakeUp{},
                     .done =
                         [this, alive = alive_, id](const Result<void>& result) {
                           if (*alive && result && !visits_.contains(id)) leave_alone(id);
                         },
                     .wish = true});
}

// Nobody waits for it any more.
void Leases::leave_alone(std::uint64_t id) {
  const store::LeaseRow* lease = engine_.records().lease(id);
  const store::JobRow* row = engine_.records().job(id);
  if (row != nullptr && row->over) return;
  if (lease == nullptr || lease->linger.count() == 0) {
    end(id, "whoever asked for it has left");
  } else {
    linger(id);
  }
}

// It keeps its place for a while, and is granted if its turn comes.
void Leases::linger(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .note =
                         [id](Records& records) {
                           store::LeaseRow* lease = records.edit_lease(id);
                           if (lease == nullptr) return;
                           const Micros until = Clock::since_boot() + lease->linger;
                           lease->wait_until = std::min(lease->wait_until, until);
                         },
                     .done =
                         [this, alive = alive_](const Result<void>& /*a fact*/) {
                           if (*alive) sweep();
                         }});
}

// For room: one that has a place is as good as granted.
bool Leases::waits(std::uint64_t id) const {
  const store::JobRow* row = engine_.records().job(id);
  if (row == nullptr || row->over || ending_.contains(id)) return false;
  const auto state = api::find_state(row->state);
  return state == api::JobState::kQueued || state == api::JobState::kHeld;
}

// Those whose patience has ended; when the next one's does.
std::vector<std::shared_ptr<Leases::Visit>> Leases::take_impatient(std::uint64_t id, Micros now,
                                                                   std::optional<Micros>& next) {
  const bool for_room = waits(id);
  std::vector<std::shared_ptr<Visit>> out;
  std::erase_if(visits_.at(id), [&](const std::weak_ptr<Visit>& each) {
    auto visit = each.lock();
    if (!visit) return false;  // on his way out; see left()
    const Micros until = for_room ? visit->until : visit->until_made;
    if (until > now) {
      next = std::min(next.value_or(until), until);
      return false;
    }
    out.push_back(std::move(visit));
    return true;
  });
  return out;
}

// Why one who waits for it goes without; none: he is told otherwise, or soon.
std::optional<api::Problem> Leases::why_not_yet(const store::JobRow& row,
                                                std::optional<Views::Queue>& queue) const {
  if (!engine_.store_trouble().empty()) return unavailable(engine_.store_trouble());
  if (ending_.contains(row.id)) return std::nullopt;
  const auto state = api::find_state(row.state);
  if (state == api::JobState::kPlaced || state == api::JobState::kStarting) {
    return not_ready(cat("lease ", row.id, " has a place; its instance is being made."));
  }
  if (!waits(row.id)) return std::nullopt;
  const core::Node& node = engine_.scheduler().node();
  const auto profile = node.find_name(row.profile);
  if (profile && !node.servable(*profile)) {
    return out_of_service(cat("no GPU that has the profile ", row.profile,
                              " is in service: they are cordoned or lost; see `tangram gpus`."));
  }
  if (!queue) queue = views_.queue();
  return no_room(cat("no room came free in time: ", views_.why_waiting(row, true, *queue), "."));
}

// Their time is over; others may wait on for the same lease.
void Leases::tell_impatient(Micros now, std::optional<Micros>& next) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, visits] : visits_) ids.push_back(id);
  std::optional<Views::Queue> queue;
  std::vector<std::pair<std::shared_ptr<Visit>, api::Problem>> answers;  // given when all is done
  for (const std::uint64_t id : ids) {
    const store::LeaseRow* lease = engine_.records().lease(id);
    const store::JobRow* row = engine_.records().job(id);
    if (lease == nullptr || row == nullptr || row->over) continue;
    const auto told = take_impatient(id, now, next);
    if (told.empty()) continue;
    const auto problem = why_not_yet(*row, queue);
    const bool last = visits_.at(id).empty();
    const bool given_up = last && lease->linger.count() == 0;
    const bool at_once =
        row->state != api::name_of(api::JobState::kStarting) && engine_.store_trouble().empty();
    if (!problem || (given_up && at_once)) {  // first it is over, then they are told
      visits_.at(id).insert(visits_.at(id).end(), told.begin(), told.end());
      if (!problem) continue;
      give_up(id, *problem);
      continue;
    }
    if (last) visits_.erase(id);
    if (given_up) give_up(id, *problem);
    if (last && !given_up) linger(id);
    for (const auto& visit : told) answers.emplace_back(visit, *problem);
  }
  for (const auto& [visit, problem] : answers) visit->tell(std::unexpected(problem));
}

void Leases::give_up(std::uint64_t id, const api::Problem& problem) {
  refused_.insert_or_assign(id, problem);
  if (problem.type == not_ready("").type) return end(id, "its instance was not there in time");
  if (problem.status != 409) return end(id, "its asker was told that the store cannot be written");
  end(id, problem.detail.substr(0, problem.detail.find_last_not_of('.') + 1));
}

void Leases::answer(std::uint64_t id, const std::optional<api::Problem>& problem) {
  const auto at = visits_.find(id);
  if (at == visits_.end()) return;
  const auto waiting = std::move(at->second);
  visits_.erase(at);
  for (const auto& each : waiting) {
    const auto visit = each.lock();
    if (!visit) continue;
    if (problem) {
      visit->tell(std::unexpected(*problem));
    } else {
      visit->tell(lease(visit->caller, id));
    }
  }
}

}  // namespace tangram::daemon
