// SocketOwner: which user has a TCP socket on this host. Any user may listen on any unprivileged
// port, so a connection to a local port may have been accepted by a program of another user: check
// it before anything is sent over it. Asks the kernel's socket diagnostics (NETLINK_SOCK_DIAG, some
// microseconds), and reads /proc/net/tcp and tcp6 if those are not available or find no socket.
// IPv4 connections only; an IPv6 socket that accepts IPv4 is found, too. Not thread-safe. Never
// waits.
//
// In a user namespace, users that it does not map all appear as the overflow uid (65534).
#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <sys/types.h>

#include "base/error.hpp"
#include "os/descriptor.hpp"

namespace tangram::os {

class SocketOwner {
 public:
  // Where to look; tests turn sources off.
  struct Sources {
    bool sock_diag = true;
    std::string proc_net = "/proc/net";
  };
  SocketOwner() : SocketOwner(Sources()) {}
  explicit SocketOwner(Sources sources);

  // The user whose program has the other end of this connected socket, or has the listening socket
  // in whose queue the connection still is. An error means that it cannot be told, e.g. because the
  // connection was closed: then nothing may be sent.
  [[nodiscard]] Result<uid_t> of_peer(int connected);
  // The user whose program listens on 127.0.0.1:port; nullopt: none does.
  [[nodiscard]] Result<std::optional<uid_t>> of_listener(std::uint16_t port);

 private:
  struct Found {
    bool is_open = false;  // established, or about to be
    uid_t uid = 0;
    std::uint64_t inode = 0;  // 0: no program has accepted it yet, or it was closed
  };
  using Lookup = Result<std::optional<Found>>;

  // The socket with this local and remote address. `remote` with port 0: the listening socket.
  [[nodiscard]] Lookup find(const sockaddr_in& local, const sockaddr_in& remote);
  [[nodiscard]] Lookup ask_kernel(const sockaddr_in& local, const sockaddr_in& remote);
  [[nodiscard]] Lookup read_proc(const sockaddr_in& local, const sockaddr_in& remote) const;

  std::string proc_net_;
  Descriptor netlink_{-1};
  std::uint32_t last_request_ = 0;
};

}  // namespace tangram::os
