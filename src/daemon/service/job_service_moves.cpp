// See job_service.hpp: moves requested by callers. core::requested_move() decides whether a move is
// possible: before the event is posted, so that a refusal costs no commit, and to explain why a
// move has not started after all.
#include "base/text.hpp"
#include "core/requested_move.hpp"
#include "daemon/access/problems.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/service/job_service.hpp"

namespace tangram::daemon {
namespace {

core::MoveRequested event_of(std::uint64_t id, const api::MoveRequest& request, bool is_admin) {
  core::MoveRequested move_event{.job = core::JobId(id)};
  move_event.restrained = !is_admin;
  if (!request.to) return move_event;
  move_event.anywhere = false;
  move_event.gpu = core::GpuId(request.to->gpu);
  move_event.start = static_cast<std::uint8_t>(request.to->start);
  return move_event;
}

api::Problem problem_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return missing(error.message);
    case ErrorCode::kInvalid:
      return unservable(error.message);
    default:
      return conflict(error.message);
  }
}

// True if this move has started, not one that the scheduler decided meanwhile.
bool has_started(const core::Node& node, const core::MoveRequested& move_event) {
  const core::JobSlot slot = node.find_job(move_event.job);
  if (slot == core::kNoJob) return false;
  const core::Job& job = node.job(slot);
  if (!job.moving() || job.move_kind != core::MoveKind::kRequested) return false;
  return move_event.anywhere ||
         (job.replica.gpu == move_event.gpu && job.replica_start == move_event.start);
}

api::Problem not_started(const core::Scheduler& scheduler, const core::MoveRequested& move_event) {
  const auto possible = core::requested_move(scheduler.node(), scheduler.policies(), move_event);
  return conflict(cat("the move was not started: ",
                      possible ? "the node has changed; retry." : possible.error().message));
}

}  // namespace

void JobService::move(const Caller& caller, std::uint64_t id, const api::MoveRequest& request,
                      const Reply<api::JobView>& reply) {
  const auto row = find_active(caller, id, "move");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const core::MoveRequested move_event = event_of(id, request, access_.is_admin(caller));
  const core::Scheduler& scheduler = engine_.scheduler();
  if (const auto can = core::requested_move(scheduler.node(), scheduler.policies(), move_event);
      !can) {
    reply(std::unexpected(problem_of(can.error())));
    return;
  }
  engine_.post(Input{.event = move_event,
                     .done =
                         [this, caller, move_event, reply](const Result<void>& result) {
                           if (!result) {
                             reply(std::unexpected(unavailable(result.error().message)));
                           } else if (has_started(engine_.scheduler().node(), move_event)) {
                             reply(job(caller, move_event.job.value()));
                           } else {
                             reply(std::unexpected(not_started(engine_.scheduler(), move_event)));
                           }
                         },
                     .may_be_refused = true,
                     .requested_by = user_name(caller.uid)});
}

}  // namespace tangram::daemon
