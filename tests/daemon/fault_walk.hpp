// Fault walk: a short scenario on a real node (a job that exits, one that is cancelled, a lease;
// for the endpoint, a service with clients) in which one system call of the daemon, of the shims or
// of the endpoint fails: the first, the second, and so on. The daemon may end, or refuse what it
// cannot do, but nothing may be lost, done twice or left behind, and the next start, without
// faults, must be good.
#pragma once

#include <string>
#include <vector>

namespace tangram::tests {

struct FaultWalkOptions {
  std::string program = "daemon";    // or "shim" or "endpoint"
  std::string kind = "descriptors";  // see failing_calls.cpp
  int from = 1;                      // the first call that fails
  int to = 1'000'000;  // the last one; the walk ends sooner where there is no such call
  int step = 1;
  int count = 1;  // calls that fail, one after another
  bool verbose = false;
};

struct FaultWalkResult {
  int scenarios = 0;
  std::vector<std::string> failed_calls;  // the calls that failed, by name, one per scenario
  std::vector<std::string> violations;    // empty: the walk passed
};

[[nodiscard]] FaultWalkResult run_fault_walk(const FaultWalkOptions& options);

}  // namespace tangram::tests
