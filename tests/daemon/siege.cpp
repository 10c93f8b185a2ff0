// See siege.hpp. A besieger opens its connections, reports how many it opened, and from then on
// counts those that stand whenever a byte comes.
#include "siege.hpp"

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

void raise_descriptors() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

int connect_to(const SiegePlan& plan) {
  const int fd = ::socket(plan.where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const auto* const where = reinterpret_cast<const sockaddr*>(&plan.where);
  if (::connect(fd, where, plan.where_size) == 0) return fd;
  ::close(fd);
  return -1;
}

// Whatever the daemon said before it closed is read first.
bool stands(int fd) {
  char room[4096];
  ssize_t size = 0;
  while ((size = ::recv(fd, room, sizeof room, MSG_DONTWAIT)) > 0) {
  }
  return size < 0 && errno == EAGAIN;
}

[[noreturn]] void besiege(const SiegePlan& plan, int orders, int reports) {
  raise_descriptors();
  if (plan.uid != ::geteuid() && (::setgid(plan.uid) != 0 || ::setuid(plan.uid) != 0)) ::_exit(1);
  std::vector<int> mine;
  for (int i = 0; i < plan.each; ++i) {
    const int fd = connect_to(plan);
    if (fd < 0) continue;
    mine.push_back(fd);
    if (i % 2 == 0) ::send(fd, plan.half.data(), plan.half.size(), MSG_NOSIGNAL);
  }
  int count = static_cast<int>(mine.size());
  char order = 0;
  do {
    if (::write(reports, &count, sizeof count) != sizeof count) break;
    if (::read(orders, &order, 1) != 1) break;
    count = 0;
    for (const int fd : mine) count += stands(fd) ? 1 : 0;
  } while (true);
  ::_exit(0);
}

int read_count(int reports) {
  int count = 0;
  CHECK(::read(reports, &count, sizeof count) == sizeof count);
  return count;
}

template <class Address>
SiegePlan plan_for(const Address& address, std::string half) {
  SiegePlan plan{.uid = ::geteuid(), .half = std::move(half)};
  *reinterpret_cast<Address*>(&plan.where) = address;
  plan.where_size = sizeof address;
  return plan;
}

}  // namespace

SiegePlan siege_of_socket(const std::string& path, std::string half) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return plan_for(address, std::move(half));
}

SiegePlan siege_of_port(std::uint16_t port, std::string half) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return plan_for(address, std::move(half));
}

std::string obstacle_to(const SiegePlan& plan) {
  constexpr int kOthers = 50;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto needed = static_cast<rlim_t>(plan.each + kOthers);
  if (files.rlim_max >= needed) return "";
  return cat("needs a hard limit of ", needed, " open files, and there are ", files.rlim_max);
}

Siege::Siege(const SiegePlan& plan) : each_(plan.each) {
  for (int i = 0; i < plan.processes; ++i) {
    int orders[2];
    int reports[2];
    CHECK(::pipe2(orders, O_CLOEXEC) == 0 && ::pipe2(reports, O_CLOEXEC) == 0);
    const pid_t pid = ::fork();
    CHECK(pid >= 0);
    if (pid == 0) besiege(plan, orders[0], reports[1]);
    ::close(orders[0]);
    ::close(reports[1]);
    besiegers_.push_back({.pid = pid, .orders = orders[1], .reports = reports[0]});
  }
}

Siege::~Siege() { end(); }

bool Siege::complete() {
  bool all = true;
  for (Besieger& each : besiegers_) {
    pollfd one{each.reports, POLLIN, 0};
    if (!each.ready && ::poll(&one, 1, 0) == 1) {
      EXPECT_EQ(read_count(each.reports), each_);
      each.ready = true;
    }
    all = all && each.ready;
  }
  return all;
}

int Siege::standing() {
  int count = 0;
  for (const Besieger& each : besiegers_) {
    CHECK(each.ready && ::write(each.orders, "?", 1) == 1);
    count += read_count(each.reports);
  }
  return count;
}

void Siege::end() {
  for (const Besieger& each : besiegers_) {
    ::kill(each.pid, SIGKILL);  // one that cannot connect would never look
    ::waitpid(each.pid, nullptr, 0);
    ::close(each.orders);
    ::close(each.reports);
  }
  besiegers_.clear();
}

}  // namespace tangram::tests
