// A snapshot of the machine's processes from /proc. A process is identified by its pid and start
// time; a pid alone may have been reused.
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
  bool is_alive = false;         // not a zombie; a zombie with running threads is alive
  bool stopped = false;          // by SIGSTOP and its like
  bool uninterruptible = false;  // in uninterruptible sleep (state D)

  friend bool operator==(const Process&, const Process&) = default;
};

// All processes except kernel threads. Includes zombies, which link children to ancestors.
[[nodiscard]] std::vector<Process> all_processes();

// nullopt: no such process.
[[nodiscard]] std::optional<Process> find_process(pid_t pid);

// Whether the process was started with NAME=VALUE in its environment; false if that cannot be read.
[[nodiscard]] bool has_variable(pid_t pid, std::string_view assignment);

// Whether the signal is pending for the process.
[[nodiscard]] bool has_pending(pid_t pid, int signal);

// Whether the process has installed a handler for the signal. False if it ignores the signal, or if
// that cannot be read.
[[nodiscard]] bool has_handler(pid_t pid, int signal);

// Parses a line of /proc/PID/stat; nullopt: malformed.
[[nodiscard]] std::optional<Process> parse_stat(std::string_view line);

}  // namespace tangram::shim
