// See lock_file.hpp.
#include "store/lock_file.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::store {
namespace {

constexpr std::chrono::milliseconds kPatience{5'000};
constexpr std::chrono::milliseconds kLook{10};

// The owner as it wrote itself down; may be of an older one for a moment.
std::optional<int> owner(int fd) {
  std::array<char, 16> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
  return parse_int(std::string_view(text.data(), count > 0 ? std::size_t(count) : 0), 1, 1 << 30);
}

// A daemon that was killed while it started a process leaves its lock to that one, until it has
// become its own program: that is worth waiting for.
bool lock(int fd) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return false;
    const auto pid = owner(fd);
    const bool lives = !pid || ::kill(*pid, 0) == 0 || errno != ESRCH;
    if (lives || std::chrono::steady_clock::now() > until) {
      errno = EWOULDBLOCK;
      return false;
    }
    std::this_thread::sleep_for(kLook);  // between looks: flock() has no wait with a limit
  }
  return true;
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& store_path) {
  const std::string path = store_path + ".lock";
  files::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.ok()) {
    return failed(cat("cannot open the lock ", path, ": ", std::strerror(errno),
                      ". Check that its folder can be written."));
  }
  if (!lock(file.get())) {
    if (errno != EWOULDBLOCK) return failed(cat("cannot lock ", path, ": ", std::strerror(errno)));
    const auto pid = owner(file.get());
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              cat("the store ", store_path, " is in use by another daemon",
                  pid ? cat(" (process ", *pid, ")") : std::string(), "; stop that one first.")});
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) == 0) {
    static_cast<void>(::pwrite(file.get(), pid.data(), pid.size(), 0) > 0);  // only for messages
  }
  return LockFile(std::move(file));
}

}  // namespace tangram::store
