// Environment variables. Not thread-safe: call before the verb starts threads.
#pragma once

#include <cstdlib>
#include <string>

namespace tangram::cli {

// Returns "" if the variable is not set.
[[nodiscard]] inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace tangram::cli
