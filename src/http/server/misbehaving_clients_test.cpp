// Clients that are slow, idle, malicious or disconnected: raw bytes on the socket.
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client/client.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

using ::testing::HasSubstr;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;

constexpr std::string_view kHealth = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";

void expect_served(const TestDaemon& daemon) {
  auto client = Client::open(daemon.socket());
  ASSERT_TRUE(client.has_value());
  EXPECT_EQ(client->request("GET", "/healthz")->status, 200);
}

TEST(MisbehavingClients, AnIncompleteRequestTimesOut) {
  ServerOptions options;
  options.header_timeout = std::chrono::seconds(1);
  const TestDaemon daemon(options);
  const RawSocket raw(daemon.socket());
  raw.send("GET /healthz HT");
  EXPECT_THAT(raw.receive(), StartsWith("HTTP/1.1 408"));  // and closes the connection
  const RawSocket slow_body(daemon.socket());
  slow_body.send(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{");
  EXPECT_THAT(slow_body.receive(), StartsWith("HTTP/1.1 408"));
  expect_served(daemon);
}

TEST(MisbehavingClients, IdleConnectionsAreClosed) {
  ServerOptions options;
  options.idle_timeout = std::chrono::seconds(1);
  const TestDaemon daemon(options);
  const RawSocket silent(daemon.socket());
  EXPECT_EQ(silent.receive(), "");
  const RawSocket after(daemon.socket());
  after.send(kHealth);
  EXPECT_THAT(after.receive(), StartsWith("HTTP/1.1 200 OK"));
}

TEST(MisbehavingClients, TooLargeRequestsAreRejected) {
  const TestDaemon daemon;
  const RawSocket header(daemon.socket());
  header.send("GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'x'));
  EXPECT_THAT(header.receive(), StartsWith("HTTP/1.1 431"));
  const RawSocket body(daemon.socket());
  body.send(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 99999999\r\n\r\n");
  EXPECT_THAT(body.receive(), StartsWith("HTTP/1.1 413"));
  const RawSocket chunks(daemon.socket());
  chunks.send(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  const std::string chunk = "100000\r\n" + std::string(0x100000, ' ') + "\r\n";
  for (int i = 0; i < 6; ++i) chunks.send(chunk);
  EXPECT_THAT(chunks.receive(), StartsWith("HTTP/1.1 413"));
  expect_served(daemon);
}

TEST(MisbehavingClients, MalformedRequestsAreRejected) {
  const TestDaemon daemon;
  for (const std::string_view text :
       {"hello\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n",
        "GET healthz HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /v1/jobs?name=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
        "chunked\r\n\r\n"}) {
    const RawSocket raw(daemon.socket());
    raw.send(text);
    EXPECT_THAT(raw.receive("}\n"), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("problem+json")))
        << text;
  }
  expect_served(daemon);
}

// Request smuggling: two servers in a row must never disagree where a request ends.
TEST(MisbehavingClients, AmbiguousRequestsAreRejected) {
  TestDaemon daemon;
  for (const std::string_view header :
       {"Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: \x0bchunked\r\n", "Content-Length: +4\r\n", "Content-Length: 4,4\r\n",
        "Content-Length: 0x4\r\n", "Content-Length : 4\r\n", "Host: y\r\n",
        "Content-Length: 4\r\n Transfer-Encoding: chunked\r\n"}) {
    const RawSocket raw(daemon.socket());
    raw.send(cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n", header,
                 "\r\n0\r\n\r\nPOST /v1/jobs/1/cancel HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string received = raw.receive();
    EXPECT_THAT(received, StartsWith("HTTP/1.1 400")) << header;
    EXPECT_EQ(received.find("HTTP/1.1 4", 1), std::string::npos) << header << received;
    // Only the first request is seen; the bytes after it are not read.
    EXPECT_THAT(daemon.on_loop([&] { return std::exchange(daemon.audit, {}); }),
                ::testing::ElementsAre(StartsWith("POST /v1/jobs 400")))
        << header;
  }
  const RawSocket old(daemon.socket());
  old.send(
      "POST /v1/jobs HTTP/1.0\r\nContent-Type: application/json\r\nConnection: keep-alive\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_THAT(old.receive(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("invalid in HTTP/1.0")));
  expect_served(daemon);
}

TEST(MisbehavingClients, InvalidTargetsAreRejected) {
  const TestDaemon daemon;
  using namespace std::string_view_literals;
  for (const std::string_view target :
       {"/v1/jobs?name=%00"sv, "/v1/jobs?name=%0a"sv, "/v1/jobs?name=%7F"sv, "/v1/\0jobs"sv,
        "/v1/\x01jobs"sv, "/v1/\x7fjobs"sv, "*"sv, "http:///v1/jobs"sv, "http://a@x/v1/jobs"sv,
        "http://x?y=/"sv, "ftp://x/v1/jobs"sv}) {
    const RawSocket raw(daemon.socket());
    raw.send(cat("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(raw.receive(), StartsWith("HTTP/1.1 400")) << printable(target);
  }
  for (const char* target : {"http://localhost/v1/jobs", "https://x:1/v1/jobs?all=1"}) {
    const RawSocket raw(daemon.socket());
    raw.send(cat("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(raw.receive(), StartsWith("HTTP/1.1 200")) << target;
  }
  const RawSocket long_one(daemon.socket());
  long_one.send(cat("GET /v1/jobs?name=", std::string(4'200, 'x'),
                    " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(long_one.receive(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("at most 4096")));
  expect_served(daemon);
}

TEST(MisbehavingClients, OnlyJobsMayBeLarge) {
  const TestDaemon daemon;
  const auto post = [&](std::string_view target, std::size_t size, bool chunked) {
    const RawSocket raw(daemon.socket());
    const std::string body(size, ' ');
    raw.send(
        cat("POST ", target, " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
            chunked ? std::string("Transfer-Encoding: chunked") : cat("Content-Length: ", size),
            "\r\nConnection: close\r\n\r\n"));
    raw.send(chunked ? cat("11170\r\n", body, "\r\n0\r\n\r\n") : body);
    return raw.receive();
  };
  constexpr std::size_t kSize = 0x11170;  // a little more than 64 KiB
  for (const bool chunked : {false, true}) {
    EXPECT_THAT(post("/v1/leases", kSize, chunked), StartsWith("HTTP/1.1 413"));
    EXPECT_THAT(post("/v1/jobs", kSize, chunked), StartsWith("HTTP/1.1 400"));  // not a valid job
  }
  EXPECT_THAT(post("/v1/leases", 60'000, false), StartsWith("HTTP/1.1 400"));
}

TEST(MisbehavingClients, BodiesAreUtf8) {
  const TestDaemon daemon;
  for (const std::string_view text : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"}) {
    const RawSocket raw(daemon.socket());
    const std::string body = cat(R"({"command":["a"],"profile":"1g.5gb","name":")", text, "\"}");
    raw.send(
        cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Connection: close\r\nContent-Length: ",
            body.size(), "\r\n\r\n", body));
    EXPECT_THAT(raw.receive(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("UTF-8")));
  }
}

TEST(MisbehavingClients, PipelinedRequestsAreAnsweredInOrder) {
  const TestDaemon daemon;
  const RawSocket raw(daemon.socket());
  std::string all;
  for (int i = 0; i < 1'000; ++i) {
    all += i % 2 == 0 ? kHealth : "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  all += "GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  std::thread writer([&] { raw.send(all); });
  const std::string received = raw.receive();
  writer.join();
  std::size_t answers = 0;
  for (std::size_t at = 0; (at = received.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
    ++answers;
  EXPECT_EQ(answers, 1'000U);
  EXPECT_THAT(received, HasSubstr("HTTP/1.1 404"));
}

// One time limit covers header and body together.
TEST(MisbehavingClients, ASlowHeaderLeavesLessTimeForTheBody) {
  ServerOptions options;
  options.header_timeout = std::chrono::seconds(2);
  const TestDaemon daemon(options);
  const RawSocket raw(daemon.socket());
  const auto begun = std::chrono::steady_clock::now();
  std::string header = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nX-Slow: ";
  for (int i = 0; i < 15; ++i) {
    raw.send(std::exchange(header, "x"));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  raw.send("\r\n\r\n{");
  EXPECT_THAT(raw.receive(), StartsWith("HTTP/1.1 408"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
}

// A body uses the byte quota in full before it is read. A client that exceeds its quota is
// rejected, others are not, and the quota is released.
TEST(MisbehavingClients, BodiesAreLimitedByAByteQuota) {
  ServerOptions options;
  options.max_body_bytes_each = 1U << 20U;
  TestDaemon daemon(options);
  const auto post = [&](std::string_view user) {
    return cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n", user,
               "Content-Length: 500000\r\nExpect: 100-continue\r\n\r\n");
  };
  {
    const RawSocket one(daemon.socket());
    const RawSocket two(daemon.socket());
    for (const RawSocket* raw : {&one, &two}) {
      raw->send(post(""));
      EXPECT_THAT(raw->receive("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
    }
    const RawSocket three(daemon.socket());
    three.send(post(""));
    EXPECT_THAT(three.receive(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("too-many-bodies"),
                                       HasSubstr("Retry-After: 1\r\n")));
    const RawSocket other(daemon.socket());
    other.send(post("Authorization: Bearer tangram_2_write\r\n"));
    EXPECT_THAT(other.receive("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
    expect_served(daemon);
  }
  EXPECT_TRUE(testing::eventually([&] {
    const RawSocket again(daemon.socket());
    again.send(post(""));
    return again.receive("\r\n\r\n").starts_with("HTTP/1.1 100");
  }));
}

TEST(MisbehavingClients, Expect100ContinueIsAnswered) {
  const TestDaemon daemon;
  const RawSocket raw(daemon.socket());
  raw.send(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: 41\r\n\r\n");
  EXPECT_THAT(raw.receive("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  raw.send(R"({"command": ["a"], "profile": "1g.5gb"}  )");
  EXPECT_THAT(raw.receive("}\n"),
              AllOf(StartsWith("HTTP/1.1 201"), HasSubstr("Location: /v1/jobs/1")));
}

TEST(MisbehavingClients, AHalfClosedClientIsAnswered) {
  TestDaemon daemon;
  daemon.add({});
  const RawSocket raw(daemon.socket());
  raw.send("GET /v1/jobs/1/wait?timeout=100ms HTTP/1.1\r\nHost: x\r\n\r\n");
  raw.shutdown_write();
  EXPECT_THAT(raw.receive(), StartsWith("HTTP/1.1 204"));
}

TEST(MisbehavingClients, DisconnectingCancelsPendingRequests) {
  TestDaemon daemon;
  daemon.add({});
  RawSocket waits(daemon.socket());
  RawSocket follows(daemon.socket());
  waits.send("GET /v1/jobs/1/wait HTTP/1.1\r\nHost: x\r\n\r\n");
  waits.send(kHealth);  // pipelined behind the request that waits
  follows.send("GET /v1/jobs/1/logs?follow=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  while (daemon.waiting(1) < 3) std::this_thread::yield();
  waits.close();
  follows.close();
  EXPECT_TRUE(testing::eventually([&] { return daemon.waiting(1) == 0; }));
}

TEST(MisbehavingClients, ManyIdleConnectionsDoNotBlockOthers) {
  ServerOptions options;
  options.max_connections_per_user = 600;
  const TestDaemon daemon(options);
  std::vector<RawSocket> idle;
  for (int i = 0; i < 500; ++i) idle.emplace_back(daemon.socket());
  expect_served(daemon);
  for (const RawSocket& raw : idle) raw.send(kHealth);
  for (const RawSocket& raw : idle) EXPECT_THAT(raw.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

// As many as the limit of open files allows; both ends are in this process.
TEST(MisbehavingClients, ManyIncompleteRequestsDoNotBlockOthers) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 22'000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  const std::size_t many = std::min<std::size_t>(10'000, (files.rlim_cur - 200) / 2);
  ServerOptions options;
  options.max_connections = many + 10;
  options.max_connections_per_user = many + 10;
  const TestDaemon daemon(options);
  std::vector<RawSocket> half;
  half.reserve(many);
  for (std::size_t i = 0; i < many; ++i) {
    half.emplace_back(daemon.socket());
    half.back().send("GET /healthz HTTP/1.1\r\nHo");
  }
  expect_served(daemon);
  half.front().send("st: x\r\n\r\n");
  EXPECT_THAT(half.front().receive("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST(MisbehavingClients, ConnectionsPerUserAreLimited) {
  ServerOptions options;
  options.max_connections_per_user = 3;
  TestDaemon daemon(options);
  std::vector<RawSocket> mine;
  for (int i = 0; i < 3; ++i) {
    mine.emplace_back(daemon.socket());
    mine.back().send(kHealth);
    EXPECT_THAT(mine.back().receive("}\n"), StartsWith("HTTP/1.1 200"));
  }
  auto one_more = Client::open(daemon.socket());
  ASSERT_TRUE(one_more.has_value());
  const auto reply = one_more->request("GET", "/healthz");
  ASSERT_FALSE(reply.has_value());
  EXPECT_EQ(reply.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(reply.error().message, HasSubstr("connection limit reached (you have 3 open)"));
  mine.clear();
  EXPECT_TRUE(testing::eventually([&] {
    auto again = Client::open(daemon.socket());
    return again && again->request("GET", "/healthz");
  })) << "closed connections were not released from the quota";
}

TEST(MisbehavingClients, ASlowReaderIsWaitedFor) {
  TestDaemon daemon;
  const std::uint64_t id = daemon.add({});
  const auto run = daemon.add_run(id);
  testing::append(run / "stdout.log", std::string(std::size_t{8} << 20U, 'x'));
  daemon.finish(id, api::JobState::kCompleted, 0);
  const RawSocket raw(daemon.socket());
  raw.send("GET /v1/jobs/1/logs HTTP/1.0\r\n\r\n");
  raw.wait_readable();  // the server has begun to write and is blocked
  expect_served(daemon);
  const std::string received = raw.receive();
  EXPECT_EQ(std::ranges::count(received, 'x'), (8 << 20) + 1);  // "text" in the header
}

}  // namespace
}  // namespace tangram::http
