// For tests: sends and receives raw bytes on a unix socket.
#pragma once

#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "base/check.hpp"

namespace tangram::http::testing {

class RawSocket {
 public:
  explicit RawSocket(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    CHECK(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~RawSocket() { close(); }
  RawSocket(RawSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawSocket(const RawSocket&) = delete;
  RawSocket& operator=(const RawSocket&) = delete;
  RawSocket& operator=(RawSocket&&) = delete;

  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int descriptor() const { return fd_; }
  // Half-close: the other side reads the end of the stream.
  void shutdown_write() const { ::shutdown(fd_, SHUT_WR); }
  void send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Waits until there is something to read, without reading it.
  void wait_readable() const {
    pollfd one{fd_, POLLIN, 0};
    CHECK(::poll(&one, 1, 60'000) == 1);
  }
  // Receives until the other side closes or the text contains `until`. If nothing arrives for
  // `timeout_ms`, the text ends with "<timeout>".
  [[nodiscard]] std::string receive(std::string_view until = "", int timeout_ms = 5'000) const {
    std::string text;
    char buffer[65536];
    while (until.empty() || text.find(until) == std::string::npos) {
      pollfd one{fd_, POLLIN, 0};
      if (::poll(&one, 1, timeout_ms) <= 0) return text + "<timeout>";
      const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
      if (count <= 0) break;
      text.append(buffer, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace tangram::http::testing
