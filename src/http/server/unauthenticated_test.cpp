// Limits of connections, in number and time: unauthenticated TCP clients, local users, and the
// connections reserved for root. The rate limit of new connections.
#include <arpa/inet.h>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "http/client/client.hpp"
#include "os/tcp_address.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/keys.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;
using testing::TestKeys;

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
constexpr std::string_view kStatus =
    "GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tangram_1_read\r\n\r\n";

ServerOptions with_tcp(const TestKeys& keys, ServerOptions options) {
  options.tcp = "127.0.0.1:0";
  options.certificate = keys.certificate();
  options.key = keys.key();
  return options;
}

// A TCP connection, with TLS after handshake().
class TlsSocket {
 public:
  explicit TlsSocket(TestDaemon& daemon) {
    const std::uint16_t port = daemon.on_loop([&] { return daemon.server().tcp_port(); });
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    CHECK(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const timeval timeout{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    ::SSL_set_fd(ssl_.get(), fd_);
  }
  ~TlsSocket() {
    ssl_.reset();
    ::close(fd_);
  }
  TlsSocket(const TlsSocket&) = delete;
  TlsSocket& operator=(const TlsSocket&) = delete;
  TlsSocket(TlsSocket&&) = delete;
  TlsSocket& operator=(TlsSocket&&) = delete;

  // Waits until the server closes the connection without sending anything.
  [[nodiscard]] bool is_closed() const {
    char buffer = 0;
    const ssize_t count = ::recv(fd_, &buffer, 1, 0);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }
  [[nodiscard]] bool handshake() const { return ::SSL_connect(ssl_.get()) == 1; }
  // Does nothing if the other side has closed.
  void send(std::string_view text) const {
    static_cast<void>(::SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())));
  }
  // Receives until the text contains `until` or the other side has closed.
  [[nodiscard]] std::string receive(std::string_view until = "") const {
    std::string received;
    char buffer[4096];
    while (until.empty() || received.find(until) == std::string::npos) {
      const int count = ::SSL_read(ssl_.get(), buffer, sizeof buffer);
      if (count <= 0) break;
      received.append(buffer, static_cast<std::size_t>(count));
    }
    return received;
  }

