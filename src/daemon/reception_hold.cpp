// See reception.hpp: jobs held back and let go again.
#include <utility>

#include "base/text.hpp"
#include "daemon/limits.hpp"
#include "daemon/problems.hpp"
#include "daemon/reception.hpp"
#include "daemon/users.hpp"

namespace tangram::daemon {

// An event about a job that its caller may change, answered with the job as it is then.
void Reception::change(const Caller& caller, std::uint64_t id, core::Event event,
                       const Reply<api::JobView>& reply) {
  engine_.post(Input{.event = std::move(event),
                     .done =
                         [this, caller, id, reply](const Result<void>& result) {
                           if (result) {
                             reply(job(caller, id));
                           } else {
                             limits_.changed({id});
                             reply(std::unexpected(unavailable(result.error().message)));
                           }
                         },
                     .wish = true,
                     .by = user_name(caller.uid)});
}

void Reception::hold(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_living(caller, id, "hold");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const auto state = api::find_state(row->state);
  if (state != api::JobState::kQueued && state != api::JobState::kHeld) {
    reply(
        std::unexpected(conflict(cat("job ", id, " is ", row->state,
                                     ": only a job that waits can be held. Cancel it instead."))));
    return;
  }
  change(caller, id, core::JobHeld{core::JobId(id)}, reply);
}

void Reception::release(const Caller& caller, std::uint64_t id, const Reply<api::JobView>& reply) {
  const auto row = find_own(caller, id, "release");
  if (!row) {
    reply(std::unexpected(row.error()));
    return;
  }
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(core::JobId(id));
  if (slot == core::kNoJob || (node.job(slot).holds & core::kHoldUser) == 0) {
    reply(std::unexpected(conflict(cat("job ", id, " is ", row->state,
                                       row->reason.empty() ? "" : cat(" (", row->reason, ")"),
                                       ": there is no hold of its user's to end."))));
    return;
  }
  // Out of the one hold into the other, if need be; the limit ends that itself.
  if (!limits_.let_in(id)) engine_.post(core::JobHeld{core::JobId(id), true});
  change(caller, id, core::JobReleased{core::JobId(id)}, reply);
}

}  // namespace tangram::daemon
