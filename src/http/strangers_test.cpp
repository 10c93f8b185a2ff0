// Who may have how many connections, and for how long: callers over TCP who have shown nothing yet,
// the users of the machine, and those who must always get in.
#include <arpa/inet.h>
#include <future>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "http/client.hpp"
#include "http/pace.hpp"
#include "http/raw_socket.hpp"
#include "http/tcp_address.hpp"
#include "http/test_daemon.hpp"
#include "http/test_keys.hpp"

namespace tangram::http {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Raw;
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

// A TCP connection, with TLS once greet() was called.
class Far {
 public:
  explicit Far(TestDaemon& daemon) {
    const std::uint16_t port = daemon.on_loop([&] { return daemon.server().tcp_port(); });
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    CHECK(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const timeval patience{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::SSL_set_fd(ssl_.get(), fd_);
  }
  ~Far() {
    ssl_.reset();
    ::close(fd_);
  }
  Far(const Far&) = delete;
  Far& operator=(const Far&) = delete;
  Far(Far&&) = delete;
  Far& operator=(Far&&) = delete;

  // Without a word from either side.
  [[nodiscard]] bool is_closed() const {
    char room = 0;
    const ssize_t count = ::recv(fd_, &room, 1, 0);
    return count == 0 || (count < 0 && errno == ECONNRESET);
  }
  [[nodiscard]] bool greet() const { return ::SSL_connect(ssl_.get()) == 1; }
  // If the other side has closed, nothing will be heard.
  void say(std::string_view text) const {
    static_cast<void>(::SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())));
  }
  // Until the text has it, or the other side has closed.
  [[nodiscard]] std::string hear(std::string_view until = "") const {
    std::string heard;
    char room[4096];
    while (until.empty() || heard.find(until) == std::string::npos) {
      const int count = ::SSL_read(ssl_.get(), room, sizeof room);
      if (count <= 0) break;
      heard.append(room, static_cast<std::size_t>(count));
    }
    return heard;
  }

