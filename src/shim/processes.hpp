// The processes of a run: found, stopped, killed, all of them. The shim uses it at the end of every
// run, the daemon when a shim was killed. One rule: no signal goes to a process that was not
// verified as the run's, through a handle (pidfd) that cannot become another process.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"
#include "shim/process_table.hpp"

namespace tangram::shim {

// By what the processes of a run are known. Any one is enough; what is empty is not looked for.
struct RunMark {
  std::string tag{};     // the value of TANGRAM_RUN
  std::string cgroup{};  // its folder and those below
  pid_t shim = 0;        // a living subreaper: all of its descendants are the run's; 0: none
};

// Every living process of the run, with all descendants; never the caller itself nor mark.shim.
// Without a living shim and without a cgroup, one that both left its family and scrubbed its
// environment cannot be found.
[[nodiscard]] std::vector<Process> processes_of(const RunMark& mark);

struct Unreachable {
  pid_t pid = 0;
  std::string reason;
};
struct Signalled {
  std::size_t found = 0;                 // processes of the run that lived
  std::vector<Unreachable> unreachable;  // those of them that may not be signalled
};

// One signal to each process of the run, in one pass.
Signalled signal_all(const RunMark& mark, int signal);

// One round: SIGSTOP until no new process shows up, so that none can fork away, then SIGKILL. It
// does not wait. The run is gone when a round finds nothing.
Signalled kill_round(const RunMark& mark);

struct Killed {
  bool all_gone = false;
  std::vector<Unreachable> left;  // those that live, and why
};
// Rounds until none is left or `patience` is over; blocks the caller.
[[nodiscard]] Killed kill_all(const RunMark& mark, std::chrono::milliseconds patience);

}  // namespace tangram::shim
