// For tests: bytes on the daemon's socket, whatever they are.
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

// A socket without manners of its own.
class Raw {
 public:
  explicit Raw(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    CHECK(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~Raw() { leave(); }
  Raw(Raw&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  Raw& operator=(Raw&&) = delete;

  void leave() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  [[nodiscard]] int descriptor() const { return fd_; }
  void finish_writing() const { ::shutdown(fd_, SHUT_WR); }
  void say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Until there is something to read; it is left there.
  void await() const {
    pollfd one{fd_, POLLIN, 0};
    CHECK(::poll(&one, 1, 60'000) == 1);
  }
  // Until the other side closes, or the text has `until`, or nothing comes for long.
  [[nodiscard]] std::string hear(std::string_view until = "", int patience_ms = 5'000) const {
    std::string text;
    char room[65536];
    while (until.empty() || text.find(until) == std::string::npos) {
      pollfd one{fd_, POLLIN, 0};
      if (::poll(&one, 1, patience_ms) <= 0) return text + "<silence>";
      const ssize_t count = ::recv(fd_, room, sizeof room, 0);
      if (count <= 0) break;
      text.append(room, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

}  // namespace tangram::http::testing
