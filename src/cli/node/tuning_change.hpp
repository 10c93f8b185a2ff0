// Parses changes of the tuning given as KEY=VALUE words. Errors suggest the nearest key. Only the
// form of a value is checked here; the daemon checks its meaning.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/tuning.hpp"
#include "base/error.hpp"

namespace tangram::cli {

[[nodiscard]] std::span<const std::string> tuning_keys();
[[nodiscard]] Result<api::TuningChange> tuning_change(const std::vector<std::string>& typed);

}  // namespace tangram::cli
