// PortUser: for tests: a process of any user that binds a port on 127.0.0.1, listens on it on
// command, and counts what it receives. It answers everything like an HTTP server. For another user
// than the test's own, the test must run as root.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/check.hpp"
#include "os/descriptor.hpp"

namespace tangram::os::testing {

class PortUser {
 public:
  struct Report {
    std::uint16_t port = 0;  // 0: it could not be bound
    std::uint32_t connections = 0;
    std::uint64_t bytes = 0;
    bool is_done = true;  // the last command succeeded
  };

  // Binds `port` (0: any) with SO_REUSEADDR, but does not listen yet.
  explicit PortUser(uid_t user, std::uint16_t port = 0) {
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    control_ = Descriptor(ends[0]);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::close(ends[0]);
      Child(ends[1], user, port).run();
    }
    ::close(ends[1]);
    report_ = read_report();
  }
  ~PortUser() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  PortUser(const PortUser&) = delete;
  PortUser& operator=(const PortUser&) = delete;
  PortUser(PortUser&&) = delete;
  PortUser& operator=(PortUser&&) = delete;

  [[nodiscard]] std::uint16_t port() const { return report_.port; }
  // True: it listens; connections stay in the queue until accept().
  bool listen() { return command('l').is_done; }
  void accept() { command('a'); }  // accepts all connections from now on
  void close() { command('c'); }   // closes the listening socket, keeps accepted connections
  Report report() { return command('r'); }

 private:
  class Child {
   public:
    Child(int control, uid_t user, std::uint16_t port) : control_(control) {
      // Groups first: they need the rights of root.
      const bool is_user = user == ::geteuid() || (::setgroups(0, nullptr) == 0 &&
                                                   ::setgid(user) == 0 && ::setuid(user) == 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const int one = 1;
      socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
      ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      socklen_t size = sizeof address;
      auto* const generic = reinterpret_cast<sockaddr*>(&address);
      if (is_user && ::bind(socket_, generic, size) == 0 &&
          ::getsockname(socket_, generic, &size) == 0) {
        report_.port = ntohs(address.sin_port);
      }
      send_report();
    }
    [[noreturn]] void run() {
      while (true) {
        std::vector<pollfd> all{{control_, POLLIN, 0}, {is_accepting_ ? socket_ : -1, POLLIN, 0}};
        for (const int fd : connections_) all.push_back({fd, POLLIN, 0});
        if (::poll(all.data(), all.size(), -1) < 0) continue;
        if (all[1].revents != 0) accept_one();
        for (std::size_t i = 2; i < all.size(); ++i) {
          if (all[i].revents != 0) receive(connections_[i - 2]);
        }
        if (all[0].revents != 0) execute_command();
      }
    }

   private:
    void send_report() const {
      if (::send(control_, &report_, sizeof report_, 0) < 0) ::_exit(0);
    }
    void accept_one() {
      const int fd = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK);
      if (fd < 0) return;
      connections_.push_back(fd);
      ++report_.connections;
    }
    void receive(int& fd) {
      std::array<char, 4096> bytes{};
      const ssize_t count = ::recv(fd, bytes.data(), bytes.size(), 0);
      if (count <= 0) {
        ::close(fd);
        fd = -1;
        return;
      }
      report_.bytes += static_cast<std::uint64_t>(count);
      constexpr std::string_view kAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer";
      (void)!::send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
    }
    void execute_command() {
      char command = 0;
      if (::recv(control_, &command, 1, 0) != 1) ::_exit(0);
      report_.is_done = true;
      if (command == 'l') report_.is_done = ::listen(socket_, 64) == 0;
      if (command == 'a') is_accepting_ = true;
      if (command == 'c') {
        is_accepting_ = false;
        ::close(socket_);
      }
      if (command == 'a') accept_one();
      send_report();
    }

    int control_;
    int socket_ = -1;
    bool is_accepting_ = false;
    std::vector<int> connections_;
    Report report_;
  };

  Report read_report() {
    Report out;
    CHECK(::recv(control_.get(), &out, sizeof out, 0) == static_cast<ssize_t>(sizeof out));
    return out;
  }
  Report command(char what) {
    CHECK(::send(control_.get(), &what, 1, 0) == 1);
    return report_ = read_report();
  }

  Descriptor control_{-1};
  pid_t pid_ = -1;
  Report report_;
};

}  // namespace tangram::os::testing
