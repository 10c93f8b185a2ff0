// Failures of single objects, for verbs that act on several ("cancel 1 2 3").
#pragma once

#include "base/error.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {

// Prints the failure of one object as a line on standard error. The verb continues with the others;
// its exit code becomes that of the first failure.
void report_failure(Command& command, const Error& error);

}  // namespace tangram::cli
