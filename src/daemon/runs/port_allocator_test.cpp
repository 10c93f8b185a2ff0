// Which ports are allocated, with real sockets.
#include "daemon/runs/port_allocator.hpp"

#include <netinet/in.h>
#include <set>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "os/descriptor.hpp"
#include "tests/support/os/port_user.hpp"

namespace tangram::daemon {
namespace {

// A listening socket on a port that the kernel chose.
class Listener {
 public:
  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof(address);
    CHECK(::bind(socket_.get(), generic, size) == 0 && ::listen(socket_.get(), 1) == 0);
    CHECK(::getsockname(socket_.get(), generic, &size) == 0);
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  os::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

std::uint16_t unused_port() { return Listener().port(); }

store::JobRow job_with(std::uint16_t port, bool over) {
  store::JobRow row;
  row.id = 1;
  row.port = port;
  row.over = over;
  return row;
}

TEST(PortAllocator, APortWithAListenerIsTaken) {
  const Listener taken;
  EXPECT_EQ(PortAllocator().find_free({taken.port(), taken.port()}, JobTable()), std::nullopt);
}

// Its owner could listen there at any moment, and the run could not.
TEST(PortAllocator, APortThatIsOnlyBoundIsTheLastChoice) {
  const os::testing::PortUser bound(::geteuid());
  ASSERT_NE(bound.port(), 0);
  const auto first = static_cast<std::uint16_t>(bound.port() - 4);
  const auto last = static_cast<std::uint16_t>(bound.port() + 4);
  PortAllocator ports;
  for (int i = 0; i < 20; ++i) EXPECT_NE(ports.find_free({first, last}, JobTable()), bound.port());
  EXPECT_EQ(ports.find_free({bound.port(), bound.port()}, JobTable()), bound.port());
}

TEST(PortAllocator, APortThatIsInUseWithIpv6OnlyIsTaken) {
  const os::Descriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (!socket.ok() || ::bind(socket.get(), generic, size) != 0) GTEST_SKIP() << "no IPv6 here";
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  ASSERT_EQ(::getsockname(socket.get(), generic, &size), 0);
  const std::uint16_t port = ntohs(address.sin6_port);
  EXPECT_EQ(PortAllocator().find_free({port, port}, JobTable()), std::nullopt);
}

TEST(PortAllocator, APortOfAJobOrRunIsTakenUntilItEnds) {
  const std::uint16_t port = unused_port();
  PortAllocator ports;
  JobTable records;
  EXPECT_EQ(ports.find_free({port, port}, records), port);
  records.put(job_with(port, false));
  EXPECT_EQ(ports.find_free({port, port}, records), std::nullopt);
  records.put(job_with(port, true));
  EXPECT_EQ(ports.find_free({port, port}, records), port);
  store::RunRow run;
  run.run = 1;
  run.port = port;
  records.put(run);
  EXPECT_EQ(ports.find_free({port, port}, records), std::nullopt);
}

TEST(PortAllocator, AllocatesDifferentPortsOfTheRange) {
  constexpr PortRange kRange{19'000, 19'999};
  PortAllocator ports;
  std::set<std::uint16_t> allocated;
  for (int i = 0; i < 20; ++i) {
    const auto port = ports.find_free(kRange, JobTable());
    ASSERT_TRUE(port);
    EXPECT_GE(*port, kRange.first);
    EXPECT_LE(*port, kRange.last);
    allocated.insert(*port);
  }
  EXPECT_EQ(allocated.size(), 20U);
}

}  // namespace
}  // namespace tangram::daemon
