// See leases.hpp: clients that wait for a lease, and the replies to those whose wait has timed out.
#include <algorithm>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/leases/lease_timers.hpp"
#include "daemon/leases/lease_waiter.hpp"
#include "daemon/leases/leases.hpp"

namespace tangram::daemon {

// A client that waited for the lease has disconnected.
void Leases::on_waiter_gone(std::uint64_t id) {
  const auto at = waiters_.find(id);
  if (at == waiters_.end()) return;
  std::erase_if(at->second, [](const auto& each) { return each.expired(); });
  if (!at->second.empty()) return;
  waiters_.erase(at);
  if (engine_.records().lease(id) != nullptr) {
    on_no_waiters(id);
    return;
  }
  // Not committed yet: continues then.
  engine_.post(Input{.event = core::WakeUp{},
                     .done =
                         [this, alive = alive_, id](const Result<void>& result) {
                           if (*alive && result && !waiters_.contains(id)) on_no_waiters(id);
                         },
                     .may_be_refused = true});
}

// The last client that waited for the lease is gone: ends it, or keeps its place for a while.
void Leases::on_no_waiters(std::uint64_t id) {
  const store::LeaseRow* lease = engine_.records().lease(id);
  const store::JobRow* row = engine_.records().job(id);
  if (row != nullptr && row->over) return;
  if (lease == nullptr || lease->linger.count() == 0) {
    end(id, "client disconnected");
  } else {
    hold_place_for(id);
  }
}

// Keeps the lease in the queue for its linger time. It is granted if its turn comes.
void Leases::hold_place_for(std::uint64_t id) {
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows =
                         [id](JobTable& records) {
                           store::LeaseRow* lease = records.edit_lease(id);
                           if (lease == nullptr) return;
                           const Micros until = Clock::since_boot() + lease->linger;
                           lease->wait_until = std::min(lease->wait_until, until);
                         },
                     .done =
                         [this, alive = alive_](const Result<void>& /*never refused*/) {
                           if (*alive) sweep();
                         }});
}

// Whether the lease waits for a placement. A placed lease does not.
bool Leases::is_waiting(std::uint64_t id) const {
  const store::JobRow* row = engine_.records().job(id);
  if (row == nullptr || row->over || ending_.contains(id)) return false;
  const auto state = api::find_state(row->state);
  return state == api::JobState::kQueued || state == api::JobState::kHeld;
}

// Removes and returns the waiters whose deadline has passed; lowers `next` to the next deadline.
std::vector<std::shared_ptr<Leases::Waiter>> Leases::take_expired(std::uint64_t id, Micros now,
                                                                  std::optional<Micros>& next) {
  const bool is_queued = is_waiting(id);
  std::vector<std::shared_ptr<Waiter>> out;
  std::erase_if(waiters_.at(id), [&](const std::weak_ptr<Waiter>& each) {
    auto waiter = each.lock();
    if (!waiter) return false;  // being destroyed; see on_waiter_gone()
    const Micros until = is_queued ? waiter->wait_deadline : waiter->create_deadline;
    if (until > now) {
      next = std::min(next.value_or(until), until);
      return false;
    }
    out.push_back(std::move(waiter));
    return true;
  });
  return out;
}

// The reply to clients whose wait has timed out; nullopt if another reply has been sent or will be.
std::optional<api::Problem> Leases::timeout_problem(const store::JobRow& row,
                                                    std::optional<Views::Queue>& queue) const {
  if (!engine_.store_error().empty()) return unavailable(engine_.store_error());
  if (ending_.contains(row.id)) return std::nullopt;
  const auto state = api::find_state(row.state);
  if (state == api::JobState::kPlaced || state == api::JobState::kStarting) {
    return not_ready(cat("lease ", row.id, " has been placed; creating its instance."));
  }
  if (!is_waiting(row.id)) return std::nullopt;
  const core::Node& node = engine_.scheduler().node();
  const auto profile = node.find_name(row.profile);
  if (profile && !node.servable(*profile)) {
    return out_of_service(cat("no GPU with the profile ", row.profile,
                              " is in service: all are cordoned or lost. See `tangram gpus`."));
  }
  if (!queue) queue = views_.queue();
  return no_room(cat("no slot became free in time (", views_.why_waiting(row, true, *queue), ")."));
}

// Replies to the waiters whose deadline has passed. Others may go on waiting for the same lease.
void Leases::expire_waiters(Micros now, std::optional<Micros>& next) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, waiters] : waiters_) ids.push_back(id);
  std::optional<Views::Queue> queue;
  std::vector<std::pair<std::shared_ptr<Waiter>, api::Problem>>
      answers;  // sent when the state is final
  for (const std::uint64_t id : ids) {
    const store::LeaseRow* lease = engine_.records().lease(id);
    const store::JobRow* row = engine_.records().job(id);
    if (lease == nullptr || row == nullptr || row->over) continue;
    const auto expired = take_expired(id, now, next);
    if (expired.empty()) continue;
    const auto problem = timeout_problem(*row, queue);
    const bool is_last = waiters_.at(id).empty();
    const bool rejected = is_last && lease->linger.count() == 0;
    const bool can_end_now =
        row->state != api::name_of(api::JobState::kStarting) && engine_.store_error().empty();
    if (!problem || (rejected && can_end_now)) {  // the reply is sent when the lease has ended
      waiters_.at(id).insert(waiters_.at(id).end(), expired.begin(), expired.end());
      if (!problem) continue;
      reject(id, *problem);
      continue;
    }
    if (is_last) waiters_.erase(id);
    if (rejected) reject(id, *problem);
    if (is_last && !rejected) hold_place_for(id);
    for (const auto& waiter : expired) answers.emplace_back(waiter, *problem);
  }
  for (const auto& [waiter, problem] : answers) waiter->respond(std::unexpected(problem));
}

void Leases::reject(std::uint64_t id, const api::Problem& problem) {
  rejections_.insert_or_assign(id, problem);
  if (problem.type == not_ready("").type) {
    end(id, "its instance was not created in time");
    return;
  }
  if (problem.status != 409) {
    end(id, "the store could not be written");
    return;
  }
  end(id, problem.detail.substr(0, problem.detail.find_last_not_of('.') + 1));
}

void Leases::reply_to_waiters(std::uint64_t id, const std::optional<api::Problem>& problem) {
  const auto at = waiters_.find(id);
  if (at == waiters_.end()) return;
  const auto waiting = std::move(at->second);
  waiters_.erase(at);
  for (const auto& each : waiting) {
    const auto waiter = each.lock();
    if (!waiter) continue;
    if (problem) {
      waiter->respond(std::unexpected(*problem));
    } else {
      waiter->respond(get_lease(waiter->caller, id));
    }
  }
}

}  // namespace tangram::daemon
