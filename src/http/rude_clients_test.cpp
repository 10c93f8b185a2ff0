// Clients that are slow, silent, rude or gone: raw bytes on the socket.
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.hpp"
#include "http/test_daemon.hpp"

namespace tangram::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::TestDaemon;

// A socket without manners of its own.
class Raw {
 public:
  explicit Raw(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    CHECK(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  ~Raw() { leave(); }
  Raw(Raw&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  Raw& operator=(Raw&&) = delete;

  void leave() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void finish_writing() const { ::shutdown(fd_, SHUT_WR); }
  void say(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // Until there is something to read; it is left there.
  void await() const {
    pollfd one{fd_, POLLIN, 0};
    CHECK(::poll(&one, 1, 60'000) == 1);
  }
  // Until the other side closes, or the text has `until`, or nothing comes for long.
  [[nodiscard]] std::string hear(std::string_view until = "", int patience_ms = 5'000) const {
    std::string text;
    char room[65536];
    while (until.empty() || text.find(until) == std::string::npos) {
      pollfd one{fd_, POLLIN, 0};
      if (::poll(&one, 1, patience_ms) <= 0) return text + "<silence>";
      const ssize_t count = ::recv(fd_, room, sizeof room, 0);
      if (count <= 0) break;
      text.append(room, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

void expect_served(const TestDaemon& daemon) {
  auto client = Client::open(daemon.socket());
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->request("GET", "/healthz")->status, 200);
}

TEST(RudeClients, HalfARequestIsGivenUp) {
  ServerOptions options;
  options.header_time = std::chrono::seconds(1);
  const TestDaemon daemon(options);
  const Raw raw(daemon.socket());
  raw.say("GET /healthz HT");
  EXPECT_EQ(raw.hear(), "");  // closed
  const Raw slow_body(daemon.socket());
  slow_body.say(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{");
  EXPECT_EQ(slow_body.hear(), "");
  expect_served(daemon);
}

TEST(RudeClients, IdleConnectionsAreClosed) {
  ServerOptions options;
  options.idle_time = std::chrono::seconds(1);
  const TestDaemon daemon(options);
  const Raw silent(daemon.socket());
  EXPECT_EQ(silent.hear(), "");
  const Raw after(daemon.socket());
  after.say(kHealth);
  EXPECT_THAT(after.hear(), StartsWith("HTTP/1.1 200 OK"));
}

TEST(RudeClients, TooMuchIsRefused) {
  const TestDaemon daemon;
  const Raw header(daemon.socket());
  header.say("GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'x'));
  EXPECT_THAT(header.hear(), StartsWith("HTTP/1.1 431"));
  const Raw body(daemon.socket());
  body.say(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 99999999\r\n\r\n");
  EXPECT_THAT(body.hear(), StartsWith("HTTP/1.1 413"));
  const Raw chunks(daemon.socket());
  chunks.say(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "100000\r\n" + std::string(0x100000, ' ') + "\r\n";
  for (int i = 0; i < 6; ++i) chunks.say(chunk);
  EXPECT_THAT(chunks.hear(), StartsWith("HTTP/1.1 413"));
  expect_served(daemon);
}

TEST(RudeClients, WhatIsNotHttpIsRefused) {
  const TestDaemon daemon;
  for (const std::string_view text :
       {"hello\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n",
        "GET healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/jobs?name=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
        "chunked\r\n\r\n"}) {
    const Raw raw(daemon.socket());
    raw.say(text);
    EXPECT_THAT(raw.hear("}\n"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("problem+json")))
        << text;
  }
  expect_served(daemon);
}

TEST(RudeClients, PipelinedRequestsAreAnsweredInOrder) {
  const TestDaemon daemon;
  const Raw raw(daemon.socket());
  std::string all;
  for (int i = 0; i < 1'000; ++i) {
    all += i % 2 == 0 ? kHealth : "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  all += "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::thread writer([&] { raw.say(all); });
  const std::string heard = raw.hear();
  writer.join();
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = heard.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
    ++answers;
  EXPECT_EQ(answers, 1'000U);
  EXPECT_THAT(heard, HasSubstr("HTTP/1.1 404"));
}

TEST(RudeClients, ExpectationsAreMet) {
  const TestDaemon daemon;
  const Raw raw(daemon.socket());
  raw.say(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: 41\r\n\r\n");
  EXPECT_THAT(raw.hear("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  raw.say(R"({"command": ["a"], "profile": "1g.5gb"}  )");
  EXPECT_THAT(raw.hear("}\n"),
              AllOf(StartsWith("HTTP/1.1 201"), HasSubstr("Location: /v1/jobs/1")));
}

TEST(RudeClients, WhoOnlyFinishedWritingIsAnswered) {
  TestDaemon daemon;
  daemon.add({});
  const Raw raw(daemon.socket());
  raw.say("GET /v1/jobs/1/wait?timeout=100ms HTTP/1.1\r\nHost: x\r\n\r\n");
  raw.finish_writing();
  EXPECT_THAT(raw.hear(), StartsWith("HTTP/1.1 204"));
}

TEST(RudeClients, WhoLeavesIsForgotten) {
  TestDaemon daemon;
  daemon.add({});
  Raw waits(daemon.socket());
  Raw follows(daemon.socket());
  waits.say("GET /v1/jobs/1/wait HTTP/1.1\r\nHost: x\r\n\r\n");
  waits.say(kHealth);  // more than he waits for
  follows.say("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  while (daemon.waiting(1) < 3) std::this_thread::yield();
  waits.leave();
  follows.leave();
  EXPECT_TRUE(testing::eventually([&] { return daemon.waiting(1) == 0; }));
}

TEST(RudeClients, ManyIdleOnesHinderNobody) {
  ServerOptions options;
  options.most_per_user = 600;
  const TestDaemon daemon(options);
  std::vector<Raw> idle;
  for (int i = 0; i < 500; ++i) idle.emplace_back(daemon.socket());
  expect_served(daemon);
  for (const Raw& raw : idle) raw.say(kHealth);
  for (const Raw& raw : idle) EXPECT_THAT(raw.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(RudeClients, NobodyGetsMoreThanHisShare) {
  ServerOptions options;
  options.most_per_user = 3;
  TestDaemon daemon(options);
  std::vector<Raw> mine;
  for (int i = 0; i < 3; ++i) {
    mine.emplace_back(daemon.socket());
    mine.back().say(kHealth);
    EXPECT_THAT(mine.back().hear("}\n"), StartsWith("HTTP/1.1 200"));
  }
  auto one_more = Client::open(daemon.socket());
  ASSERT_TRUE(one_more.has_value());
  const auto reply = one_more->request("GET", "/healthz");
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(reply.error().message, HasSubstr("3 connections open"));
  mine.clear();
  EXPECT_TRUE(testing::eventually([&] {
    auto again = Client::open(daemon.socket());
    return again && again->request("GET", "/healthz");
  })) << "the places of those who left were not given back";
}

TEST(RudeClients, WhoDoesNotReadIsWaitedFor) {
  TestDaemon daemon;
  const std::uint64_t id = daemon.add({});
  const auto run = daemon.add_run(id);
  testing::append(run / "stdout.log", std::string(std::size_t{8} << 20U, 'x'));
  daemon.finish(id, api::JobState::kCompleted, 0);
  const Raw raw(daemon.socket());
  raw.say("GET /v1/jobs/1/logs HTTP/1.0\r\n\r\n");
  raw.await();  // the server has begun, and cannot go on
  expect_served(daemon);
  const std::string heard = raw.hear();
  EXPECT_EQ(std::ranges::count(heard, 'x'), (8 << 20) + 1);  // "text" in the header
}

}  // namespace
}  // namespace tangram::http
