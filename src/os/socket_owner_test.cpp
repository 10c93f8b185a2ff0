// Whose sockets are found, with real sockets of this user and of another one, from each source.
#include "os/socket_owner.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/os/folder.hpp"
#include "tests/support/os/port_user.hpp"

namespace tangram::os {
namespace {

using ::testing::HasSubstr;
using testing::PortUser;

constexpr uid_t kNobody = 65'534;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Descriptor connect_to(std::uint16_t port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  CHECK(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

// The parameter: which source is asked. Both see the same.
class SocketOwnerTest : public ::testing::TestWithParam<bool> {
 protected:
  SocketOwner owner_{{.sock_diag = GetParam(), .proc_net = GetParam() ? "/none" : "/proc/net"}};

  void expect_user(uid_t user) {
    PortUser server(user);
    ASSERT_NE(server.port(), 0);
    EXPECT_EQ(owner_.of_listener(server.port()), std::nullopt);  // only bound
    ASSERT_TRUE(server.listen());
    EXPECT_EQ(owner_.of_listener(server.port()), user);
    const Descriptor client = connect_to(server.port());
    EXPECT_EQ(owner_.of_peer(client.get()), user) << "in the queue";
    server.accept();
    EXPECT_EQ(server.report().connections, 1U);
    EXPECT_EQ(owner_.of_peer(client.get()), user) << "accepted";
  }
};

INSTANTIATE_TEST_SUITE_P(Sources, SocketOwnerTest, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "SockDiag" : "Proc"; });

TEST_P(SocketOwnerTest, OfThisUser) { expect_user(::geteuid()); }

TEST_P(SocketOwnerTest, OfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  expect_user(kNobody);
}

// The other user accepted the connection, closed the listening socket, and this user listens there
// now: the connection is the other user's still.
TEST_P(SocketOwnerTest, OfAConnectionWhoseListenerWasReplaced) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  PortUser first(kNobody);
  ASSERT_TRUE(first.listen());
  const Descriptor client = connect_to(first.port());
  first.accept();
  ASSERT_EQ(first.report().connections, 1U);
  first.close();
  PortUser second(::geteuid(), first.port());
  ASSERT_EQ(second.port(), first.port());
  ASSERT_TRUE(second.listen());
  EXPECT_EQ(owner_.of_listener(first.port()), ::geteuid());
  EXPECT_EQ(owner_.of_peer(client.get()), kNobody);
}

// The kernel accepts connections for some kinds of sockets itself; those appear as root's.
TEST_P(SocketOwnerTest, ARootsConnectionNeedsARootsListener) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  PortUser first(0);
  ASSERT_TRUE(first.listen());
  const Descriptor client = connect_to(first.port());
  first.accept();
  ASSERT_EQ(first.report().connections, 1U);
  first.close();
  EXPECT_FALSE(owner_.of_peer(client.get()));
  PortUser second(kNobody, first.port());
  ASSERT_TRUE(second.listen());
  EXPECT_FALSE(owner_.of_peer(client.get()));
}

TEST_P(SocketOwnerTest, OfAnIpv6SocketThatAcceptsIpv4) {
  const Descriptor server(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  if (!server.ok() || ::bind(server.get(), generic, size) != 0) GTEST_SKIP() << "no IPv6 here";
  ASSERT_EQ(::listen(server.get(), 1), 0);
  ASSERT_EQ(::getsockname(server.get(), generic, &size), 0);
  const std::uint16_t port = ntohs(address.sin6_port);
  EXPECT_EQ(owner_.of_listener(port), ::geteuid());
  const Descriptor client = connect_to(port);
  EXPECT_EQ(owner_.of_peer(client.get()), ::geteuid());
  const Descriptor accepted(::accept4(server.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_EQ(owner_.of_peer(client.get()), ::geteuid());
}

TEST_P(SocketOwnerTest, AClosedConnectionHasNone) {
  PortUser server(::geteuid());
  ASSERT_TRUE(server.listen());
  const Descriptor client = connect_to(server.port());
  server.close();  // resets what is in its queue
  EXPECT_FALSE(owner_.of_peer(client.get()));
  const Descriptor unconnected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_FALSE(owner_.of_peer(unconnected.get()));
  EXPECT_FALSE(owner_.of_peer(-1));
}

// A port of the ephemeral range may get a connection to itself if nobody listens.
TEST_P(SocketOwnerTest, AConnectionToItselfHasNone) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(socket.get(), generic, size), 0);
  ASSERT_EQ(::getsockname(socket.get(), generic, &size), 0);
  ASSERT_EQ(::connect(socket.get(), generic, size), 0);
  EXPECT_FALSE(owner_.of_peer(socket.get()));
}

TEST(SocketOwner, WithoutAnySourceNothingIsKnown) {
  SocketOwner owner({.sock_diag = false, .proc_net = "/none"});
  PortUser server(::geteuid());
  ASSERT_TRUE(server.listen());
  const Descriptor client = connect_to(server.port());
  const auto peer = owner.of_peer(client.get());
  ASSERT_FALSE(peer);
  EXPECT_THAT(peer.error().message, HasSubstr("cannot read '/none/tcp'"));
  EXPECT_FALSE(owner.of_listener(server.port()));
}

TEST(SocketOwner, ListenersOfSeveralUsersAreAmbiguous) {
  const testing::Folder folder;
  const std::string start = " 00000000:0000 0A 00000000:00000000 00:00000000 00000000 ";
  folder.write("tcp",
               "head\n"
               "   0: 0100007F:4E20" +
                   start + " 1000 0 77 1\n" + "   1: 00000000:4E20" + start +
                   " 1001 0 78 1\n"
                   "damaged line\n"
                   "   2: 0100007F:4E21" +
                   start + " 1001 0 79 1\n");
  SocketOwner owner({.sock_diag = false, .proc_net = folder.at("")});
  EXPECT_FALSE(owner.of_listener(20'000));
  EXPECT_EQ(owner.of_listener(20'001), 1001U);
  EXPECT_EQ(owner.of_listener(20'002), std::nullopt);
}

}  // namespace
}  // namespace tangram::os
