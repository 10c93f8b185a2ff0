// TCP with TLS: authentication, certificates, and that everything works as on the unix socket.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include "http/client/client.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/keys.hpp"

namespace tangram::http {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::eventually;
using ::testing::HasSubstr;
using testing::kNames;
using ::testing::StartsWith;
using testing::TestAuthority;
using testing::TestDaemon;
using testing::TestKeys;

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

class Tls : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.tcp = "127.0.0.1:0";
    options.certificate = keys_.certificate();
    options.key = keys_.key();
    daemon_ = std::make_unique<TestDaemon>(options);
  }
  [[nodiscard]] ClientOptions with(std::string token) const {
    return {.token = std::move(token), .ca_file = keys_.ca()};
  }
  Client connected(std::string token = "tangram_3_admin") {
    auto client = Client::open(daemon_->url(), with(std::move(token)));
    EXPECT_TRUE(client.has_value()) << client.error().message;
    return std::move(*client);
  }
  void expect_served() {
    const auto reply = connected().request("GET", "/v1/status");
    EXPECT_TRUE(reply.has_value()) << reply.error().message;
  }
  Result<void> reload() { return daemon_->server().reload_keys(keys_.certificate(), keys_.key()); }
  // A TCP connection without TLS.
  [[nodiscard]] int plain() {
    const std::string url = daemon_->url();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const timeval timeout{60, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return fd;
  }
  // Reads until the server closes the connection; false on a timeout.
  static bool is_closed(int fd) {
    char buffer[4096];
    ssize_t count = 0;
    do count = ::recv(fd, buffer, sizeof buffer, 0);
    while (count > 0);
    return count == 0 || errno == ECONNRESET;
  }

  TestKeys keys_;
  std::unique_ptr<TestDaemon> daemon_;
};

const json::value kJob = json::object{{"command", {"sleep", "1"}}, {"profile", "1g.5gb"}};

TEST_F(Tls, ServesClientsWithAToken) {
  start();
  Client client = connected("tangram_2_write");
  const auto made = client.request("POST", "/v1/jobs", kJob);
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->status, 201);
  EXPECT_EQ(daemon_->job(1).view.uid, 1001U);
  EXPECT_EQ(client.request("GET", "/v1/jobs/1")->body.at("state"), "queued");
  auto by_number = Client::open(daemon_->url("127.0.0.1"), with("tangram_1_read"));
  ASSERT_TRUE(by_number.has_value()) << by_number.error().message;
  EXPECT_EQ(by_number->request("GET", "/v1/jobs")->status, 200);
}

TEST_F(Tls, RejectsClientsWithoutAToken) {
  start();
  Client anonymous = connected("");
  EXPECT_EQ(anonymous.request("GET", "/healthz")->status, 200);
  EXPECT_EQ(anonymous.request("GET", "/readyz")->status, 200);
  for (const auto* target : {"/v1/jobs", "/v1/status", "/metrics", "/v1/events", "/nothing"}) {
    const auto reply = anonymous.request("GET", target);
    ASSERT_FALSE(reply.has_value()) << target;
    EXPECT_THAT(reply.error().message, HasSubstr("token required")) << target;
  }
  EXPECT_FALSE(anonymous.request("POST", "/v1/jobs", kJob).has_value());
  EXPECT_THAT(connected("tangram_9_x").request("GET", "/v1/jobs").error().message,
              HasSubstr("not known"));
  EXPECT_THAT(connected("tangram_1_read").request("POST", "/v1/jobs", kJob).error().message,
              HasSubstr("scope read, and this needs scope write"));
  EXPECT_THAT(connected("tangram_2_write").request("POST", "/v1/gpus/0/drain").error().message,
              HasSubstr("scope write, and this needs scope admin"));
  EXPECT_EQ(daemon_->size(), 0U);
}

TEST_F(Tls, ClientsTrustOnlyTheirAuthority) {
  start();
  const TestAuthority other("another authority");
  other.write_own(keys_.folder() / "other.pem");
  const auto open = [&](ClientOptions options, std::string_view host = "localhost") {
    const auto client = Client::open(daemon_->url(host), options);
    return client ? "" : client.error().message;
  };
  EXPECT_THAT(open({.ca_file = keys_.folder() / "other.pem"}), HasSubstr("certificate"));
  EXPECT_THAT(open({}), HasSubstr("certificate"));
  EXPECT_THAT(open({.ca_file = "/no/such/file"}), HasSubstr("/no/such/file"));
  EXPECT_EQ(open({.verify = false}), "");
  keys_.authority().issue(keys_.certificate(), keys_.key(), "DNS:elsewhere");
  daemon_->on_loop([&] { ASSERT_TRUE(reload().has_value()); });
  EXPECT_THAT(open({.ca_file = keys_.ca()}), HasSubstr("mismatch"));
  EXPECT_THAT(Client::open("http://localhost:1").error().message, HasSubstr("https://host:port"));
  EXPECT_THAT(Client::open("https://localhost").error().message, HasSubstr("https://host:port"));
  EXPECT_EQ(Client::open("https://localhost:1").error().code, ErrorCode::kUnavailable);
}

