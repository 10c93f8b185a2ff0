// See socket_file.hpp.
#include "http/server/socket_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "os/failure.hpp"
#include "os/lock.hpp"

namespace tangram::http {
namespace {

using os::Descriptor;

constexpr std::chrono::milliseconds kLockPollInterval{20};

std::unexpected<Error> cannot_listen(const std::string& path, std::string_view why) {
  return failed(cat("cannot listen on ", path, ": ", why));
}
std::string reason() { return os::errno_text(errno); }

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_to(int fd, const sockaddr_un& address) {
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// Removes a stale socket: one on which no process listens.
Result<void> remove_stale(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return cannot_listen(path, reason());
  }
  if (!S_ISSOCK(status.st_mode)) {
    return cannot_listen(path,
                         "the file exists and is not a socket. Remove it or use another path");
  }
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto cannot_check = [&path] {
    return cannot_listen(path, cat("cannot check whether the socket is in use: ", reason()));
  };
  if (probe.get() < 0) return cannot_check();
  const bool answered = connect_to(probe.get(), address_of(path)) == 0 || errno == EAGAIN;
  if (answered) {
    return failed(cat("another tangramd listens on ", path, ": stop it first or use another path"));
  }
  if (errno == ENOENT) return {};
  if (errno != ECONNREFUSED) return cannot_check();
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return cannot_listen(path, reason());
  return {};
}

// Of "/run/tangram/tangram.sock": "/run/tangram/.tangram.sock.lock".
std::string lock_path(const std::string& path) {
  const std::size_t name = path.rfind('/') + 1;  // 0 if there is no slash
  return cat(path.substr(0, name), '.', path.substr(name), ".lock");
}

// Opens the lock file, which only this user can open and hence lock, and creates it if necessary. A
// file that another user made or can read is refused: that user could hold the lock for ever.
Result<Descriptor> open_lock(const std::string& path) {
  const std::string lock = lock_path(path);
  constexpr int kFlags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  Descriptor file(::open(lock.c_str(), kFlags, 0600));
  if (!file.ok() && errno != ELOOP) {
    return cannot_listen(path, cat("cannot open the lock file ", lock, ": ", reason()));
  }
  struct stat status{};
  if (file.ok() && ::fstat(file.get(), &status) != 0) return cannot_listen(path, reason());
  const bool is_private = file.ok() && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
                          (status.st_mode & 077U) == 0;
  if (is_private) return file;
  return cannot_listen(path, cat("the lock file ", lock,
                                 " is not a regular file that only this user can open. Remove it"));
}

Result<void> wait_for_lock(const std::string& path, const Descriptor& lock, const LockWait& wait) {
  const auto deadline = std::chrono::steady_clock::now() + wait.time;
  for (bool is_first = true;; is_first = false) {
    const int code = os::take_lock(lock.get());
    if (code == 0) return {};
    if (code != EAGAIN) {
      return cannot_listen(path, cat("cannot lock ", lock_path(path), ": ", os::errno_text(code)));
    }
    if (std::chrono::steady_clock::now() >= deadline) {
      return cannot_listen(path, cat("another tangramd is starting or ending there and holds ",
                                     lock_path(path), ". Stop it first or use another path"));
    }
    if (is_first && wait.on_wait) {
      wait.on_wait(cat("waiting for another tangramd that is starting or ending at ", path));
    }
    std::this_thread::sleep_for(kLockPollInterval);
  }
}

Result<SocketFile> bind_and_listen(const std::string& path, unsigned mode) {
  Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listening.ok()) return cannot_listen(path, reason());
  // fchmod() limits the mode of the file that bind() creates (less the umask), and chmod()
  // completes it before listen(), that is, before clients can connect. So the umask, which is
  // shared by all threads, need not be changed.
  ::fchmod(listening.get(), static_cast<mode_t>(mode));
  const sockaddr_un address = address_of(path);
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return cannot_listen(path, reason());
  }
  struct stat status{};
  if (::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0 ||
      ::lstat(path.c_str(), &status) != 0 || ::listen(listening.get(), SOMAXCONN) != 0) {
    const std::string why = reason();
    ::unlink(path.c_str());
    return cannot_listen(path, why);
  }
  return SocketFile{listening.release(), path, status.st_dev, status.st_ino};
}

}  // namespace

Result<SocketFile> listen_at(const std::string& path, unsigned mode, const LockWait& wait) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.find('\0') != std::string::npos) {
    return invalid("the socket path is empty");
  }
  if (path.size() > kLongest) {
    return invalid(
        cat("socket path too long: ", path, " has ", path.size(), " bytes, at most ", kLongest));
  }
  const auto lock = open_lock(path);
  if (!lock) return std::unexpected(lock.error());
  if (auto ok = wait_for_lock(path, *lock, wait); !ok) return std::unexpected(ok.error());
  if (auto ok = remove_stale(path); !ok) return std::unexpected(ok.error());
  return bind_and_listen(path, mode);
}

void remove(const SocketFile& file) {
  // If another daemon holds the lock, it is starting and replaces the file.
  const auto lock = open_lock(file.path);
  if (lock && os::take_lock(lock->get()) == EAGAIN) return;
  struct stat status{};
  if (::lstat(file.path.c_str(), &status) != 0) return;
  if (status.st_dev != file.device || status.st_ino != file.inode) return;
  ::unlink(file.path.c_str());
}

}  // namespace tangram::http
