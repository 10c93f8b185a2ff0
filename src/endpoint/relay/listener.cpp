// See listener.hpp.
#include "endpoint/relay/listener.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/text.hpp"

namespace tangram::endpoint {
namespace {

namespace asio = boost::asio;

constexpr int kMaxAcceptsPerTurn = 64;  // then other handlers of the loop get their turn

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_storage);

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the socket interface wants it
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
  template <class Kind>
  Kind get() const {
    Kind kind{};
    std::memcpy(&kind, &storage, sizeof kind);
    return kind;
  }
  template <class Kind>
  void set(const Kind& kind) {
    std::memcpy(&storage, &kind, sizeof kind);
    size = sizeof kind;
  }
};

std::optional<SocketAddress> address_of(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  sockaddr_in four{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    address.set(four);
  } else if (::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    address.set(six);
  } else {
    return std::nullopt;
  }
  return address;
}

std::uint16_t port_of(int socket) {
  SocketAddress address;
  if (::getsockname(socket, address.generic(), &address.size) != 0) return 0;
  return address.family() == AF_INET ? ntohs(address.get<sockaddr_in>().sin_port)
                                     : ntohs(address.get<sockaddr_in6>().sin6_port);
}

// IPv4-mapped addresses (::ffff:192.0.2.7) are written as IPv4.
std::string text_of(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.family() == AF_INET) {
    const auto four = address.get<sockaddr_in>();
    ::inet_ntop(AF_INET, &four.sin_addr, text.data(), text.size());
    return text.data();
  }
  const auto six = address.get<sockaddr_in6>();
  if (IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) {
    ::inet_ntop(AF_INET, &six.sin6_addr.s6_addr[12], text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, &six.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

bool has_pending_connection(int listener) {
  pollfd one{.fd = listener, .events = POLLIN, .revents = 0};
  return ::poll(&one, 1, 0) > 0;
}

const char* hint_for(int code) {
  switch (code) {
    case EADDRINUSE:
      return "; stop the process that uses it or choose another port";
    case EADDRNOTAVAIL:
      return "; choose an address of this machine";
    case EACCES:
      return "; ports below 1024 need root: choose a higher one";
    default:
      return "";
  }
}

}  // namespace

Result<BoundSocket> listen_at(const std::string& host, std::uint16_t port) {
  auto address = address_of(host, port);
  if (!address) {
    return invalid(
        cat("cannot listen on ", quoted(host), ": not an IP address; use e.g. 127.0.0.1 or ::1"));
  }
  const auto refuse = [&] {
    const int code = errno;
    return failed(cat("cannot listen on ", host, " port ", port, ": ",
                      std::generic_category().message(code), hint_for(code)));
  };
  os::Descriptor socket(
      ::socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (!socket.ok()) return refuse();
  const int one = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(socket.get(), address->generic(), address->size) != 0) return refuse();
  if (::listen(socket.get(), SOMAXCONN) != 0) return refuse();
  const std::uint16_t bound = port_of(socket.get());
  return BoundSocket{std::move(socket), bound};
}

Listener::Listener(asio::io_context& loop, os::Descriptor socket, Callbacks callbacks)
    : socket_(loop, socket.release()), pause_(loop), callbacks_(std::move(callbacks)) {
  listen();
}

void Listener::listen() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                     [this](boost::system::error_code status) {
                       if (!status) accept_all();
                     });
}

void Listener::resume() {
  if (!std::exchange(is_suspended_, false) || !socket_.is_open()) return;
  listen();
}

void Listener::close() {
  boost::system::error_code ignored;
  std::ignore = socket_.close(ignored);
  pause_.cancel();
}

void Listener::accept_all() {
  for (int i = 0; i < kMaxAcceptsPerTurn; ++i) {
    // ensure_capacity() may close an idle session to make room, so only ask if a client is waiting.
    if (!has_pending_connection(socket_.native_handle())) break;
    if (!callbacks_.ensure_capacity()) {
      is_suspended_ = true;
      return;
    }
    SocketAddress address;
    const int taken = ::accept4(socket_.native_handle(), address.generic(), &address.size,
                                SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (taken >= 0) {
      if (!callbacks_.on_accepted({taken, address.family(), text_of(address)})) {
        pause();
        return;
      }
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      callbacks_.on_exhausted(errno);
      pause();
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      break;
    }
  }
  listen();
}

// The socket stays readable while clients wait, so listening at once would spin.
void Listener::pause() {
  pause_.expires_after(kExhaustedRetryDelay);
  pause_.async_wait([this](boost::system::error_code status) {
    if (!status && socket_.is_open()) listen();
  });
}

}  // namespace tangram::endpoint
