// Which ports are given out, with real sockets.
#include "daemon/ports.hpp"

#include <netinet/in.h>
#include <set>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "files/descriptor.hpp"

namespace tangram::daemon {
namespace {

// A port of the kernel's choice, with somebody who listens on it.
class Bound {
 public:
  Bound() {
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
  files::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
};

std::uint16_t unused_port() { return Bound().port(); }

store::JobRow job_with(std::uint16_t port, bool over) {
  store::JobRow row;
  row.id = 1;
  row.port = port;
  row.over = over;
  return row;
}

TEST(Ports, OneThatSomebodyListensOnIsTaken) {
  const Bound taken;
  EXPECT_EQ(Ports().find_free({taken.port(), taken.port()}, Records()), std::nullopt);
}

TEST(Ports, OneOfAJobOrRunIsTakenUntilThatIsOver) {
  const std::uint16_t port = unused_port();
  Ports ports;
  Records records;
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

TEST(Ports, AreOfTheRangeAndNotTheSameAtOnce) {
  constexpr PortRange kRange{19'000, 19'999};
  Ports ports;
  std::set<std::uint16_t> given;
  for (int i = 0; i < 20; ++i) {
    const auto port = ports.find_free(kRange, Records());
    ASSERT_TRUE(port);
    EXPECT_GE(*port, kRange.first);
    EXPECT_LE(*port, kRange.last);
    given.insert(*port);
  }
  EXPECT_EQ(given.size(), 20U);
}

}  // namespace
}  // namespace tangram::daemon
