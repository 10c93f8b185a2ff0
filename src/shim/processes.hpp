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
#include "shim/run_mark.hpp"

namespace tangram::shim {

// Every live process of the run with all its descendants, except the caller and mark.shim. Without
// a live shim and a cgroup, a process that was reparented and has cleared its environment or
// changed its user is not found. The tag is looked for only in processes of mark.uid that the
// cgroup and the shim do not account for, and not at all if they cannot leave the cgroup: if it
// exists and is not their user's. An error says that it is unknown which processes there are, never
// that there are none: try again.
[[nodiscard]] Result<std::vector<Process>> processes_of(const RunMark& mark);

struct Unreachable {
  pid_t pid = 0;
  std::string reason;
};
struct SignalResult {
  std::size_t found = 0;                 // live processes of the run
  std::vector<Unreachable> unreachable;  // those that could not be signalled
};

// One signal to each process of the run, in one pass. An error as of processes_of().
[[nodiscard]] Result<SignalResult> signal_all(const RunMark& mark, int signal);

// One round: SIGSTOP until no new process appears, so that none escapes by forking, then SIGKILL.
// Does not wait. The run is gone when a round finds no process. An error as of processes_of().
[[nodiscard]] Result<SignalResult> kill_round(const RunMark& mark);

struct KillResult {
  bool all_gone = false;
  std::vector<Unreachable> remaining;  // live ones, and why
  std::string problem;                 // why it is unknown which are left; empty: it is known
};
// Kills in rounds until no process is left or `timeout` has passed. Blocks.
[[nodiscard]] KillResult kill_all(const RunMark& mark, std::chrono::milliseconds timeout);

}  // namespace tangram::shim
