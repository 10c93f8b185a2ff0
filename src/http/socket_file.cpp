// See socket_file.hpp.
#include "http/socket_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"

namespace tangram::http {
namespace {

class Open {
 public:
  explicit Open(int fd) : fd_(fd) {}
  ~Open() {
    if (fd_ >= 0) ::close(fd_);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  Open(Open&&) = delete;
  Open& operator=(Open&&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::unexpected<Error> cannot_listen(const std::string& path, std::string_view why) {
  return failed(cat("cannot listen on ", path, ": ", why, "."));
}
std::string reason() { return std::generic_category().message(errno); }

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

int connect_to(int fd, const sockaddr_un& address) {
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

// Removes what a dead daemon left behind.
Result<void> make_room(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return cannot_listen(path, reason());
  }
  if (!S_ISSOCK(status.st_mode)) {
    return cannot_listen(path,
                         "a file is there that is not a socket; it is left alone. Remove it, "
                         "or listen elsewhere");
  }
  const Open probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const bool answered = connect_to(probe.get(), address_of(path)) == 0 || errno == EAGAIN;
  if (answered) {
    return failed(
        cat("another tangramd listens on ", path, "; stop it first, or listen elsewhere."));
  }
  if (errno == ENOENT) return {};
  if (errno != ECONNREFUSED) {
    return cannot_listen(
        path, cat("a socket is there, and whether it is in use cannot be told: ", reason()));
  }
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return cannot_listen(path, reason());
  return {};
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<SocketFile> listen_at(const std::string& path, unsigned mode) {
  constexpr std::size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.find('\0') != std::string::npos) {
    return invalid("the path of the socket is empty.");
  }
  if (path.size() > kLongest) {
    return invalid(cat("the path of the socket, ", path, ", has ", path.size(),
                       " bytes; the system allows ", kLongest, ". Choose a shorter one."));
  }
  // Two daemons that start at once must not remove each other's socket.
  const Open folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return cannot_listen(path, cat("its folder: ", reason()));
  while (::flock(folder.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return cannot_listen(path, reason());
  }
  if (auto ok = make_room(path); !ok) return std::unexpected(ok.error());
  Open listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listening.get() < 0) return cannot_listen(path, reason());
  // The file gets this mode less the umask, never more; the rest is added before anyone can
  // connect, which is after listen(). So the process's umask, which all threads share, stays.
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

void remove(const SocketFile& file) {
  struct stat status{};
  if (::lstat(file.path.c_str(), &status) != 0) return;
  if (status.st_dev != file.device || status.st_ino != file.inode) return;
  ::unlink(file.path.c_str());
}

}  // namespace tangram::http
