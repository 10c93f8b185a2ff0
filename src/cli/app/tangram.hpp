// The program `tangram`: declares the command line, runs the chosen verb and returns the exit code.
// An error is one line on standard error that begins with "tangram: "; standard output is then
// empty, except for verbs that act on several objects, which report the outcome of each.
#pragma once

namespace tangram::cli {

int run_tangram(int argc, const char* const* argv);

}  // namespace tangram::cli
