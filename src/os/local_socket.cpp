// See local_socket.hpp.
#include "os/local_socket.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "os/failure.hpp"

namespace tangram::os {
namespace {

Descriptor make_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Calls bind() or connect() with the address of the socket.
int call_with_address(int (*call)(int, const sockaddr*, socklen_t), int socket, int folder,
                      const char* name) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const std::string path = cat("/proc/self/fd/", folder, "/", name);
  CHECK(path.size() < sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface wants it
  return call(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
}

}  // namespace

Result<Descriptor> listen_in(int folder, const char* name, std::string_view what, int backlog) {
  const auto refused = [&](std::string_view tried) {
    return failed(cat("cannot ", tried, " ", what, ": ", errno_text(errno), "."));
  };
  Descriptor socket = make_socket();
  if (!socket.ok()) return refused("create");
  ::unlinkat(folder, name, 0);
  if (call_with_address(::bind, socket.get(), folder, name) != 0) return refused("bind");
  // No client can connect before listen(), so the mode is set in time.
  if (::fchmodat(folder, name, 0600, 0) != 0) return refused("protect");
  if (::listen(socket.get(), backlog) != 0) return refused("listen on");
  return socket;
}

Result<Descriptor> connect_in(const std::string& folder, const char* name) {
  const Descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.ok()) return system_failure("open the folder", folder, errno);
  const std::string path = cat(folder, "/", name);
  Descriptor connection = make_socket();
  if (!connection.ok()) return system_failure("create a socket for", path, errno);
  if (call_with_address(::connect, connection.get(), opened.get(), name) != 0) {
    return system_failure("connect to", path, errno);
  }
  return connection;
}

}  // namespace tangram::os
