// For tests: plain TCP on 127.0.0.1: a raw client, and a replica that runs a function on a thread
// per connection. Every wait has a deadline, and every thread ends with its test.
#pragma once

#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "os/descriptor.hpp"
#include "tests/support/os/process.hpp"

namespace tangram::endpoint::testing {

inline constexpr int kTimeoutMs = 30'000;

using os::testing::eventually;

// Pseudo-random bytes without a short period, so that lost or repeated blocks are noticed.
inline std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : text) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<char>(state >> 24U);
  }
  return text;
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// One end of a connection.
class Peer {
 public:
  Peer() = default;
  explicit Peer(int descriptor) : socket_(descriptor) {}
  // `receive_buffer`: its size in bytes, set before connecting, so that a slow reader causes
  // back-pressure early. 0: the default.
  static Peer to(std::uint16_t port, int receive_buffer = 0) {
    Peer peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0) {
      ::setsockopt(peer.fd(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const sockaddr_in address = loopback(port);
    CHECK(::connect(peer.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const int one = 1;
    ::setsockopt(peer.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return peer;
  }

  [[nodiscard]] int fd() const { return socket_.get(); }
  void close() { socket_ = os::Descriptor(-1); }
  // Closes with RST: the other side sees a reset, not EOF.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close();
  }
  void half_close() const { ::shutdown(fd(), SHUT_WR); }

  // Sends everything. False: the other side is gone, or did not read in time.
  bool send(std::string_view text) const {
    if (fd() < 0) return false;
    while (!text.empty()) {
      pollfd one{fd(), POLLOUT, 0};
      if (::poll(&one, 1, kTimeoutMs) <= 0) return false;
      const ssize_t sent = ::send(fd(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EAGAIN) continue;
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  enum class ReadResult { kBytes, kEof, kReset, kTimeout };
  // Appends the next bytes to `text`, at most `most`.
  ReadResult read_some(std::string& text, std::size_t most = 65'536,
                       int timeout_ms = kTimeoutMs) const {
    pollfd one{fd(), POLLIN, 0};
    if (fd() < 0) return ReadResult::kReset;
    if (::poll(&one, 1, timeout_ms) <= 0) return ReadResult::kTimeout;
    const std::size_t before = text.size();
    text.resize(before + most);
    const ssize_t count = ::recv(fd(), text.data() + before, most, 0);
    text.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count < 0) return ReadResult::kReset;
    return count == 0 ? ReadResult::kEof : ReadResult::kBytes;
  }
  // Reads until the text contains `until`. Otherwise returns what was received with the way it
  // ended appended: "<eof>", "<reset>" or "<timeout>".
  [[nodiscard]] std::string read_until(std::string_view until) const {
    std::string text;
    while (text.find(until) == std::string::npos) {
      // Byte by byte, so that nothing behind `until` is consumed.
      switch (read_some(text, 1)) {
        case ReadResult::kBytes:
          break;
        case ReadResult::kEof:
          return text + "<eof>";
        case ReadResult::kReset:
          return text + "<reset>";
        case ReadResult::kTimeout:
          return text + "<timeout>";
      }
    }
    return text;
  }
  [[nodiscard]] std::string read_all() const {
    std::string text;
    ReadResult received = ReadResult::kBytes;
    while (received == ReadResult::kBytes) received = read_some(text);
    return text + (received == ReadResult::kEof     ? "<eof>"
                   : received == ReadResult::kReset ? "<reset>"
                                                    : "<timeout>");
  }
  [[nodiscard]] std::string read_bytes(std::size_t count) const {
    std::string text;
    while (text.size() < count) {
      if (read_some(text, count - text.size()) != ReadResult::kBytes) break;
    }
    return text;
  }
  // Whether nothing is received for a while. Only for asserting that something does not arrive.
  [[nodiscard]] bool is_silent(int for_ms = 50) const {
    pollfd one{fd(), POLLIN, 0};
    return ::poll(&one, 1, for_ms) == 0;
  }

 private:
  os::Descriptor socket_{-1};
};

// A replica that runs `serve` for every connection, on a thread of its own.
class Replica {
 public:
  using Serve = std::function<void(Peer&)>;
  // `backlog`: of listen(); `accept_delay`: pause after each accept.
  struct Options {
    int backlog = 1'024;
    std::chrono::milliseconds accept_delay{0};
  };
  explicit Replica(Serve serve, std::uint16_t port = 0) : Replica(std::move(serve), port, {}) {}
  Replica(Serve serve, std::uint16_t port, Options options)
      : serve_(std::move(serve)), options_(options) {
    const int one = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address = loopback(port);
    socklen_t size = sizeof address;
    CHECK(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(::listen(socket_.get(), options_.backlog) == 0);
    CHECK(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~Replica() { stop(); }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  Replica(Replica&&) = delete;
  Replica& operator=(Replica&&) = delete;

  // Stops accepting, shuts down all connections and joins their threads.
  void stop() {
    if (!thread_.joinable()) return;
    is_stopped_ = true;
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
    socket_ = os::Descriptor(-1);
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] int connections() const { return connections_; }

 private:
  void accept_all() {
    while (true) {
      const int fd = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0 && is_stopped_) return;
      if (fd < 0) continue;
      ++connections_;
      std::this_thread::sleep_for(options_.accept_delay);
      const int one = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      {
        const std::lock_guard lock(mutex_);
        open_.push_back(fd);
      }
      threads_.emplace_back([this, fd] {
        Peer peer(fd);
        serve_(peer);
        const std::lock_guard lock(mutex_);
        open_.remove(fd);
        peer.close();
      });
    }
  }

  Serve serve_;
  Options options_;
  os::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::list<int> open_;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::endpoint::testing
