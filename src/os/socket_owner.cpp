// See socket_owner.hpp.
#include "os/socket_owner.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/socket.h>
#include <utility>

#include "base/text.hpp"
#include "os/failure.hpp"

namespace tangram::os {
namespace {

// Of every network namespace. Traffic of a host to itself always arrives there, and a socket may be
// bound to it (SO_BINDTODEVICE).
constexpr std::uint32_t kLoopbackDevice = 1;

struct Request {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
};

Request request_for(const sockaddr_in& local, const sockaddr_in& remote, std::uint32_t number) {
  Request request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = number;
  inet_diag_req_v2& body = request.body;
  body.sdiag_family = AF_INET;
  body.sdiag_protocol = IPPROTO_TCP;
  body.idiag_states = ~0U;
  body.id.idiag_sport = local.sin_port;
  body.id.idiag_dport = remote.sin_port;
  body.id.idiag_src[0] = local.sin_addr.s_addr;
  body.id.idiag_dst[0] = remote.sin_addr.s_addr;
  body.id.idiag_if = kLoopbackDevice;
  body.id.idiag_cookie[0] = INET_DIAG_NOCOOKIE;
  body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

// Whether a socket in this state can carry data in both directions, once accepted.
bool is_open_state(unsigned state) {
  return state == TCP_ESTABLISHED || state == TCP_SYN_RECV || state == TCP_CLOSE_WAIT;
}

std::string hex(std::uint32_t value, int digits) {
  std::ostringstream out;
  out << std::hex << std::uppercase;
  out.width(digits);
  out.fill('0');
  out << value;
  return out.str();
}

// An address as /proc/net/tcp (or tcp6, where IPv4 addresses are mapped) has it.
std::string proc_text(const sockaddr_in& address, bool is_v6) {
  return cat(is_v6 ? "0000000000000000FFFF0000" : "", hex(address.sin_addr.s_addr, 8), ":",
             hex(ntohs(address.sin_port), 4));
}

// One line of /proc/net/tcp or tcp6.
struct ProcSocket {
  std::string local;
  std::string remote;
  unsigned state = 0;
  uid_t uid = 0;
  std::uint64_t inode = 0;
};

std::optional<ProcSocket> parse_proc_line(const std::string& line) {
  std::istringstream words(line);
  ProcSocket out;
  std::string number;
  std::string skipped;
  words >> number >> out.local >> out.remote >> std::hex >> out.state >> std::dec;
  words >> skipped >> skipped >> skipped >> out.uid >> skipped >> out.inode;
  if (!words) return std::nullopt;
  return out;
}

bool is_match(const ProcSocket& socket, const sockaddr_in& local, const sockaddr_in& remote,
              bool is_v6) {
  if (remote.sin_port != 0) {
    return socket.local == proc_text(local, is_v6) && socket.remote == proc_text(remote, is_v6);
  }
  const std::string any = cat(std::string(is_v6 ? 32 : 8, '0'), ":", hex(ntohs(local.sin_port), 4));
  return socket.state == TCP_LISTEN &&
         (socket.local == any || socket.local == proc_text(local, is_v6));
}

// The first matching socket of the file. An error: the file is unreadable, or sockets of several
// users match.
Result<std::optional<ProcSocket>> search_proc(const std::string& path, const sockaddr_in& local,
                                              const sockaddr_in& remote, bool is_v6) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return failed(cat("cannot read ", quoted(path), "."));
  std::optional<ProcSocket> found;
  while (std::getline(file, line)) {
    const auto socket = parse_proc_line(line);
    if (!socket || !is_match(*socket, local, remote, is_v6)) continue;
    if (found && found->uid != socket->uid) {
      return failed(cat("several users have port ", ntohs(local.sin_port), "."));
    }
    found = socket;
  }
  return found;
}

Result<sockaddr_in> address_of(int socket, decltype(&::getsockname) which) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface wants it
  if (which(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return failed(cat("the connection was closed: ", errno_text(errno), "."));
  }
  if (address.sin_family != AF_INET) return failed("not an IPv4 connection.");
  return address;
}

}  // namespace

SocketOwner::SocketOwner(Sources sources) : proc_net_(std::move(sources.proc_net)) {
  if (!sources.sock_diag) return;
  netlink_ =
      Descriptor(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
}

// The listening socket is looked up first. If the connection is still in a queue afterwards, it is
// in the queue of that one: closing a listening socket ends the connections in its queue.
Result<uid_t> SocketOwner::of_peer(int connected) {
  const auto here = address_of(connected, ::getsockname);
  if (!here) return std::unexpected(here.error());
  const auto there = address_of(connected, ::getpeername);
  if (!there) return std::unexpected(there.error());
  const auto port = ntohs(there->sin_port);
  if (here->sin_port == there->sin_port && here->sin_addr.s_addr == there->sin_addr.s_addr) {
    return failed(cat("connected to itself: no server listens on port ", port, "."));
  }
  const Lookup listener = find(*there, sockaddr_in{});
  if (!listener) return std::unexpected(listener.error());
  const Lookup peer = find(*there, *here);
  if (!peer) return std::unexpected(peer.error());
  const bool is_open = *peer && (*peer)->is_open;
  const bool is_accepted = is_open && (*peer)->inode != 0;
  if (is_accepted && (*peer)->uid != 0) return (*peer)->uid;
  // Sockets that the kernel accepts for a program of any user (e.g. AF_SMC) appear as root's.
  const bool is_root_listening = *listener && (*listener)->uid == 0;
  if (is_accepted && is_root_listening) return 0;
  if (is_open && !is_accepted && *listener) return (*listener)->uid;
  return failed(cat("cannot tell who accepted the connection to port ", port, "."));
}

Result<std::optional<uid_t>> SocketOwner::of_listener(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Lookup found = find(address, sockaddr_in{});
  if (!found) return std::unexpected(found.error());
  return *found ? std::optional((*found)->uid) : std::nullopt;
}

// The kernel answers "not found" also if it was built without these diagnostics, or cannot load
// them, so that answer is checked against /proc, too.
SocketOwner::Lookup SocketOwner::find(const sockaddr_in& local, const sockaddr_in& remote) {
  Lookup answer = ask_kernel(local, remote);
  if (answer && *answer) return answer;
  Lookup read = read_proc(local, remote);
  if (read || !answer) return read;
  return answer;
}

SocketOwner::Lookup SocketOwner::ask_kernel(const sockaddr_in& local, const sockaddr_in& remote) {
  if (!netlink_.ok()) return failed("socket diagnostics are not available.");
  const Request request = request_for(local, remote, ++last_request_);
  if (::send(netlink_.get(), &request, sizeof request, 0) < 0) {
    return failed(cat("socket diagnostics: ", errno_text(errno), "."));
  }
  alignas(nlmsghdr) std::array<char, 4096> bytes{};
  while (true) {  // answers to earlier requests that failed half-way are skipped
    sockaddr_nl sender{};
    socklen_t size = sizeof sender;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface wants it
    auto* const from = reinterpret_cast<sockaddr*>(&sender);
    const ssize_t count = ::recvfrom(netlink_.get(), bytes.data(), bytes.size(), 0, from, &size);
    if (count < 0) return failed(cat("socket diagnostics: ", errno_text(errno), "."));
    nlmsghdr header{};
    if (static_cast<std::size_t>(count) < sizeof header || sender.nl_pid != 0) continue;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nlmsg_seq != last_request_) continue;
    if (header.nlmsg_type == NLMSG_ERROR) {
      nlmsgerr error{};
      std::memcpy(&error, bytes.data() + NLMSG_HDRLEN, sizeof error);
      if (error.error == -ENOENT) return std::nullopt;
      return failed(cat("socket diagnostics: ", errno_text(-error.error), "."));
    }
    inet_diag_msg found{};
    if (header.nlmsg_len < NLMSG_HDRLEN + sizeof found)
      return failed("socket diagnostics: truncated reply.");
    std::memcpy(&found, bytes.data() + NLMSG_HDRLEN, sizeof found);
    // Without such a connection, the kernel answers with the listening socket.
    const bool is_listening = found.idiag_state == TCP_LISTEN;
    if (is_listening != (remote.sin_port == 0)) return std::nullopt;
    return Found{.is_open = is_open_state(found.idiag_state),
                 .uid = found.idiag_uid,
                 .inode = found.idiag_inode};
  }
}

// An IPv4 listening socket goes first: an IPv6 one beside it accepts IPv6 only.
SocketOwner::Lookup SocketOwner::read_proc(const sockaddr_in& local,
                                           const sockaddr_in& remote) const {
  auto found = search_proc(proc_net_ + "/tcp", local, remote, false);
  if (!found) return std::unexpected(found.error());
  if (!*found) {
    auto v6 = search_proc(proc_net_ + "/tcp6", local, remote, true);
    if (v6)
      found = std::move(v6);  // without IPv6 there is no such file
    else if (std::ifstream(proc_net_ + "/tcp6").good())
      return std::unexpected(v6.error());
  }
  if (!*found) return std::nullopt;
  const ProcSocket& socket = **found;
  return Found{.is_open = is_open_state(socket.state), .uid = socket.uid, .inode = socket.inode};
}

}  // namespace tangram::os
