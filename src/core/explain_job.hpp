// Why a job is not running: what holds it, which jobs are before it in the queue, and what blocks
// and would unblock it. Reads the scheduler, never steps it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "core/expected_start.hpp"
#include "core/explain.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

struct JobExplanation {
  JobPhase phase = JobPhase::kQueued;
  std::uint8_t holds = 0;  // HoldCause bits, if held
  // The jobs that go first, the head of the queue first; empty if it may start when it fits. For a
  // held job: those that would go first if it were released now.
  std::vector<JobId> ahead;
  std::optional<Instant> retry_at;  // when the first of its failed places may be tried again
  std::optional<WaitingExplanation> waiting;  // of a queued or held job
  // Of a queued job, in a queue with backfill.
  std::optional<ExpectedStart> expected = {};
  std::optional<Reservation> reservation = {};
  std::optional<Instant> lost_reservation = {};  // the time of one that a fault has ended
  std::uint32_t passed = 0;                      // jobs that have passed it as a head
};

// What is requested for a waiting job: as the scheduler does, if no job goes first.
[[nodiscard]] Request queue_request(const Scheduler& scheduler, const Job& job);

[[nodiscard]] Result<JobExplanation> explain_job(const Scheduler& scheduler, JobId id);

}  // namespace tangram::core
