// Why a job is not running: held and by what, behind whom in the queue, and (for any that waits)
// what blocks it and what would unblock it. One rule: it reads the scheduler; it never steps it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "core/explain.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

struct JobExplanation {
  JobPhase phase = JobPhase::kQueued;
  std::uint8_t holds = 0;  // HoldCause bits, if held
  // In the queue, the head first; the queue is strict: they come first. Of one that is held: those
  // that would if it were let go now.
  std::vector<JobId> ahead;
  std::optional<Instant> retry_at;  // when the first of its failed places may be tried again
  std::optional<WaitingExplanation> waiting;  // of a queued or held job
};

[[nodiscard]] Result<JobExplanation> explain_job(const Scheduler& scheduler, JobId id);

}  // namespace tangram::core
