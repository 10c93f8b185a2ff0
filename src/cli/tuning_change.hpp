// A change of the tuning as it is typed: KEY=VALUE words. One rule: an unknown key is answered with
// the nearest one; what a value may be is the daemon's to say, but its form is checked here.
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
