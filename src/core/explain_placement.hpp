// Why a job is where it is: the decision that placed it, from the scheduler's state before the step
// that made it. The state of the decision is reached by stepping a copy, without the job and all
// that came after it; nothing about the decision is recorded or guessed.
#pragma once

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/event.hpp"
#include "core/explain.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

// `before`: the scheduler before the step (at, event). The winner of the explanation is the slot
// that the job got. Fails if that step placed no such job, or did so much else (the job was in a
// move when its process died) that the decision cannot be rebuilt; never returns a wrong answer.
[[nodiscard]] Result<ArrivalExplanation> explain_placement(const Scheduler& before, Instant at,
                                                           const Event& event, JobId job);

}  // namespace tangram::core
