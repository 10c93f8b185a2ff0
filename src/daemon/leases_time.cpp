// See leases.hpp: leases kept, and ended by the clock. As long as the store cannot be written
// nothing ends by the clock, because nobody could renew; and then everybody has a moment to.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.hpp"
#include "daemon/leases.hpp"
#include "daemon/leases_timing.hpp"
#include "daemon/problems.hpp"

namespace tangram::daemon {

void Leases::renew(const Caller& caller, std::uint64_t id,
                   std::optional<std::chrono::milliseconds> ttl, const Reply& reply) {
  const auto row = find_taken(caller, id, "renew");
  if (!row) return reply(std::unexpected(row.error()));
  const bool granted = !row->over && row->state == api::name_of(api::JobState::kRunning);
  if (!granted || ending_.contains(id)) {
    return reply(std::unexpected(
        row->over || ending_.contains(id)
            ? why_over(*row)
            : conflict(cat("lease ", id, " is ", row->state, ": only a granted one is renewed."))));
  }
  if (ttl == api::kNoEnd) {
    const auto may = admit_endless(caller, id);
    if (!may) return reply(std::unexpected(may.error()));
  }
  ++renewing_[id];
  engine_.post(Input{
      .event = core::WakeUp{},
      .note =
          [id, ttl](Records& records) {
            store::LeaseRow* lease = records.edit_lease(id);
            if (lease == nullptr) return;
            if (ttl) lease->ttl = *ttl;
            lease->deadline = deadline_of(*lease);
          },
      .done =
          [this, alive = alive_, caller, id, ttl, reply](const Result<void>& result) {
            if (!*alive) return;
            if (--renewing_[id] == 0) renewing_.erase(id);
            if (!result) return renew_unwritten(id, ttl, result.error().message, reply);
            sweep();
            const store::JobRow* now = engine_.records().job(id);
            if (now == nullptr || now->state != api::name_of(api::JobState::kRunning)) {
              reply(std::unexpected(now == nullptr ? missing(cat("there is no lease ", id, "."))
                                                   : why_over(*now)));
            } else {
              reply(lease(caller, id));
            }
          },
      .wish = true});
}

http::Answer<void> Leases::admit_endless(const Caller& caller, std::uint64_t id) const {
  const store::LeaseRow* lease = engine_.records().lease(id);
  if (lease == nullptr || lease->key.empty()) {
    return std::unexpected(
        conflict(cat("lease ", id, " has no key: it cannot be without an end.")));
  }
  return access_.require_admin(caller, "let leases live without an end");
}

// It holds as long as we do, and is written down as soon as that can be done.
void Leases::renew_unwritten(std::uint64_t id, std::optional<std::chrono::milliseconds> ttl,
                             const std::string& trouble, const Reply& reply) {
  Unwritten& mine = unwritten_[id];
  mine.at = Clock::since_boot();
  if (ttl) mine.ttl = *ttl;
  sweep();
  reply(std::unexpected(
      unavailable(cat("lease ", id, " goes on, but that cannot be written down: ", trouble))));
}

// The deadline that a lease has, counted from `at`.
std::optional<Leases::Micros> Leases::deadline_of(const store::LeaseRow& lease, Micros at) {
  if (lease.ttl == Micros(api::kNoEnd)) return std::nullopt;
  return at + lease.ttl;
}

// What its holder said while it could not be written down.
store::LeaseRow Leases::with_unwritten(store::LeaseRow lease) const {
  const auto at = unwritten_.find(lease.job);
  if (at == unwritten_.end()) return lease;
  if (at->second.ttl) lease.ttl = *at->second.ttl;
  lease.deadline = deadline_of(lease, at->second.at);
  return lease;
}

// Whether the store can be written has changed since the last time; or it has not.
void Leases::mind_the_store() {
  const bool trouble = !engine_.store_trouble().empty();
  if (std::exchange(in_trouble_, trouble) == trouble) return;
  if (trouble) {
    tell_parted();
  } else {
    give_grace();
  }
}

// What was said meanwhile is written down, and whoever could not say anything has some seconds to.
void Leases::give_grace() {
  if (engine_.records().leases().empty()) return;
  ++graces_;
  const auto written = std::make_shared<decltype(unwritten_)>();
  engine_.post(Input{.event = core::WakeUp{},
                     .note =
                         [this, alive = alive_, written](Records& records) {
                           if (!*alive) return;
                           *written = unwritten_;
                           write_grace(records);
                         },
                     .done =
                         [this, alive = alive_, written](const Result<void>& /*a fact*/) {
                           if (!*alive) return;
                           --graces_;
                           for (const auto& [id, each] : *written) {
                             const auto at = unwritten_.find(id);
                             if (at != unwritten_.end() && at->second.at == each.at) {
                               unwritten_.erase(at);
                             }
                           }
                           sweep();
                         }});
}

void Leases::write_grace(Records& records) const {
  const Micros soon = Clock::since_boot() + kAfterTrouble;
  std::vector<std::uint64_t> ids;
  for (const auto& [id, lease] : records.leases()) ids.push_back(id);
  for (const std::uint64_t id : ids) {
    store::LeaseRow lease = with_unwritten(*records.lease(id));
    if (lease.deadline) lease.deadline = std::max(*lease.deadline, soon);
    if (!lease.granted) lease.wait_until = std::max(lease.wait_until, soon);
    *records.edit_lease(id) = lease;
  }
}

// When it ends of itself, as it stands.
std::optional<Leases::Micros> Leases::due(std::uint64_t id, const store::LeaseRow& lease) const {
  const store::JobRow* row = engine_.records().job(id);
  if (row == nullptr || row->over || ending_.contains(id)) return std::nullopt;
  if (waits(id)) {
    if (visits_.contains(id) || coming_back_.contains(id)) return std::nullopt;
    return lease.wait_until;
  }
  const bool granted = row->state == api::name_of(api::JobState::kRunning);
  if (!granted || renewing_.contains(id)) return std::nullopt;
  return lease.deadline;
}

void Leases::sweep() {
  mind_the_store();
  const Micros now = Clock::since_boot();
  std::optional<Micros> next;
  tell_impatient(now, next);
  if (!in_trouble_ && graces_ == 0) end_overdue(now, next);
  timing_->next.cancel();
  if (!next) return;
  timing_->next.expires_after(*next - now);
  timing_->next.async_wait([this, alive = alive_](const boost::system::error_code& stopped) {
    if (!stopped && *alive) sweep();
  });
}

void Leases::end_overdue(Micros now, std::optional<Micros>& next) {
  std::vector<std::uint64_t> ended;
  for (const auto& [id, lease] : engine_.records().leases()) {
    const auto when = due(id, lease);
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
      end(id, "no room came free in time, and nobody asked for it again");
    }
  }
}

void Leases::end(std::uint64_t id, const std::string& reason) {
  if (!ending_.insert(id).second) return;
  engine_.post(
      Input{.event = core::JobCancelled{core::JobId(id)},
            .note =
                [id, reason](Records& records) {
                  store::JobRow* row = records.edit_job(id);
                  if (row != nullptr && !row->over) row->reason = reason;
                },
            .done =
                [this, alive = alive_, id](const Result<void>& /*a fact is never refused*/) {
                  // One that was never committed has nobody else to forget it.
                  if (*alive && engine_.records().job(id) == nullptr) ending_.erase(id);
                }});
}

}  // namespace tangram::daemon
