// What /proc says of the processes of this machine at one moment. One rule: a process is known by
// its pid and the tick it started in; a pid alone may be another process by now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace tangram::shim {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;
  bool lives = false;    // not a zombie; a zombie whose threads still run does live
  bool stopped = false;  // by SIGSTOP and its like
  bool held = false;     // by the kernel: no signal reaches it now

  friend bool operator==(const Process&, const Process&) = default;
};

// Every process, by pid; kernel threads left out. Zombies are in it: they are links of families.
[[nodiscard]] std::vector<Process> all_processes();

// none: there is no such process now.
[[nodiscard]] std::optional<Process> find_process(pid_t pid);

// Whether the process was started with NAME=VALUE in its environment. No if we may not look.
[[nodiscard]] bool has_variable(pid_t pid, std::string_view assignment);

// Whether a signal was sent to the process that it has not got yet.
[[nodiscard]] bool has_pending(pid_t pid, int signal);

// The text of a line of /proc/PID/stat; none if it is not one.
[[nodiscard]] std::optional<Process> parse_stat(std::string_view line);

}  // namespace tangram::shim
