// A snapshot of the machine's processes from /proc. A process is identified by its pid and start
// time; a pid alone may have been reused.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/error.hpp"

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

// All processes except kernel threads. Includes zombies, which link children to ancestors. An error
// (out of descriptors, I/O error) says that it is unknown which processes there are.
[[nodiscard]] Result<std::vector<Process>> all_processes();

// One process. An errno: ENOENT or ESRCH if there is none; EACCES or EPERM if it is hidden from
// this user (hidepid); others if it could not be read.
[[nodiscard]] std::expected<Process, int> read_process(pid_t pid);
// nullopt: no such process, or it could not be read.
[[nodiscard]] std::optional<Process> find_process(pid_t pid);

// Whether the process belongs to the effective user `uid` and was started with NAME=VALUE in its
// environment. The environment of processes of other users is not opened: reading it blocks while
// they hold its memory map, e.g. on a file system that hangs. False if it is gone, or if this
// process may not read it. An error: that could not be read now.
[[nodiscard]] Result<bool> has_variable(pid_t pid, uid_t uid, std::string_view assignment);

// Whether the signal is pending for the process.
[[nodiscard]] bool has_pending(pid_t pid, int signal);

// Whether the process has installed a handler for the signal. False if it ignores the signal, or if
// that cannot be read.
[[nodiscard]] bool has_handler(pid_t pid, int signal);

// Parses a line of /proc/PID/stat; nullopt: malformed.
[[nodiscard]] std::optional<Process> parse_stat(std::string_view line);

}  // namespace tangram::shim
