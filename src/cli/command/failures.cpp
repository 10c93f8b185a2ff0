// See failures.hpp.
#include "cli/command/failures.hpp"

#include <cstdio>

#include <fmt/core.h>

#include "cli/command/exit_codes.hpp"

namespace tangram::cli {

void report_failure(Command& command, const Error& error) {
  fmt::print(stderr, "tangram: {}\n", error.message);
  if (command.exit_code == kExitOk) {
    command.exit_code = command.failure_code.value_or(exit_code_of(error));
  }
}

}  // namespace tangram::cli
