// How jobs look to people: their state in colour, how long ago, what was typed. One rule: whatever
// comes from other people is made harmless for a terminal here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/job.hpp"
#include "cli/output.hpp"

namespace tangram::cli {

// Control characters as \xNN; letters of all languages stay.
[[nodiscard]] std::string harmless(std::string_view text);
// As it could be typed into a shell.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& command);
[[nodiscard]] Cell state_cell(const api::JobView& job);
// "0:1" style place: "GPU 2 @4"; "-" if it has none.
[[nodiscard]] std::string place_text(const api::JobView& job);
// "45s", "3m10s", "5h12m", "3d4h".
[[nodiscard]] std::string age_text(std::chrono::microseconds age);
// "2026-11-16 11:42:03", of this place.
[[nodiscard]] std::string local_text(api::WallTime when);
// "exit code 3", "SIGKILL"; empty while it runs.
[[nodiscard]] std::string end_text(const api::JobView& job);
[[nodiscard]] api::WallTime now();

}  // namespace tangram::cli
