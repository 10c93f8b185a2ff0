// The arguments of a program that the daemon starts in a folder: FOLDER [--ready-fd N]. One rule:
// whatever else stands there is a mistake.
#pragma once

#include <optional>
#include <string>

namespace tangram::files {

struct StartArguments {
  std::string folder;
  int ready_fd = -1;  // gets one line once the program serves or could not; -1: none
};

// As main() gets them; none: they are wrong.
[[nodiscard]] std::optional<StartArguments> parse_start_arguments(int argc,
                                                                  const char* const* argv);

}  // namespace tangram::files
