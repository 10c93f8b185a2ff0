// For tests: plain TCP on 127.0.0.1: a client without manners of its own, and a replica whose every
// connection is a function on a thread. One rule: nothing is waited for without a deadline, and
// every thread ends with its test.
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
#include "files/descriptor.hpp"
#include "files/test_process.hpp"

namespace tangram::endpoint::testing {

inline constexpr int kPatienceMs = 30'000;

using files::testing::eventually;

// Bytes without a period that a mistake could hide in.
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
  // `room`: of the receive buffer, before the connection, so that a slow reader is felt soon.
  static Peer to(std::uint16_t port, int room = 0) {
    Peer peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (room > 0) ::setsockopt(peer.fd(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    const sockaddr_in address = loopback(port);
    CHECK(::connect(peer.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const int one = 1;
    ::setsockopt(peer.fd(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return peer;
  }

  [[nodiscard]] int fd() const { return socket_.get(); }
  void leave() { socket_ = files::Descriptor(-1); }
  // The other side sees a break, not an end.
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    leave();
  }
  void finish() const { ::shutdown(fd(), SHUT_WR); }

  // False: the other side is gone.
  bool say(std::string_view text) const {
    if (fd() < 0) return false;
    while (!text.empty()) {
      pollfd one{fd(), POLLOUT, 0};
      if (::poll(&one, 1, kPatienceMs) <= 0) return false;
      const ssize_t sent = ::send(fd(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent < 0 && errno == EAGAIN) continue;
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  enum class Heard { kBytes, kEnd, kBreak, kSilence };
  // What comes next is added to `text`, `most` bytes of it.
  Heard more(std::string& text, std::size_t most = 65'536, int patience_ms = kPatienceMs) const {
    pollfd one{fd(), POLLIN, 0};
    if (fd() < 0) return Heard::kBreak;
    if (::poll(&one, 1, patience_ms) <= 0) return Heard::kSilence;
    const std::size_t before = text.size();
    text.resize(before + most);
    const ssize_t count = ::recv(fd(), text.data() + before, most, 0);
    text.resize(before + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count < 0) return Heard::kBreak;
    return count == 0 ? Heard::kEnd : Heard::kBytes;
  }
  // Until the text has `until`; else what came, and how it ended: "<end>", "<break>", "<silence>".
  [[nodiscard]] std::string hear(std::string_view until) const {
    std::string text;
    while (text.find(until) == std::string::npos) {
      // Not a byte more than what is waited for, so that the next call finds the rest.
      switch (more(text, 1)) {
        case Heard::kBytes:
          break;
        case Heard::kEnd:
          return text + "<end>";
        case Heard::kBreak:
          return text + "<break>";
        case Heard::kSilence:
          return text + "<silence>";
      }
    }
    return text;
  }
  [[nodiscard]] std::string hear_all() const {
    std::string text;
    Heard heard = Heard::kBytes;
    while (heard == Heard::kBytes) heard = more(text);
    return text + (heard == Heard::kEnd     ? "<end>"
                   : heard == Heard::kBreak ? "<break>"
                                            : "<silence>");
  }
  [[nodiscard]] std::string hear_bytes(std::size_t count) const {
    std::string text;
    while (text.size() < count) {
      if (more(text, count - text.size()) != Heard::kBytes) break;
    }
    return text;
  }
  // Whether nothing comes for a while: only for what must not happen.
  [[nodiscard]] bool is_silent(int for_ms = 50) const {
    pollfd one{fd(), POLLIN, 0};
    return ::poll(&one, 1, for_ms) == 0;
  }

 private:
  files::Descriptor socket_{-1};
};

// A replica: every connection runs `serve` on a thread of its own.
class Replica {
 public:
  using Serve = std::function<void(Peer&)>;
  // `backlog`: as its author chose it; `pace`: how long each accept takes.
  struct Manners {
    int backlog = 1'024;
    std::chrono::milliseconds pace{0};
  };
  explicit Replica(Serve serve, std::uint16_t port = 0) : Replica(std::move(serve), port, {}) {}
  Replica(Serve serve, std::uint16_t port, Manners manners)
      : serve_(std::move(serve)), manners_(manners) {
    const int one = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    sockaddr_in address = loopback(port);
    socklen_t size = sizeof address;
    CHECK(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    CHECK(::listen(socket_.get(), manners_.backlog) == 0);
    CHECK(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { accept_all(); });
  }
  ~Replica() { stop(); }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;
  Replica(Replica&&) = delete;
  Replica& operator=(Replica&&) = delete;

  // Nobody is accepted any more; who is connected is cut off.
  void stop() {
    if (!thread_.joinable()) return;
    is_over_ = true;
    ::shutdown(socket_.get(), SHUT_RDWR);
    thread_.join();
    socket_ = files::Descriptor(-1);
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
      if (fd < 0 && is_over_) return;
      if (fd < 0) continue;
      ++connections_;
      std::this_thread::sleep_for(manners_.pace);
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
        peer.leave();
      });
    }
  }

  Serve serve_;
  Manners manners_;
  files::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<int> connections_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::list<int> open_;
  std::vector<std::thread> threads_;
};

}  // namespace tangram::endpoint::testing
