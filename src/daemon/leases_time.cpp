// See leases.hpp: leases kept, and ended by their holder or by the clock.
#include <algorithm>

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
  ++renewing_[id];
  engine_.post(Input{
      .event = core::WakeUp{},
      .note =
          [id, ttl](Records& records) {
            store::LeaseRow* lease = records.edit_lease(id);
            if (lease == nullptr) return;
            if (ttl) lease->ttl = *ttl;
            lease->deadline = Clock::since_boot() + lease->ttl;
          },
      .done =
          [this, alive = alive_, caller, id, reply](const Result<void>& result) {
            if (!*alive) return;
            if (--renewing_[id] == 0) renewing_.erase(id);
            sweep();
            if (!result) {
              reply(std::unexpected(unavailable(result.error().message)));
              return;
            }
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

void Leases::release(const Caller& caller, std::uint64_t id, const Reply& reply) {
  const auto row = find_taken(caller, id, "release");
  if (!row) return reply(std::unexpected(row.error()));
  if (row->over || row->state == api::name_of(api::JobState::kStopping)) {
    return reply(lease(caller, id));
  }
  const bool first = ending_.insert(id).second;  // from now on it is nobody's
  engine_.post(
      Input{.event = core::JobCancelled{core::JobId(id)},
            .note =
                [id](Records& records) {
                  store::JobRow* mine = records.edit_job(id);
                  if (mine != nullptr && !mine->over) mine->reason = "released";
                },
            .done =
                [this, alive = alive_, caller, id, reply, first](const Result<void>& result) {
                  if (!*alive) return;
                  if (result) {
                    reply(lease(caller, id));
                  } else {
                    if (first) ending_.erase(id);
                    reply(std::unexpected(unavailable(result.error().message)));
                  }
                },
            .wish = true});
}

void Leases::release_by_key(const Caller& caller, const Name& name,
                            const http::Reply<std::optional<api::LeaseView>>& reply) {
  if (auto may = access_.admit_change(caller); !may) return reply(std::unexpected(may.error()));
  if (name.uid != caller.uid) {
    const auto may = access_.require_admin(caller, "release leases of others");
    if (!may) return reply(std::unexpected(may.error()));
  }
  const auto id = find_name(name);
  if (!id) return reply(std::nullopt);
  if (engine_.records().job(*id) == nullptr) {  // asked for and not committed: once that is clear
    engine_.post(Input{.event = core::WakeUp{},
                       .done = [this, alive = alive_, caller, name, reply](const Result<void>&) {
                         if (*alive) release_by_key(caller, name, reply);
                       }});
    return;
  }
  release(caller, *id, [reply](Answer<api::LeaseView> answer) {
    if (answer) return reply(*std::move(answer));
    reply(std::unexpected(std::move(answer.error())));
  });
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
  const Micros now = Clock::since_boot();
  std::optional<Micros> next;
  tell_impatient(now, next);
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
  timing_->next.cancel();
  if (!next) return;
  timing_->next.expires_after(*next - now);
  timing_->next.async_wait([this, alive = alive_](const boost::system::error_code& stopped) {
    if (!stopped && *alive) sweep();
  });
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