TEST_F(Tls, KeysThatCannotBeUsedAreNamed) {
  start();
  const auto open = [&](const std::string& certificate, const std::string& key,
                        const std::string& tcp = "127.0.0.1:0") {
    boost::asio::io_context loop;
    ServerOptions options;
    options.socket = keys_.folder() / "socket";
    options.tcp = tcp;
    options.certificate = certificate;
    options.key = key;
    const auto server = Server::open(loop, options, {});
    EXPECT_EQ(fs::exists(options.socket), server.has_value());
    return server ? "" : server.error().message;
  };
  EXPECT_EQ(open(keys_.certificate(), keys_.key()), "");
  EXPECT_THAT(open("/no/cert", keys_.key()), HasSubstr("certificate '/no/cert': No such file"));
  EXPECT_THAT(open(keys_.certificate(), "/no/key"), HasSubstr("key '/no/key': No such file"));
  EXPECT_THAT(open("", keys_.key()), HasSubstr("no file is configured"));
  EXPECT_THAT(open(keys_.key(), keys_.key()), HasSubstr("certificate"));
  const fs::path other = keys_.folder() / "other.key";
  keys_.authority().issue(keys_.folder() / "other.pem", other, kNames);
  EXPECT_THAT(open(keys_.certificate(), other), HasSubstr("other.key"));
  EXPECT_THAT(open(keys_.certificate(), keys_.key(), "localhost"),
              HasSubstr("invalid address 'localhost'"));
  const std::string url = daemon_->url("127.0.0.1");
  EXPECT_THAT(open(keys_.certificate(), keys_.key(), url.substr(8)), HasSubstr("cannot listen on"));
  testing::append(keys_.certificate(), "");
  fs::rename(keys_.certificate(), keys_.folder() / "away");
  daemon_->on_loop([&] { EXPECT_FALSE(reload().has_value()); });
  expect_served();  // with the old keys
}

TEST_F(Tls, ConnectionsWithoutTlsAreClosed) {
  start();
  const int http = plain();
  ASSERT_GT(::send(http, kHealth.data(), kHealth.size(), MSG_NOSIGNAL), 0);
  EXPECT_TRUE(is_closed(http));
  ::close(http);
  expect_served();
}

TEST_F(Tls, HalfAHandshakeIsGivenUp) {
  ServerOptions options;
  options.header_timeout = std::chrono::seconds(1);
  options.max_connections_per_user = 20;
  start(options);
  std::vector<int> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(plain());
  ASSERT_GT(::send(silent[0], "\x16\x03\x01", 3, MSG_NOSIGNAL), 0);
  const int one_more = plain();
  EXPECT_TRUE(is_closed(one_more));  // the limit of this address is reached
  ::close(one_more);
  for (const int fd : silent) EXPECT_TRUE(is_closed(fd));
  for (const int fd : silent) ::close(fd);
  EXPECT_TRUE(eventually([&] { return Client::open(daemon_->url(), with("")).has_value(); }));
}

TEST_F(Tls, KeysCanBeReloadedFromOtherFiles) {
  start();
  const fs::path certificate = keys_.folder() / "next.pem";
  const fs::path key = keys_.folder() / "next.key";
  keys_.authority().issue(certificate, key, "DNS:elsewhere");
  const auto change = [&](const fs::path& to) {
    return daemon_->on_loop([&] { return daemon_->server().reload_keys(to, key).has_value(); });
  };
  EXPECT_FALSE(change(keys_.certificate()));  // the key of another certificate
  expect_served();
  EXPECT_TRUE(change(certificate));
  EXPECT_THAT(Client::open(daemon_->url(), with("")).error().message, HasSubstr("mismatch"));
}

