// The arguments of programs that the daemon starts in a folder (shim, endpoint):
// FOLDER [--ready-fd N].
#pragma once

#include <optional>
#include <string>

namespace tangram::os {

struct StartArguments {
  std::string folder;
  int ready_fd = -1;  // gets one line once the program is ready or has failed; -1: none
};

// Parses the arguments of main(); nullopt if they have any other form.
[[nodiscard]] std::optional<StartArguments> parse_start_arguments(int argc,
                                                                  const char* const* argv);

}  // namespace tangram::os
