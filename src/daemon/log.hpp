// The daemon's own log, on standard error: lines for people, or one JSON object per line. One rule:
// no environment, no command and no token of a user is ever logged.
#pragma once

#include <string>

namespace tangram::daemon {

void begin_log(const std::string& level, bool json);
void set_log_level(const std::string& level);

}  // namespace tangram::daemon
