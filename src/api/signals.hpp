// Signals by name, as people and JSON write them: "TERM", "SIGTERM" or 15. One rule: only the names
// that kill(1) of this system has too.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::api {

[[nodiscard]] Result<int> parse_signal(std::string_view text);
[[nodiscard]] std::string signal_name(int signal);  // "SIGTERM"; "signal 70" for one without a name

}  // namespace tangram::api
