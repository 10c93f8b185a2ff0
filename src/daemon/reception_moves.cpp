// See reception.hpp: jobs moved by hand. Whether a move can be made is the core's to say; it is
// asked before, so that a refusal costs nothing, and again if nothing came of it.
#include "base/text.hpp"
#include "core/asked_move.hpp"
#include "daemon/problems.hpp"
#include "daemon/reception.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {
namespace {

core::MoveAsked asked_of(std::uint64_t id, const api::MoveRequest& wish, bool is_admin) {
  core::MoveAsked asked{.job = core::JobId(id)};
  asked.restrained = !is_admin;
  if (!wish.to) return asked;
  asked.anywhere = false;
  asked.gpu = core::GpuId(wish.to->gpu);
  asked.start = static_cast<std::uint8_t>(wish.to->start);
  return asked;
}

api::Problem problem_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return missing(error.message);
    case ErrorCode::kInvalid:
      return unserved(error.message);
    default:
      return conflict(error.message);
  }
}

// This very move: the scheduler may have begun one of its own meanwhile.
bool is_begun(const core::Node& node, const core::MoveAsked& asked) {
  const core::JobSlot slot = node.find_job(asked.job);
  if (slot == core::kNoJob) return false;
  const core::Job& job = node.job(slot);
  if (!job.moving() || job.move_kind != core::MoveKind::kAsked) return false;
  return asked.anywhere || (job.replica.gpu == asked.gpu && job.replica_start == asked.start);
}

api::Problem why_not_begun(const core::Scheduler& scheduler, const core::MoveAsked& asked) {
  const auto possible = core::asked_move(scheduler.node(), scheduler.policies(), asked);
  return conflict(cat("it could not be begun: ", possible ? "things changed meanwhile; ask again."
                                                          : possible.error().message));
}

}  // namespace

void Reception::move(const Caller& caller, std::uint64_t id, const api::MoveRequest& wish,
                     const Reply<api::JobView>& reply) {
  const auto row = find_living(caller, id, "move");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const core::MoveAsked asked = asked_of(id, wish, access_.is_admin(caller));
  const core::Scheduler& scheduler = engine_.scheduler();
  if (const auto can = core::asked_move(scheduler.node(), scheduler.policies(), asked); !can) {
    reply(std::unexpected(problem_of(can.error())));
    return;
  }
  engine_.post(Input{.event = asked,
                     .done =
                         [this, caller, asked, reply](const Result<void>& result) {
                           if (!result) {
                             reply(std::unexpected(unavailable(result.error().message)));
                           } else if (is_begun(engine_.scheduler().node(), asked)) {
                             reply(job(caller, asked.job.value()));
                           } else {
                             reply(std::unexpected(why_not_begun(engine_.scheduler(), asked)));
                           }
                         },
                     .wish = true,
                     .by = user_name(caller.uid)});
}

}  // namespace tangram::daemon
