// See tcp_address.hpp.
#include "os/tcp_address.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::os {
namespace {

std::string with_brackets(std::string_view host) {
  return host.find(':') == std::string_view::npos ? std::string(host) : cat('[', host, ']');
}

std::unexpected<Error> cannot_listen(const TcpAddress& address, std::string_view why) {
  return failed(cat("cannot listen on ", address.text(), ": ", why, "."));
}

int listen_on(const addrinfo& info) {
  const int fd =
      ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info.ai_protocol);
  if (fd < 0) return -1;
  const int one = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(fd, info.ai_addr, info.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0) return fd;
  const int code = errno;
  ::close(fd);
  errno = code;
  return -1;
}

}  // namespace

std::string TcpAddress::text() const { return cat(with_brackets(host), ':', port); }

Result<TcpAddress> parse_tcp_address(std::string_view text) {
  const auto wrong = [&] {
    return invalid(cat("invalid address ", quoted(text),
                       ": use e.g. 127.0.0.1:7443, [::1]:7443 or name:7443"));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong();
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong();
  }
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:-_%";
  if (host.empty() || host.find_first_not_of(kAllowed) != std::string_view::npos) return wrong();
  if (!parse_int(port, 0, 65'535)) return wrong();
  return TcpAddress{std::string(host), std::string(port)};
}

Result<TcpAddress> parse_url(std::string_view url) {
  std::string_view rest = url;
  if (rest.starts_with(kHttps)) rest.remove_prefix(kHttps.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  auto address = parse_tcp_address(rest);
  if (url.starts_with(kHttps) && address) return address;
  return invalid(cat("invalid daemon URL ", quoted(url), ": use https://host:port"));
}

Result<int> listen_at(const TcpAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (status != 0) return cannot_listen(address, ::gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, ::freeaddrinfo);
  const int fd = listen_on(*addresses);
  if (fd < 0) return cannot_listen(address, std::generic_category().message(errno));
  return fd;
}

std::string peer_of(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if (::getpeername(descriptor, plain, &size) != 0 ||
      ::getnameinfo(plain, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown:0";
  }
  return cat(with_brackets(host.data()), ':', std::string_view(port.data()));
}

std::string network_of(std::string_view peer) {
  std::string host(peer.substr(0, peer.rfind(':')));
  if (!host.starts_with('[') || !host.ends_with(']')) return host;
  host = host.substr(1, host.size() - 2);
  const std::size_t zone = std::min(host.find('%'), host.size());  // of "fe80::1%eth0"
  in6_addr address{};
  if (::inet_pton(AF_INET6, host.substr(0, zone).c_str(), &address) != 1) return host;
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&address)) {
    ::inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
    return text.data();
  }
  std::fill(address.s6_addr + 8, address.s6_addr + 16, 0);
  ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  return cat(std::string_view(text.data()), "/64", std::string_view(host).substr(zone));
}

}  // namespace tangram::os
