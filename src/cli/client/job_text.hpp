// Text forms of jobs: state, slot, age, times. Text that comes from users or the driver must pass
// terminal_safe() before it is printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/job.hpp"
#include "cli/command/output.hpp"

namespace tangram::cli {

// Replaces control characters by \xNN; other UTF-8 text is unchanged.
[[nodiscard]] std::string terminal_safe(std::string_view text);
// The command quoted for a shell.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& command);
[[nodiscard]] Cell state_cell(const api::JobView& job);
// GPU@START, e.g. "2@4"; "-" if the job has no slot.
[[nodiscard]] std::string place_text(const api::JobView& job);
// "45s", "3m10s", "5h12m", "3d4h".
[[nodiscard]] std::string age_text(std::chrono::microseconds age);
// Local time, e.g. "2026-11-16 11:42:03".
[[nodiscard]] std::string local_text(api::WallTime when);
// "exit code 3" or "SIGKILL"; empty while the job runs.
[[nodiscard]] std::string end_text(const api::JobView& job);
[[nodiscard]] api::WallTime now();

}  // namespace tangram::cli
