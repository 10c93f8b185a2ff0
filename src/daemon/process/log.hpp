// The daemon's own log on standard error: text, or one JSON object per line. Environments, commands
// and tokens of users are never logged.
#pragma once

#include <string>

namespace tangram::daemon {

void configure_log(const std::string& level, bool json);
void set_log_level(const std::string& level);

}  // namespace tangram::daemon