 private:
  int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{::SSL_CTX_new(::TLS_client_method()),
                                                               ::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_{::SSL_new(context_.get()), ::SSL_free};
};

// Idle connections: those of authenticated clients are kept longer (keep-alive).
TEST(Unauthenticated, ClientsHaveAShorterIdleTime) {
  const TestKeys keys;
  ServerOptions options;
  options.unauthenticated_idle_timeout = std::chrono::seconds(1);
  TestDaemon daemon(with_tcp(keys, options));
  const TlsSocket authenticated(daemon);
  ASSERT_TRUE(authenticated.handshake());
  authenticated.send(kStatus);
  EXPECT_THAT(authenticated.receive("}\n"), StartsWith("HTTP/1.1 200"));
  const TlsSocket unauthenticated(daemon);
  ASSERT_TRUE(unauthenticated.handshake());
  unauthenticated.send(kHealth);
  EXPECT_THAT(unauthenticated.receive(), StartsWith("HTTP/1.1 200"));
  authenticated.send(kStatus);
  EXPECT_THAT(authenticated.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

// Even if they are active. Authenticated clients may stay.
TEST(Unauthenticated, ConnectionsHaveALimitedLifetime) {
  const TestKeys keys;
  ServerOptions options;
  options.unauthenticated_requests = 3;
  TestDaemon often(with_tcp(keys, options));
  options.unauthenticated_requests = 1'000'000;
  options.unauthenticated_lifetime = std::chrono::seconds(1);
  TestDaemon long_enough(with_tcp(keys, options));
  for (TestDaemon* daemon : {&often, &long_enough}) {
    const TlsSocket authenticated(*daemon);
    const TlsSocket unauthenticated(*daemon);
    ASSERT_TRUE(authenticated.handshake() && unauthenticated.handshake());
    authenticated.send(kStatus);
    EXPECT_THAT(authenticated.receive("}\n"), StartsWith("HTTP/1.1 200"));
    std::string last = "HTTP/1.1 200";
    int answers = 0;
    // Between two requests the connection is closed without a response.
    while (!last.empty() && last.find("Connection: close") == std::string::npos) {
      ASSERT_THAT(last, StartsWith("HTTP/1.1 200")) << answers;
      unauthenticated.send(kHealth);
      last = unauthenticated.receive("}\n");
      ++answers;
    }
    EXPECT_EQ(unauthenticated.receive(), "");
    EXPECT_TRUE(daemon == &long_enough || answers == 3) << answers;
    for (int i = 0; i < 5; ++i) authenticated.send(kStatus);
    EXPECT_THAT(authenticated.receive("}\n"),
                AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("close"))));
  }
}

// Unauthorized requests are rejected before their body is read, and without "100 Continue".
TEST(Unauthenticated, RequestsAreRejectedBeforeTheirBody) {
  const TestKeys keys;
  TestDaemon daemon(with_tcp(keys, {}));
  for (const char* token :
       {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer tangram_1_read\r\n"}) {
    const TlsSocket unauthenticated(daemon);
    ASSERT_TRUE(unauthenticated.handshake());
    unauthenticated.send(
        cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n", token,
            "Content-Length: 4000000\r\nExpect: 100-continue\r\n\r\n"));
    const std::string received = unauthenticated.receive();
    EXPECT_TRUE(received.starts_with("HTTP/1.1 401") || received.starts_with("HTTP/1.1 403"))
        << received;
  }
  EXPECT_EQ(daemon.on_loop([&] { return daemon.audit.size(); }), 3U);
  const TlsSocket unauthenticated(daemon);
  ASSERT_TRUE(unauthenticated.handshake());
  unauthenticated.send("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  EXPECT_THAT(unauthenticated.receive(), StartsWith("HTTP/1.1 413"));
}

// A request waits for the lookup of its user; other requests do not.
TEST(IdentityLookup, DelaysOnlyTheRequestsOfThatUser) {
  TestDaemon daemon;
  daemon.on_loop([&] { daemon.unresolved_uids = {1000}; });
  const RawSocket pending(daemon.socket());
  const std::string request = "GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ";
  pending.send(request + "tangram_1_read\r\n\r\n");
  {
    const RawSocket gone(daemon.socket());  // disconnects before the lookup has finished
    gone.send(request + "tangram_1_read\r\n\r\n");
  }
  const RawSocket known(daemon.socket());
  known.send(request + "tangram_2_write\r\n\r\n");
  EXPECT_THAT(known.receive("}\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(pending.receive("}\n", 50), "<timeout>");
  daemon.on_loop([&] { daemon.unresolved_uids = {}; });
  EXPECT_THAT(pending.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(Unauthenticated, ConnectionsDoNotUseUpTheQuotaOfUsers) {
  const TestKeys keys;
  ServerOptions options;
  options.max_connections = 2;
  options.reserved_connections = 0;
  options.max_unauthenticated = 2;
  TestDaemon daemon(with_tcp(keys, options));
  {
    const TlsSocket one(daemon);
    const TlsSocket two(daemon);
    ASSERT_TRUE(one.handshake() && two.handshake());
    EXPECT_TRUE(TlsSocket(daemon).is_closed());
    const RawSocket local1(daemon.socket());
    const RawSocket local2(daemon.socket());
    local1.send(kHealth);
    local2.send(kHealth);
    EXPECT_THAT(local1.receive("}\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(local2.receive("}\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(RawSocket(daemon.socket()).receive(),
                HasSubstr("connection limit reached (2 in use)"));
  }
  EXPECT_TRUE(eventually([&] {
    return Client::open(daemon.url(), {.ca_file = keys.ca()}).has_value();
  })) << "connections were not released from the quota";
}

// A valid token moves the connection to the quota of authenticated clients, which is limited, too.
TEST(Unauthenticated, ConnectionsArePromotedByAToken) {
  const TestKeys keys;
  ServerOptions options;
  options.max_unauthenticated = 1;
  options.max_tcp_connections = 2;
  TestDaemon daemon(with_tcp(keys, options));
  const TlsSocket one(daemon);
  ASSERT_TRUE(one.handshake());
  one.send(kStatus);
  EXPECT_THAT(one.receive("}\n"), StartsWith("HTTP/1.1 200"));
  {
    const TlsSocket two(daemon);
    ASSERT_TRUE(two.handshake());
    two.send(kStatus);
    EXPECT_THAT(two.receive("}\n"), StartsWith("HTTP/1.1 200"));
    two.send(kStatus);  // promoted once only
    EXPECT_THAT(two.receive("}\n"), StartsWith("HTTP/1.1 200"));
    const TlsSocket three(daemon);
    ASSERT_TRUE(three.handshake());
    three.send(kStatus);
    EXPECT_THAT(three.receive(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
  }
  EXPECT_TRUE(eventually([&] {
    const TlsSocket again(daemon);
    if (!again.handshake()) return false;
    again.send(kStatus);
    return again.receive("}\n").starts_with("HTTP/1.1 200");
  })) << "connections were not released from the quota";
  const TlsSocket unauthenticated(daemon);
  ASSERT_TRUE(unauthenticated.handshake());  // uses up the quota of unauthenticated ones
  EXPECT_TRUE(TlsSocket(daemon).is_closed());
  one.send(kStatus);
  EXPECT_THAT(one.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(Unauthenticated, NewConnectionsAreRateLimited) {
  const TestKeys keys;
  ServerOptions options;
  options.connection_burst = 2;
  options.connections_per_second = 0.001;
  TestDaemon daemon(with_tcp(keys, options));
  EXPECT_TRUE(TlsSocket(daemon).handshake());
  EXPECT_TRUE(TlsSocket(daemon).handshake());
  EXPECT_TRUE(TlsSocket(daemon).is_closed());
  const auto client = Client::open(daemon.url(), {.ca_file = keys.ca()});
  ASSERT_FALSE(client.has_value());
  EXPECT_THAT(client.error().message, HasSubstr("limit of new connections was reached: try again"));
}

// TLS handshakes run in the TLS thread, also while the event loop is busy.
TEST(Unauthenticated, HandshakesDoNotNeedTheLoop) {
  const TestKeys keys;
  TestDaemon daemon(with_tcp(keys, {}));
  const TlsSocket early(daemon);
  const TlsSocket second(daemon);
  ASSERT_TRUE(second.handshake());  // so that both have been accepted
  std::promise<void> go_on;
  std::thread busy([&] { daemon.on_loop([&] { go_on.get_future().wait(); }); });
  EXPECT_TRUE(early.handshake());
  go_on.set_value();
  busy.join();
  early.send(kStatus);
  EXPECT_THAT(early.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

// Connects as another user: the kernel records the effective uid of the connecting thread.
RawSocket connected_as(std::uint32_t uid, const std::string& socket) {
  CHECK(::syscall(SYS_setresuid, -1, uid, -1) == 0);
  RawSocket raw(socket);
  CHECK(::syscall(SYS_setresuid, -1, 0, -1) == 0);
  return raw;
}

TEST(Unauthenticated, ReservedConnectionsAreForRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to change the uid";
  ServerOptions options;
  options.max_connections = 2;
  options.reserved_connections = 1;
  const TestDaemon daemon(options);
  std::filesystem::permissions(daemon.folder(), std::filesystem::perms(0711));
  std::vector<RawSocket> others;
  for (int i = 0; i < 2; ++i) {
    others.push_back(connected_as(65'534, daemon.socket()));
    others.back().send(kHealth);
    EXPECT_THAT(others.back().receive("}\n"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_THAT(connected_as(65'534, daemon.socket()).receive(), StartsWith("HTTP/1.1 503"));
  const RawSocket root(daemon.socket());
  root.send(kHealth);
  EXPECT_THAT(root.receive("}\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(RawSocket(daemon.socket()).receive(), StartsWith("HTTP/1.1 503"));
}

TEST(Networks, AreAnIpv4AddressOrAnIpv6Prefix) {
  EXPECT_EQ(os::network_of("192.0.2.7:51234"), "192.0.2.7");
  EXPECT_EQ(os::network_of("[::ffff:192.0.2.7]:51234"), "192.0.2.7");
  EXPECT_EQ(os::network_of("[2001:db8:1:2:3:4:5:6]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(os::network_of("[2001:db8:1:2::9]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(os::network_of("[2001:db8:1:3::9]:1"), "2001:db8:1:3::/64");
  EXPECT_EQ(os::network_of("[fe80::1%eth0]:1"), "fe80::/64%eth0");
  EXPECT_EQ(os::network_of("unknown:0"), "unknown");
}

}  // namespace
}  // namespace tangram::http
