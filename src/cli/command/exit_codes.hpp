// The exit codes of `tangram`, documented in docs/cli.md.
#pragma once

namespace tangram::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;   // the request was valid but could not be carried out
inline constexpr int kExitBadInput = 2;  // the command line or an input file must be changed

}  // namespace tangram::cli