TEST_F(Tls, LargeBodiesComeThrough) {
  start();
  Client client = connected();
  json::object job = kJob.as_object();
  json::object environment;
  for (int i = 0; i < 900; ++i) environment[cat("V", i)] = std::string(1'000, 'x');
  job["environment"] = environment;
  for (int i = 0; i < 3; ++i) {
    const auto made = client.request("POST", "/v1/jobs", json::value(job));
    ASSERT_TRUE(made.has_value()) << made.error().message;
  }
  EXPECT_EQ(client.request("GET", "/v1/jobs/3")->body.at("request").at("environment").at("V899"),
            json::value(std::string(1'000, 'x')));
  const auto refused = client.request("POST", "/v1/jobs", json::value(std::string(5 << 20, 'x')));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("body too large"));
  EXPECT_EQ(client.request("GET", "/healthz")->status, 200);
}

TEST_F(Tls, LogsAreFollowedAndLargeOnesRead) {
  start();
  const std::uint64_t id = daemon_->add({});
  const fs::path run = daemon_->add_run(id);
  std::string written(std::size_t{8} << 20U, 'x');
  testing::append(run / "stdout.log", written);
  std::string all;
  std::atomic<std::size_t> seen = 0;
  std::thread follower([&] {
    const auto done = connected().stream("/v1/jobs/1/logs?follow=1", [&](const LogChunk& piece) {
      all += piece.bytes;
      seen = all.size();
      return true;
    });
    EXPECT_TRUE(done.has_value()) << done.error().message;
  });
  EXPECT_TRUE(eventually([&] { return seen == written.size(); }));
  testing::append(run / "stdout.log", "end\n");
  daemon_->finish(id, api::JobState::kCompleted, 0);
  follower.join();
  EXPECT_EQ(all, written + "end\n");
}

TEST_F(Tls, EventsComeThrough) {
  start();
  constexpr std::uint64_t kEvents = 20'000;
  std::thread source([&] {
    for (std::uint64_t i = 0; i < kEvents; i += 50) {
      daemon_->on_loop([&] {
        for (int k = 0; k < 50; ++k) daemon_->events.add("job.running", i);
      });
    }
  });
  std::uint64_t seen = 0;
  const auto done = connected().events("/v1/events?after=0", [&](const ServerSentEvent& piece) {
    EXPECT_EQ(piece.id, seen + 1);
    seen = piece.id;
    return seen < kEvents;
  });
  source.join();
  EXPECT_TRUE(done.has_value());
  EXPECT_EQ(seen, kEvents);
}

TEST_F(Tls, DisconnectingCancelsPendingRequests) {
  start();
  daemon_->add({});
  {
    Client waits = connected();
    Client follows = connected();
    Client listens = connected();
    std::thread one([&] { EXPECT_FALSE(waits.request("GET", "/v1/jobs/1/wait").has_value()); });
    std::thread two([&] {
      EXPECT_FALSE(
          follows.stream("/v1/jobs/1/logs?follow=1", [](const LogChunk&) { return true; }));
    });
    std::thread three([&] {
      EXPECT_FALSE(listens.events("/v1/events", [](const ServerSentEvent&) { return true; }));
    });
    EXPECT_TRUE(eventually([&] {
      return daemon_->waiting(1) == 3 &&
             daemon_->on_loop([&] { return daemon_->events.listeners() == 1; });
    }));
    waits.abort();
    follows.abort();
    listens.abort();
    one.join();
    two.join();
    three.join();
  }
  EXPECT_TRUE(eventually([&] {
    return daemon_->waiting(1) == 0 &&
           daemon_->on_loop([&] { return daemon_->events.listeners() == 0; });
  }));
}

TEST_F(Tls, ClosingTheServerEndsPendingRequests) {
  start();
  daemon_->add({});
  Client client = connected();
  std::thread closer([&] {
    EXPECT_TRUE(eventually([&] { return daemon_->waiting(1) == 1; }));
    daemon_->close();
  });
  const auto reply = client.request("GET", "/v1/jobs/1/wait");
  closer.join();
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(daemon_->waiting(1), 0U);
}

// Half-close: the client sends a request, shuts down writing and reads the response.
TEST_F(Tls, AHalfClosedClientIsAnswered) {
  start();
  const int fd = plain();
  const std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context(
      ::SSL_CTX_new(::TLS_client_method()), ::SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&::SSL_free)> ssl(::SSL_new(context.get()), ::SSL_free);
  ::SSL_set_fd(ssl.get(), fd);
  ASSERT_EQ(::SSL_connect(ssl.get()), 1);
  ASSERT_GT(::SSL_write(ssl.get(), kHealth.data(), static_cast<int>(kHealth.size())), 0);
  ASSERT_EQ(::SSL_shutdown(ssl.get()), 0);
  ::shutdown(fd, SHUT_WR);
  std::string received;
  char buffer[4096];
  int count = 0;
  while ((count = ::SSL_read(ssl.get(), buffer, sizeof buffer)) > 0) {
    received.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(fd);
  EXPECT_THAT(received, StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace tangram::http
