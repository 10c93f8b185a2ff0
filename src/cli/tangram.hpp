// The program `tangram`: builds the command line, runs the verb it names and turns the result into
// an exit code. One rule: an error is one line on standard error that begins with "tangram: ", and
// then nothing is on standard output.
#pragma once

namespace tangram::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;   // the outside world said no
inline constexpr int kExitBadInput = 2;  // the user must change something

int run_tangram(int argc, const char* const* argv);

}  // namespace tangram::cli
