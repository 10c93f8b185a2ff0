// Attributes that every process inherits, and that the daemon's unit sets for the daemon only: the
// OOM score adjustment and the scheduling. The child of the shim resets them to the defaults; the
// shim keeps them. Jobs have no options for them.
#pragma once

#include <string>
#include <vector>

namespace tangram::shim {

// Each sets one attribute of this process and returns 0, or an errno and leaves it as it was.

// oom_score_adj 0. Lowering it may need CAP_SYS_RESOURCE; raising it never fails.
[[nodiscard]] int reset_oom_score();
// SCHED_OTHER. Leaving SCHED_IDLE may need CAP_SYS_NICE.
[[nodiscard]] int reset_scheduling_policy();
// Niceness 0. Lowering it needs CAP_SYS_NICE.
[[nodiscard]] int reset_niceness();
// All CPUs that the process's cpuset allows.
[[nodiscard]] int reset_cpu_affinity();
// No I/O priority of its own: it follows from the niceness.
[[nodiscard]] int reset_io_priority();

// Resets all of them. Call it before dropping privileges. Returns a message for each that could not
// be reset, e.g. "cannot reset the niceness inherited from the daemon: Permission denied".
[[nodiscard]] std::vector<std::string> reset_process_attributes();

}  // namespace tangram::shim
