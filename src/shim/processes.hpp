// Finds, stops and kills all processes of a run. Used by the shim at the end of every run, and by
// the daemon when a shim was killed. Signals are sent through a pidfd to a process that was
// verified to be the run's, so a reused pid is never signalled.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"
#include "shim/process_table.hpp"

namespace tangram::shim {

// The marks of a run's processes. Any one is sufficient; empty marks are not used.
struct RunMark {
  std::string tag{};     // the value of TANGRAM_RUN
  std::string cgroup{};  // its cgroup, including those below
  pid_t shim = 0;        // its live subreaper, whose descendants are all the run's; 0: none
};

// Every live process of the run with all its descendants, except the caller and mark.shim. Without
// a live shim and a cgroup, a process that was reparented and has cleared its environment is not
// found.
[[nodiscard]] std::vector<Process> processes_of(const RunMark& mark);

struct Unreachable {
  pid_t pid = 0;
  std::string reason;
};
struct SignalResult {
  std::size_t found = 0;                 // live processes of the run
  std::vector<Unreachable> unreachable;  // those that could not be signalled
};

// One signal to each process of the run, in one pass.
SignalResult signal_all(const RunMark& mark, int signal);

// One round: SIGSTOP until no new process appears, so that none escapes by forking, then SIGKILL.
// Does not wait. The run is gone when a round finds no process.
SignalResult kill_round(const RunMark& mark);

struct KillResult {
  bool all_gone = false;
  std::vector<Unreachable> remaining;  // live ones, and why
};
// Kills in rounds until no process is left or `timeout` has passed. Blocks.
[[nodiscard]] KillResult kill_all(const RunMark& mark, std::chrono::milliseconds timeout);

}  // namespace tangram::shim
