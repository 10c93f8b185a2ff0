// A storm of leases: many processes that take, hold and give back, some of which are killed on the
// way, while they hold one or while they wait for one. One rule: whoever holds an instance locks
// its memory slices in a file, so that two holders of the same slice are noticed by themselves.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tangram::tests {

struct StormOptions {
  int holders = 20;
  int each = 10;         // leases per process
  int kill_one_in = 10;  // a process, after a lease of it was granted
  int doom_one_in = 50;  // a process, while it waits for what cannot come
  bool tell = false;
};

struct Storm {
  std::size_t granted = 0;
  std::size_t killed = 0;    // while holding
  std::size_t doomed = 0;    // while waiting
  std::size_t given_up = 0;  // leases that were never granted
  std::vector<std::string> complaints;
};

Storm run_storm(const StormOptions& options);

}  // namespace tangram::tests
