// See leases.hpp: the TTL of leases: renewal and expiry. While the store cannot be written no lease
// expires, because no renewal can be stored. When it recovers, all deadlines are extended.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/leases/lease_timers.hpp"
#include "daemon/leases/leases.hpp"

namespace tangram::daemon {

void Leases::renew(const Caller& caller, std::uint64_t id,
                   std::optional<std::chrono::milliseconds> ttl, const Reply& reply) {
  const auto row = find_owned(caller, id, "renew");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const bool granted = !row->over && row->state == api::name_of(api::JobState::kRunning);
  if (!granted || ending_.contains(id)) {
    reply(std::unexpected(row->over || ending_.contains(id)
                              ? ended_problem(*row)
                              : conflict(cat("lease ", id, " is ", row->state,
                                             ": only a granted lease can be renewed."))));
    return;
  }
  if (ttl == api::kNoEnd) {
    const auto may = admit_unlimited_ttl(caller, id);
    if (!may) {
      reply(std::unexpected(may.error()));
      return;
    }
  }
  if (const auto may = limits_.check_ttl(caller, ttl); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  ++renewals_in_flight_[id];
  engine_.post(Input{
      .event = core::WakeUp{},
      .edit_rows =
          [id, ttl](JobTable& records) {
            store::LeaseRow* lease = records.edit_lease(id);
            if (lease == nullptr) return;
            if (ttl) lease->ttl = *ttl;
            lease->deadline = deadline_of(*lease);
          },
      .done =
          [this, alive = alive_, caller, id, ttl, reply](const Result<void>& result) {
            if (!*alive) return;
            if (--renewals_in_flight_[id] == 0) renewals_in_flight_.erase(id);
            if (!result) {
              renew_unsaved(id, ttl, result.error().message, reply);
              return;
            }
            sweep();
            const store::JobRow* now = engine_.records().job(id);
            if (now == nullptr || now->state != api::name_of(api::JobState::kRunning)) {
              reply(std::unexpected(now == nullptr ? missing(cat("lease ", id, ": not found."))
                                                   : ended_problem(*now)));
            } else {
              reply(get_lease(caller, id));
            }
          },
      .may_be_refused = true});
}

http::Answer<void> Leases::admit_unlimited_ttl(const Caller& caller, std::uint64_t id) const {
  const store::LeaseRow* lease = engine_.records().lease(id);
  if (lease == nullptr || lease->key.empty()) {
    return std::unexpected(
        conflict(cat("lease ", id, " has no key: only a lease with a key can be without an end.")));
  }
  return access_.require_admin(caller, "renew leases without an end");
}

// Keeps a renewal in memory that could not be stored. It is lost if the daemon ends before the
// store recovers.
void Leases::renew_unsaved(std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
                           const std::string& error, const Reply& reply) {
  UnsavedRenewal& renewal = unsaved_renewals_[id];
  renewal.at = Clock::since_boot();
  if (ttl) renewal.ttl = *ttl;
  sweep();
  reply(std::unexpected(
      unavailable(cat("lease ", id, " stays granted, but the renewal cannot be stored: ", error))));
}

// The deadline of a lease that was granted or renewed at `at`; nullopt: without an end.
std::optional<Leases::Micros> Leases::deadline_of(const store::LeaseRow& lease, Micros at) {
  if (lease.ttl == Micros(api::kNoEnd)) return std::nullopt;
  return at + lease.ttl;
}

// The lease with its unsaved renewal applied.
store::LeaseRow Leases::with_unsaved_renewal(store::LeaseRow lease) const {
  const auto at = unsaved_renewals_.find(lease.job);
  if (at == unsaved_renewals_.end()) return lease;
  if (at->second.ttl) lease.ttl = *at->second.ttl;
  lease.deadline = deadline_of(lease, at->second.at);
  return lease;
}

// Acts when the store has started or stopped failing since the last call; otherwise does nothing.
void Leases::on_store_state() {
  const bool is_failing = !engine_.store_error().empty();
  if (std::exchange(is_store_failing_, is_failing) == is_failing) return;
  if (is_failing) {
    acknowledge_releases();
  } else {
    extend_deadlines();
  }
}

// Stores the unsaved renewals, and gives the other holders time to renew.
void Leases::extend_deadlines() {
  if (engine_.records().leases().empty()) return;
  ++extensions_in_flight_;
  const auto written = std::make_shared<decltype(unsaved_renewals_)>();
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows =
                         [this, alive = alive_, written](JobTable& records) {
                           if (!*alive) return;
                           *written = unsaved_renewals_;
                           write_extended_deadlines(records);
                         },
                     .done =
                         [this, alive = alive_, written](const Result<void>& /*never refused*/) {
                           if (!*alive) return;
                           --extensions_in_flight_;
                           for (const auto& [id, each] : *written) {
                             const auto at = unsaved_renewals_.find(id);
                             if (at != unsaved_renewals_.end() && at->second.at == each.at) {
                               unsaved_renewals_.erase(at);
                             }
                           }
                           sweep();
                         }});
}

