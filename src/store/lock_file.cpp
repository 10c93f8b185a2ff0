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

constexpr std::chrono::milliseconds kTimeout{5'000};
constexpr std::chrono::milliseconds kRetryInterval{10};

// The PID that the owner wrote into the file; may briefly be that of a previous owner.
std::optional<int> owner(int fd) {
  std::array<char, 16> text{};
  const ssize_t count = ::pread(fd, text.data(), text.size() - 1, 0);
  return parse_int(std::string_view(text.data(), count > 0 ? std::size_t(count) : 0), 1, 1 << 30);
}

// A daemon that is killed while it forks leaves its lock to the child until that calls exec, so it
// is worth waiting if the owner is dead.
bool lock(int fd) {
  const auto until = std::chrono::steady_clock::now() + kTimeout;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return false;
    const auto pid = owner(fd);
    const bool is_running = !pid || ::kill(*pid, 0) == 0 || errno != ESRCH;
    if (is_running || std::chrono::steady_clock::now() > until) {
      errno = EWOULDBLOCK;
      return false;
    }
    std::this_thread::sleep_for(kRetryInterval);  // polls: flock() has no timeout
  }
  return true;
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& store_path) {
  const std::string path = store_path + ".lock";
  os::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.ok()) {
    return failed(cat("cannot open the lock ", path, ": ", std::strerror(errno),
                      "; check that its folder can be written"));
  }
  if (!lock(file.get())) {
    if (errno != EWOULDBLOCK) return failed(cat("cannot lock ", path, ": ", std::strerror(errno)));
    const auto pid = owner(file.get());
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              cat("the store ", store_path, " is in use by another daemon",
                  pid ? cat(" (process ", *pid, ")") : std::string(), "; stop it first")});
  }
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(file.get(), 0) == 0) {
    static_cast<void>(::pwrite(file.get(), pid.data(), pid.size(), 0) > 0);  // for error messages
  }
  return LockFile(std::move(file));
}

}  // namespace tangram::store
