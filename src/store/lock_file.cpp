// See lock_file.hpp.
#include "store/lock_file.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::store {
namespace {

// The owner as it wrote itself down; may be of an older one for a moment.
std::string owner(int fd) {
  std::array<char, 16> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
  const auto pid =
      parse_int(std::string_view(text.data(), count > 0 ? std::size_t(count) : 0), 1, 1 << 30);
  return pid ? cat(" (process ", *pid, ")") : std::string();
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& store_path) {
  const std::string path = store_path + ".lock";
  files::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.ok()) {
    return failed(cat("cannot open the lock ", path, ": ", std::strerror(errno),
                      ". Check that its folder can be written."));
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed(cat("cannot lock ", path, ": ", std::strerror(errno)));
    return std::unexpected(
        Error{ErrorCode::kUnavailable, cat("the store ", store_path, " is in use by another daemon",
                                           owner(file.get()), "; stop that one first.")});
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) == 0) {
    static_cast<void>(::pwrite(file.get(), pid.data(), pid.size(), 0) > 0);  // only for messages
  }
  return LockFile(std::move(file));
}

}  // namespace tangram::store
