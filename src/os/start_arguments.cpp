// See start_arguments.hpp.
#include "os/start_arguments.hpp"

#include <limits>
#include <string_view>

#include "base/text.hpp"

namespace tangram::os {

std::optional<StartArguments> parse_start_arguments(int argc, const char* const* argv) {
  StartArguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--ready-fd" && i + 1 < argc) {
      const auto fd = parse_int(argv[++i], 3, std::numeric_limits<int>::max());
      if (!fd) return std::nullopt;
      arguments.ready_fd = *fd;
    } else if (arguments.folder.empty() && !word.empty() && !word.starts_with('-')) {
      arguments.folder = word;
    } else {
      return std::nullopt;
    }
  }
  if (arguments.folder.empty()) return std::nullopt;
  return arguments;
}

}  // namespace tangram::os
