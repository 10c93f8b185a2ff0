// TCP addresses of the daemon as text, listening, and addresses of peers.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::os {

struct TcpAddress {
  std::string host;  // a name or an IP address, without the brackets of "[::1]"
  std::string port;

  [[nodiscard]] std::string text() const;  // "[::1]:7443"
};

inline constexpr std::string_view kHttps = "https://";

// Parses e.g. "127.0.0.1:7443", "[::1]:7443" or "node7:7443".
[[nodiscard]] Result<TcpAddress> parse_tcp_address(std::string_view text);
// Parses e.g. "https://node7:7443".
[[nodiscard]] Result<TcpAddress> parse_url(std::string_view url);

// Listens on the address; returns a non-blocking descriptor that the caller owns.
[[nodiscard]] Result<int> listen_at(const TcpAddress& address);
// The peer's address and port, e.g. "192.0.2.7:51234".
[[nodiscard]] std::string peer_of(int descriptor);
// The key by which clients are told apart for quotas: the IPv4 address (also of an IPv4-mapped
// one), or the /64 network of an IPv6 address, because one client usually controls all of it.
[[nodiscard]] std::string network_of(std::string_view peer);

}  // namespace tangram::os
