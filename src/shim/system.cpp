// See system.hpp.
#include "shim/system.hpp"

#include <array>
#include <unistd.h>

namespace tangram::shim {

void note(std::string_view text) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 32> stamp{};
  ::gmtime_r(&now, &parts);
  const std::size_t size = std::strftime(stamp.data(), stamp.size(), "%FT%TZ", &parts);
  const std::string line = cat(std::string_view(stamp.data(), size), " ", text, "\n");
  // Nothing can be done about a line that cannot be written.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace tangram::shim
