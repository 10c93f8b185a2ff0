// See leases.hpp: releases leases. A release that the store cannot take now is acknowledged at once
// and written as soon as the store recovers.
#include <algorithm>

#include "base/text.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/leases/lease_timers.hpp"
#include "daemon/leases/leases.hpp"

namespace tangram::daemon {

struct Leases::PendingRelease {
  Caller caller;
  std::uint64_t id = 0;
  ReleaseReply reply;
};

void Leases::release(const Caller& caller, std::uint64_t id, const ReleaseReply& reply) {
  const auto row = find_owned(caller, id, "release");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const auto pending = std::make_shared<PendingRelease>(PendingRelease{caller, id, reply});
  if (row->over || row->state == api::name_of(api::JobState::kStopping)) {
    reply_released(*pending, false);
    return;
  }
  Input input{.event = core::WakeUp{}};
  if (ending_.insert(id).second) {  // its holder has lost it from now on
    input.event = core::JobCancelled{core::JobId(id)};
    input.edit_rows = [id](JobTable& records) {
      store::JobRow* job = records.edit_job(id);
      if (job != nullptr && !job->over) job->reason = "released";
    };
  }
  input.done = [this, alive = alive_, pending](const Result<void>& /*never refused*/) {
    if (!*alive) return;
    // on_jobs_changed() is not called for a lease that was never committed.
    if (engine_.records().job(pending->id) == nullptr) ending_.erase(pending->id);
    if (std::erase(pending_releases_, pending) > 0) reply_released(*pending, false);
  };
  pending_releases_.push_back(pending);
  engine_.post(std::move(input));
  if (!engine_.store_error().empty()) acknowledge_releases();
}

void Leases::reply_released(const PendingRelease& pending, bool is_deferred) {
  auto view = get_lease(pending.caller, pending.id);
  if (!view) {
    pending.reply(std::unexpected(std::move(view.error())));
    return;
  }
  pending.reply(Released{.lease = *std::move(view), .deferred = is_deferred});
}

// Replies to all pending releases: the store may fail for a long time.
void Leases::acknowledge_releases() {
  for (const auto& each : std::exchange(pending_releases_, {})) reply_released(*each, true);
}

void Leases::release_by_key(const Caller& caller, const ScopedKey& name,
                            const http::Reply<std::optional<Released>>& reply) {
  if (auto may = access_.admit_change(caller); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  if (name.uid != caller.uid) {
    const auto may = access_.require_admin(caller, "release leases of others");
    if (!may) {
      reply(std::unexpected(may.error()));
      return;
    }
  }
  const auto id = find_by_key(name);
  if (!id) {
    reply(std::nullopt);
    return;
  }
  if (engine_.records().job(*id) == nullptr) {  // not committed yet: retries then
    engine_.post(Input{.event = core::WakeUp{},
                       .done =
                           [this, alive = alive_, caller, name, reply](const Result<void>&) {
                             if (*alive) release_by_key(caller, name, reply);
                           },
                       .may_be_refused = true});
    return;
  }
  release(caller, *id, [reply](Answer<Released> answer) {
    if (answer) {
      reply(*std::move(answer));
      return;
    }
    reply(std::unexpected(std::move(answer.error())));
  });
}

}  // namespace tangram::daemon
