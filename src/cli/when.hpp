// Moments as people type them: how long ago ("2d", "90m"), a day ("2026-11-16") or a minute of it,
// here; or UTC as Tangram itself writes it. One rule: what has no zone is local time.
#pragma once

#include <string>
#include <string_view>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::cli {

// `option` begins the message: "--since: …".
[[nodiscard]] Result<api::WallTime> parse_when(std::string_view option, const std::string& typed,
                                               api::WallTime now);
// For a query: wall_text of it, empty if nothing was typed.
[[nodiscard]] Result<std::string> when_parameter(std::string_view option, const std::string& typed);

}  // namespace tangram::cli
