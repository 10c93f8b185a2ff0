// See connection_flood.hpp. A child process opens its connections, writes how many it opened, and
// then writes the number of open ones for every byte that it reads.
#include "connection_flood.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace tangram::tests {
namespace {

void raise_descriptor_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

int connect_to(const FloodOptions& options) {
  const int fd = ::socket(options.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto* const address = reinterpret_cast<const sockaddr*>(&options.address);
  if (::connect(fd, address, options.address_size) == 0) return fd;
  ::close(fd);
  return -1;
}

// Reads what the daemon has sent: an answer may precede the end of the connection.
bool is_open(int fd) {
  char buffer[4096];
  ssize_t size = 0;
  while ((size = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
  }
  return size < 0 && errno == EAGAIN;
}

[[noreturn]] void run_process(const FloodOptions& options, int requests, int counts) {
  raise_descriptor_limit();
  const uid_t uid = options.uid;
  if (uid != ::geteuid() && (::setgid(uid) != 0 || ::setuid(uid) != 0)) ::_exit(1);
  std::vector<int> connections;
  for (int i = 0; i < options.connections_each; ++i) {
    const int fd = connect_to(options);
    if (fd < 0) continue;
    connections.push_back(fd);
    const std::string& half = options.half_request;
    if (i % 2 == 0) ::send(fd, half.data(), half.size(), MSG_NOSIGNAL);
  }
  int count = static_cast<int>(connections.size());
  char request = 0;
  do {
    if (::write(counts, &count, sizeof count) != sizeof count) break;
    if (::read(requests, &request, 1) != 1) break;
    count = 0;
    for (const int fd : connections) count += is_open(fd) ? 1 : 0;
  } while (true);
  ::_exit(0);
}

int read_count(int counts) {
  int count = 0;
  CHECK(::read(counts, &count, sizeof count) == sizeof count);
  return count;
}

template <class Address>
FloodOptions options_for(const Address& address, std::string half_request) {
  FloodOptions options{.uid = ::geteuid(), .half_request = std::move(half_request)};
  *reinterpret_cast<Address*>(&options.address) = address;
  options.address_size = sizeof address;
  return options;
}

}  // namespace

FloodOptions flood_of_socket(const std::string& path, std::string half_request) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return options_for(address, std::move(half_request));
}

FloodOptions flood_of_port(std::uint16_t port, std::string half_request) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return options_for(address, std::move(half_request));
}

std::string unsupported_reason(const FloodOptions& options) {
  constexpr int kOtherFiles = 50;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto needed = static_cast<rlim_t>(options.connections_each + kOtherFiles);
  if (files.rlim_max >= needed) return "";
  return cat("needs a hard limit of ", needed, " open files; it is ", files.rlim_max);
}

ConnectionFlood::ConnectionFlood(const FloodOptions& options)
    : connections_each_(options.connections_each) {
  for (int i = 0; i < options.processes; ++i) {
    int requests[2];
    int counts[2];
    CHECK(::pipe2(requests, O_CLOEXEC) == 0 && ::pipe2(counts, O_CLOEXEC) == 0);
    const pid_t pid = ::fork();
    CHECK(pid >= 0);
    if (pid == 0) run_process(options, requests[0], counts[1]);
    ::close(requests[0]);
    ::close(counts[1]);
    processes_.push_back({.pid = pid, .requests = requests[1], .counts = counts[0]});
  }
}

ConnectionFlood::~ConnectionFlood() { end(); }

bool ConnectionFlood::is_complete() {
  bool all = true;
  for (Process& each : processes_) {
    pollfd one{each.counts, POLLIN, 0};
    if (!each.ready && ::poll(&one, 1, 0) == 1) {
      EXPECT_EQ(read_count(each.counts), connections_each_);
      each.ready = true;
    }
    all = all && each.ready;
  }
  return all;
}

int ConnectionFlood::count_open() {
  int count = 0;
  for (const Process& each : processes_) {
    CHECK(each.ready && ::write(each.requests, "?", 1) == 1);
    count += read_count(each.counts);
  }
  return count;
}

void ConnectionFlood::end() {
  for (const Process& each : processes_) {
    ::kill(each.pid, SIGKILL);  // it may hang in connect()
    ::waitpid(each.pid, nullptr, 0);
    ::close(each.requests);
    ::close(each.counts);
  }
  processes_.clear();
}

}  // namespace tangram::tests
