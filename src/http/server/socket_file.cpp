// See socket_file.hpp.
#include "http/server/socket_file.hpp"

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

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&&) = delete;
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

std::unexpected<Error> cannot_listen(const std::string& path, std::string_view why) {
  return failed(cat("cannot listen on ", path, ": ", why));
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
  const bool answered = connect_to(probe.get(), address_of(path)) == 0 || errno == EAGAIN;
  if (answered) {
    return failed(cat("another tangramd listens on ", path, ": stop it first or use another path"));
  }
  if (errno == ENOENT) return {};
  if (errno != ECONNREFUSED) {
    return cannot_listen(path, cat("cannot check whether the socket is in use: ", reason()));
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
    return invalid("the socket path is empty");
  }
  if (path.size() > kLongest) {
    return invalid(
        cat("socket path too long: ", path, " has ", path.size(), " bytes, at most ", kLongest));
  }
  // The lock on the directory keeps two daemons that start at once from removing each other's
  // socket.
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return cannot_listen(path, cat("its directory: ", reason()));
  while (::flock(folder.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return cannot_listen(path, reason());
  }
  if (auto ok = remove_stale(path); !ok) return std::unexpected(ok.error());
  Descriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (listening.get() < 0) return cannot_listen(path, reason());
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

void remove(const SocketFile& file) {
  struct stat status{};
  if (::lstat(file.path.c_str(), &status) != 0) return;
  if (status.st_dev != file.device || status.st_ino != file.inode) return;
  ::unlink(file.path.c_str());
}

}  // namespace tangram::http
