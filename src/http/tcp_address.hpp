// Where a daemon is reached over TCP, as people write it. One rule: what is not a host and a port
// is refused before anything is tried.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::http {

struct TcpAddress {
  std::string host;  // a name or a number, without the brackets of "[::1]"
  std::string port;

  [[nodiscard]] std::string text() const;  // "[::1]:7443"
};

inline constexpr std::string_view kHttps = "https://";

// "127.0.0.1:7443", "[::1]:7443", "node7:7443".
[[nodiscard]] Result<TcpAddress> parse_tcp_address(std::string_view text);
// "https://node7:7443".
[[nodiscard]] Result<TcpAddress> parse_url(std::string_view url);

// Listens there; the descriptor is the caller's.
[[nodiscard]] Result<int> listen_at(const TcpAddress& address);
// "192.0.2.7:51234", who is at the other end.
[[nodiscard]] std::string peer_of(int descriptor);
// Whose that is, as far as it can be told: "192.0.2.7", also if it came as ::ffff:192.0.2.7; of
// IPv6 the first half, "2001:db8:1:2::/64", because everybody has the other half for himself.
[[nodiscard]] std::string network_of(std::string_view peer);

}  // namespace tangram::http
