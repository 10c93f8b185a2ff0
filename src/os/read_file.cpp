// See read_file.hpp.
#include "os/read_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"

namespace tangram::os {
namespace {

Error from_errno(int code, std::string_view what, const std::string& path) {
  const bool missing = code == ENOENT || code == ENOTDIR;
  return {missing ? ErrorCode::kNotFound : ErrorCode::kFailed,
          cat("cannot read the ", what, " ", quoted(path), ": ",
              std::generic_category().message(code), ".")};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::string_view what,
                              std::size_t largest_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return std::unexpected(from_errno(errno, what, path));
  }
  if (!S_ISREG(status.st_mode)) {
    return invalid(cat("the ", what, " ", quoted(path), " is not a regular file."));
  }
  std::string text;
  std::array<char, 65'536> chunk{};
  while (text.size() <= largest_bytes) {
    const ssize_t count = ::read(file.get(), chunk.data(), chunk.size());
    if (count == 0) return text;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) return std::unexpected(from_errno(errno, what, path));
  }
  return invalid(cat("the ", what, " ", quoted(path), " is larger than the allowed ", largest_bytes,
                     " bytes."));
}

}  // namespace tangram::os
