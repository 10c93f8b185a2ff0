// Why a job is where it is: the decision that placed it, as it was made, from the scheduler as it
// stood before the step in which that happened. One rule: the state of the decision is reached by
// stepping a copy, with the job and all that came after it kept out of the way; nothing about the
// decision is remembered or guessed.
#pragma once

#include "base/error.hpp"
#include "base/instant.hpp"
#include "core/event.hpp"
#include "core/explain.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

// `before` is the scheduler before the step (at, event). The winner of the explanation is the slot
// that the job got. An error if that step placed no such job, or did so much else (the job was in
// the middle of a move when its process died) that the decision cannot be rebuilt; never a wrong
// answer.
[[nodiscard]] Result<ArrivalExplanation> explain_placement(const Scheduler& before, Instant at,
                                                           const Event& event, JobId job);

}  // namespace tangram::core
