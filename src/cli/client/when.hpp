// Parses points in time: a duration before now ("2d", "90m"), a date ("2026-11-16") with an
// optional time of day, or UTC in Tangram's own format. Times without a zone are local.
#pragma once

#include <string>
#include <string_view>

#include "api/job.hpp"
#include "base/error.hpp"

namespace tangram::cli {

// `option` begins the error message: "--since: …".
[[nodiscard]] Result<api::WallTime> parse_when(std::string_view option, const std::string& typed,
                                               api::WallTime now);
// Returns the time as wall_text() for a query; "" if `typed` is empty.
[[nodiscard]] Result<std::string> when_parameter(std::string_view option, const std::string& typed);

}  // namespace tangram::cli
