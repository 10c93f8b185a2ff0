// See job_service.hpp: hold, release and requeue.
#include <utility>

#include "base/text.hpp"
#include "daemon/access/limits.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/service/job_service.hpp"

namespace tangram::daemon {

// Posts an event about a job that the caller may control; replies with the resulting job.
void JobService::post_event(const Caller& caller, std::uint64_t id, core::Event event,
                            const Reply<api::JobView>& reply,
                            std::function<void(JobTable&)> edit_rows) {
  engine_.post(Input{.event = std::move(event),
                     .edit_rows = std::move(edit_rows),
                     .done =
                         [this, caller, id, reply](const Result<void>& result) {
                           if (result) {
                             reply(job(caller, id));
                           } else {
                             limits_.on_jobs_changed({id});
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .may_be_refused = true,
                     .requested_by = user_name(caller.uid)});
}

void JobService::hold(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_active(caller, id, "hold");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const auto state = api::find_state(row->state);
  if (state != api::JobState::kQueued && state != api::JobState::kHeld) {
    reply(std::unexpected(conflict(cat("job ", id, " is ", row->state,
                                       ": only a queued job can be held; cancel it instead."))));
    return;
  }
  if (const auto may = limits_.admit_hold(caller, {id}); !may) {
    reply(std::unexpected(may.error()));
    return;
  }
  post_event(caller, id, core::JobHeld{core::JobId(id)}, reply);
}

void JobService::release(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_controllable(caller, id, "release");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(id));
  if (slot == core::kNoJob || (node.job(slot).holds & core::kHoldUser) == 0) {
    reply(std::unexpected(
        conflict(cat("job ", id, " is not held by its user: it is ", row->state,
                     row->reason.empty() ? "" : cat(" (", row->reason, ")"), "."))));
    return;
  }
  limits_.prepare_release(id, core::kHoldUser);
  post_event(caller, id, core::JobReleased{core::JobId(id)}, reply);
}

void JobService::requeue(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_active(caller, id, "requeue");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const auto state = api::find_state(row->state);
  const bool runs = state == api::JobState::kStarting || state == api::JobState::kRunning;
  if (!runs || row->kind != api::name_of(api::JobKind::kBatch)) {
    reply(std::unexpected(
        conflict(cat("job ", id, " is a ", row->kind, runs ? "" : cat(" job that is ", row->state),
                     ": only a running batch job can be requeued."))));
    return;
  }
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(id));
  if (slot != core::kNoJob && node.job(slot).moving()) {
    reply(std::unexpected(conflict(cat("job ", id, " is being moved: requeue it afterwards."))));
    return;
  }
  post_event(caller, id, core::JobRequeued{core::JobId(id)}, reply);
}

}  // namespace tangram::daemon
