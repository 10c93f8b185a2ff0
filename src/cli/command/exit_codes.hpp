// The exit codes of `tangram`, documented in docs/cli.md.
#pragma once

#include "base/error.hpp"

namespace tangram::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;   // the request was valid but could not be carried out
inline constexpr int kExitBadInput = 2;  // the command line or an input file must be changed

[[nodiscard]] inline int exit_code_of(const Error& error) {
  const bool bad_input = error.code == ErrorCode::kInvalid || error.code == ErrorCode::kNotFound;
  return bad_input ? kExitBadInput : kExitFailure;
}

}  // namespace tangram::cli
