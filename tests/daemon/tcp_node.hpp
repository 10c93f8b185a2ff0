// TcpNode: a Node whose daemon also listens on TCP, with a certificate that a certificate authority
// of the test has issued.
#pragma once

#include <cstdint>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "base/check.hpp"
#include "base/text.hpp"
#include "node.hpp"
#include "tests/support/http/keys.hpp"

namespace tangram::tests {

// A TCP port of 127.0.0.1 that is unused at the moment.
inline std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  CHECK(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  ::close(fd);
  return ntohs(address.sin_port);
}

class TcpNode {
 public:
  explicit TcpNode(NodeOptions options = {}) : node_(with_tcp(std::move(options))) {}

  // The [tcp] section of the configuration.
  [[nodiscard]] std::string config(const std::string& certificate, const std::string& key) const {
    return cat("[tcp]\nlisten = \"127.0.0.1:", port_, "\"\ncertificate = \"", certificate,
               "\"\nkey = \"", key, "\"\n");
  }
  [[nodiscard]] Node& node() { return node_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url() const { return cat("https://localhost:", port_); }
  [[nodiscard]] std::string ca() const { return keys_.ca(); }
  [[nodiscard]] const http::testing::TestKeys& keys() const { return keys_; }

 private:
  NodeOptions with_tcp(NodeOptions options) const {
    options.config += config(keys_.certificate(), keys_.key());
    return options;
  }

  std::uint16_t port_ = free_port();
  http::testing::TestKeys keys_;
  Node node_;
};

}  // namespace tangram::tests