 private:
  int fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{::SSL_CTX_new(::TLS_client_method()),
                                                               ::SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&::SSL_free)> ssl_{::SSL_new(context_.get()), ::SSL_free};
};

// Both do nothing; the guest for longer.
TEST(Strangers, MayNotIdleAsGuestsMay) {
  const TestKeys keys;
  ServerOptions options;
  options.stranger_time = std::chrono::seconds(1);
  TestDaemon daemon(with_tcp(keys, options));
  const Far guest(daemon);
  ASSERT_TRUE(guest.greet());
  guest.say(kStatus);
  EXPECT_THAT(guest.hear("}\n"), StartsWith("HTTP/1.1 200"));
  const Far stranger(daemon);
  ASSERT_TRUE(stranger.greet());
  stranger.say(kHealth);
  EXPECT_THAT(stranger.hear(), StartsWith("HTTP/1.1 200"));
  guest.say(kStatus);
  EXPECT_THAT(guest.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

// However busy they are. Guests may.
TEST(Strangers, MayNotStay) {
  const TestKeys keys;
  ServerOptions options;
  options.stranger_requests = 3;
  TestDaemon often(with_tcp(keys, options));
  options.stranger_requests = 1'000'000;
  options.stranger_stay = std::chrono::seconds(1);
  TestDaemon long_enough(with_tcp(keys, options));
  for (TestDaemon* daemon : {&often, &long_enough}) {
    const Far guest(*daemon);
    const Far stranger(*daemon);
    ASSERT_TRUE(guest.greet() && stranger.greet());
    guest.say(kStatus);
    EXPECT_THAT(guest.hear("}\n"), StartsWith("HTTP/1.1 200"));
    std::string last = "HTTP/1.1 200";
    int answers = 0;
    // Between two requests the end of his time is no more than the end.
    while (!last.empty() && last.find("Connection: close") == std::string::npos) {
      ASSERT_THAT(last, StartsWith("HTTP/1.1 200")) << answers;
      stranger.say(kHealth);
      last = stranger.hear("}\n");
      ++answers;
    }
    EXPECT_EQ(stranger.hear(), "");
    EXPECT_TRUE(daemon == &long_enough || answers == 3) << answers;
    for (int i = 0; i < 5; ++i) guest.say(kStatus);
    EXPECT_THAT(guest.hear("}\n"), AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("close"))));
  }
}

// Who may not ask is told so before he sends a body, and is not asked for it.
TEST(Strangers, AreRefusedBeforeTheirBodies) {
  const TestKeys keys;
  TestDaemon daemon(with_tcp(keys, {}));
  for (const char* token :
       {"", "Authorization: Bearer wrong\r\n", "Authorization: Bearer tangram_1_read\r\n"}) {
    const Far stranger(daemon);
    ASSERT_TRUE(stranger.greet());
    stranger.say(cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
                     token, "Content-Length: 4000000\r\nExpect: 100-continue\r\n\r\n"));
    const std::string heard = stranger.hear();
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 401") || heard.starts_with("HTTP/1.1 403")) << heard;
  }
  EXPECT_EQ(daemon.on_loop([&] { return daemon.audit.size(); }), 3U);
  const Far stranger(daemon);
  ASSERT_TRUE(stranger.greet());
  stranger.say("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  EXPECT_THAT(stranger.hear(), StartsWith("HTTP/1.1 413"));
}

// One whom the directory is still asked about waits; the others do not.
TEST(Strangers, AreIntroducedBeforeTheyAreServed) {
  TestDaemon daemon;
  daemon.on_loop([&] { daemon.unknown = {1000}; });
  const Raw newcomer(daemon.socket());
  const std::string asks = "GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ";
  newcomer.say(asks + "tangram_1_read\r\n\r\n");
  {
    const Raw gone(daemon.socket());  // he does not wait for it
    gone.say(asks + "tangram_1_read\r\n\r\n");
  }
  const Raw known(daemon.socket());
  known.say(asks + "tangram_2_write\r\n\r\n");
  EXPECT_THAT(known.hear("}\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(newcomer.hear("}\n", 50), "<silence>");
  daemon.on_loop([&] { daemon.unknown = {}; });
  EXPECT_THAT(newcomer.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(Strangers, DoNotTakeThePlacesOfUsers) {
  const TestKeys keys;
  ServerOptions options;
  options.most_connections = 2;
  options.reserved_connections = 0;
  options.most_strangers = 2;
  TestDaemon daemon(with_tcp(keys, options));
  {
    const Far one(daemon);
    const Far two(daemon);
    ASSERT_TRUE(one.greet() && two.greet());
    EXPECT_TRUE(Far(daemon).is_closed());
    const Raw near(daemon.socket());
    const Raw nearer(daemon.socket());
    near.say(kHealth);
    nearer.say(kHealth);
    EXPECT_THAT(near.hear("}\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(nearer.hear("}\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(Raw(daemon.socket()).hear(), HasSubstr("its 2 connections in use"));
  }
  EXPECT_TRUE(eventually([&] {
    return Client::open(daemon.url(), {.ca_file = keys.ca()}).has_value();
  })) << "places were not given back";
}

// Whoever shows a token leaves the strangers' places to others; for guests there are only so many.
TEST(Strangers, BecomeGuestsByTheirToken) {
  const TestKeys keys;
  ServerOptions options;
  options.most_strangers = 1;
  options.most_tcp_connections = 2;
  TestDaemon daemon(with_tcp(keys, options));
  const Far one(daemon);
  ASSERT_TRUE(one.greet());
  one.say(kStatus);
  EXPECT_THAT(one.hear("}\n"), StartsWith("HTTP/1.1 200"));
  {
    const Far two(daemon);
    ASSERT_TRUE(two.greet());
    two.say(kStatus);
    EXPECT_THAT(two.hear("}\n"), StartsWith("HTTP/1.1 200"));
    two.say(kStatus);  // once is enough
    EXPECT_THAT(two.hear("}\n"), StartsWith("HTTP/1.1 200"));
    const Far three(daemon);
    ASSERT_TRUE(three.greet());
    three.say(kStatus);
    EXPECT_THAT(three.hear(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: 1")));
  }
  EXPECT_TRUE(eventually([&] {
    const Far again(daemon);
    if (!again.greet()) return false;
    again.say(kStatus);
    return again.hear("}\n").starts_with("HTTP/1.1 200");
  })) << "places were not given back";
  const Far stranger(daemon);
  ASSERT_TRUE(stranger.greet());  // takes the one place there is for his like
  EXPECT_TRUE(Far(daemon).is_closed());
  one.say(kStatus);
  EXPECT_THAT(one.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(Strangers, MayComeOnlySoOften) {
  Pace pace(3, 2);
  const Pace::Time now = std::chrono::steady_clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(pace.take("a", now));
  EXPECT_FALSE(pace.take("a", now));
  EXPECT_TRUE(pace.take("b", now));
  EXPECT_FALSE(pace.take("a", now + std::chrono::milliseconds(400)));
  EXPECT_TRUE(pace.take("a", now + std::chrono::milliseconds(500)));
  EXPECT_FALSE(pace.take("a", now + std::chrono::milliseconds(500)));
  const TestKeys keys;
  ServerOptions options;
  options.most_arrivals = 2;
  options.arrivals_per_second = 0.001;
  TestDaemon daemon(with_tcp(keys, options));
  EXPECT_TRUE(Far(daemon).greet());
  EXPECT_TRUE(Far(daemon).greet());
  EXPECT_TRUE(Far(daemon).is_closed());
  const auto client = Client::open(daemon.url(), {.ca_file = keys.ca()});
  ASSERT_FALSE(client.has_value());
  EXPECT_THAT(client.error().message, HasSubstr("too many come at once: try again"));
}

// Handshakes are made in a thread of their own: while the daemon's loop is busy they go on.
TEST(Strangers, AreGreetedWithoutTheLoop) {
  const TestKeys keys;
  TestDaemon daemon(with_tcp(keys, {}));
  const Far early(daemon);
  const Far second(daemon);
  ASSERT_TRUE(second.greet());  // so that both were let in
  std::promise<void> go_on;
  std::thread busy([&] { daemon.on_loop([&] { go_on.get_future().wait(); }); });
  EXPECT_TRUE(early.greet());
  go_on.set_value();
  busy.join();
  early.say(kStatus);
  EXPECT_THAT(early.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

// Connected as somebody else: the kernel notes who a thread is at that moment.
Raw connected_as(std::uint32_t uid, const std::string& socket) {
  CHECK(::syscall(SYS_setresuid, -1, uid, -1) == 0);
  Raw raw(socket);
  CHECK(::syscall(SYS_setresuid, -1, 0, -1) == 0);
  return raw;
}

TEST(Strangers, AMasterGetsInWhenItIsFull) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  ServerOptions options;
  options.most_connections = 2;
  options.reserved_connections = 1;
  const TestDaemon daemon(options);
  std::filesystem::permissions(daemon.folder(), std::filesystem::perms(0711));
  std::vector<Raw> crowd;
  for (int i = 0; i < 2; ++i) {
    crowd.push_back(connected_as(65'534, daemon.socket()));
    crowd.back().say(kHealth);
    EXPECT_THAT(crowd.back().hear("}\n"), StartsWith("HTTP/1.1 200"));
  }
  EXPECT_THAT(connected_as(65'534, daemon.socket()).hear(), StartsWith("HTTP/1.1 503"));
  const Raw master(daemon.socket());
  master.say(kHealth);
  EXPECT_THAT(master.hear("}\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Raw(daemon.socket()).hear(), StartsWith("HTTP/1.1 503"));
}

TEST(Networks, AreAnAddressOrHalfOfOne) {
  EXPECT_EQ(network_of("192.0.2.7:51234"), "192.0.2.7");
  EXPECT_EQ(network_of("[::ffff:192.0.2.7]:51234"), "192.0.2.7");
  EXPECT_EQ(network_of("[2001:db8:1:2:3:4:5:6]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("[2001:db8:1:2::9]:1"), "2001:db8:1:2::/64");
  EXPECT_EQ(network_of("[2001:db8:1:3::9]:1"), "2001:db8:1:3::/64");
  EXPECT_EQ(network_of("[fe80::1%eth0]:1"), "fe80::/64%eth0");
  EXPECT_EQ(network_of("unknown:0"), "unknown");
}

}  // namespace
}  // namespace tangram::http
