// A variable of the environment, for the verbs and what they print. One rule: nothing here starts a
// thread before the command line is read, so that reading and setting variables is safe.
#pragma once

#include <cstdlib>
#include <string>

namespace tangram::cli {

// Empty if it is not set.
[[nodiscard]] inline std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace tangram::cli
