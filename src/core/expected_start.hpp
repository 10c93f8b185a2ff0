// When a waiting job starts if every running job runs to its time limit, nothing fails and no job
// is submitted: found by letting a copy of the scheduler go on, so it agrees with the decisions.
// Only of queues with backfill, whose jobs know by when they end.
#pragma once

#include <optional>

#include "core/scheduler.hpp"

namespace tangram::core {

struct ExpectedStart {
  Instant time{};
  std::optional<JobId> after;  // the job whose end lets it start
  GpuId gpu;
  std::uint8_t start = 0;
};

inline constexpr int kMaxStepsAhead = 2000;

// nullopt: the job does not wait in such a queue; something without a time limit is in its way; or
// more than `most_steps` would have to be made to know.
[[nodiscard]] std::optional<ExpectedStart> expected_start(const Scheduler& scheduler, JobId job,
                                                          int most_steps = kMaxStepsAhead);

}  // namespace tangram::core
