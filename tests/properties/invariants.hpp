// The invariants of the scheduler's state after every step. Each check throws Broken with the
// sentence that does not hold. Everything is recomputed from the entries and the job records by the
// plain definitions, never by the code under test.
#pragma once

#include "core/scheduler.hpp"
#include "truth.hpp"

namespace tangram::properties {

void check_gpus(const core::Node& node);             // overlap, placements, limits, summaries
void check_jobs(const core::Node& node);             // each job in one slot or one move; flags
void check_queue(const core::Scheduler& scheduler);  // its order, and that its head was tried
// Jobs placed in this step: first come, first served.
void check_fcfs(const core::Scheduler& scheduler, const core::Actions& actions);
// An idle instance is destroyed only for one that needs its slices, or that it alone keeps out.
void check_destroyed(const core::Node& node, const core::Actions& actions);
// The hardware has exactly the instances and runs that the scheduler knows.
void check_truth(const core::Node& node, const Truth& truth);
// The indexed policies answer as the plain ones.
void check_index(const core::Node& node, core::GpuId gpu);

}  // namespace tangram::properties