void Leases::write_extended_deadlines(JobTable& records) const {
  const Micros soon = Clock::since_boot() + kRecoveryGrace;
  std::vector<std::uint64_t> ids;
  for (const auto& [id, lease] : records.leases()) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    store::LeaseRow lease = with_unsaved_renewal(*records.lease(id));
    if (lease.deadline) lease.deadline = std::max(*lease.deadline, soon);
    if (!lease.granted) lease.wait_until = std::max(lease.wait_until, soon);
    *records.edit_lease(id) = lease;
  }
}

// When the lease expires; nullopt: not by itself, or not as long as a request for it is in flight.
std::optional<Leases::Micros> Leases::due_time(std::uint64_t id,
                                               const store::LeaseRow& lease) const {
  const store::JobRow* row = engine_.records().job(id);
  if (row == nullptr || row->over || ending_.contains(id)) return std::nullopt;
  if (is_waiting(id)) {
    if (waiters_.contains(id) || recovering_.contains(id)) return std::nullopt;
    return lease.wait_until;
  }
  const bool granted = row->state == api::name_of(api::JobState::kRunning);
  if (!granted || renewals_in_flight_.contains(id)) return std::nullopt;
  return lease.deadline;
}

// Handles everything that is due and sets the timer to the next deadline.
void Leases::sweep() {
  on_store_state();
  const Micros now = Clock::since_boot();
  std::optional<Micros> next;
  expire_waiters(now, next);
  if (!is_store_failing_ && extensions_in_flight_ == 0) end_expired(now, next);
  timers_->next.cancel();
  if (!next) return;
  timers_->next.expires_after(*next - now);
  timers_->next.async_wait([this, alive = alive_](const boost::system::error_code& stopped) {
    if (!stopped && *alive) sweep();
  });
}

void Leases::end_expired(Micros now, std::optional<Micros>& next) {
  std::vector<std::uint64_t> ended;
  for (const auto& [id, lease] : engine_.records().leases()) {
    const auto when = due_time(id, lease);
    if (!when) continue;
    if (*when <= now) {
      ended.push_back(id);
    } else {
      next = std::min(next.value_or(*when), *when);
    }
  }
  for (const std::uint64_t id : ended) {
    const store::JobRow& row = *engine_.records().job(id);
    const store::LeaseRow& lease = *engine_.records().lease(id);
    if (row.state == api::name_of(api::JobState::kRunning)) {
      const auto ttl = std::chrono::duration_cast<std::chrono::milliseconds>(lease.ttl);
      end(id, cat("it was not renewed within ", api::duration_text(ttl)));
    } else {
      end(id, "no free slot in time, and the request was not repeated");
    }
  }
}

void Leases::end(std::uint64_t id, const std::string& reason) {
  if (!ending_.insert(id).second) return;
  engine_.post(Input{.event = core::JobCancelled{core::JobId(id)},
                     .edit_rows =
                         [id, reason](JobTable& records) {
                           store::JobRow* row = records.edit_job(id);
                           if (row != nullptr && !row->over) row->reason = reason;
                         },
                     .done =
                         [this, alive = alive_, id](const Result<void>& /*never refused*/) {
                           // on_jobs_changed() is not called for a lease that was never committed.
                           if (*alive && engine_.records().job(id) == nullptr) ending_.erase(id);
                         }});
}

}  // namespace tangram::daemon
