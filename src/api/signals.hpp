// Signals as text: "TERM", "SIGTERM" or "15". The names are those of kill(1) on this system.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::api {

[[nodiscard]] Result<int> parse_signal(std::string_view text);
[[nodiscard]] std::string signal_name(int signal);  // "SIGTERM"; "signal 70" if it has no name

}  // namespace tangram::api
