// Clients that are slow, silent, rude or gone: raw bytes on the socket.
#include <sys/resource.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.hpp"
#include "http/raw_socket.hpp"
#include "http/test_daemon.hpp"

namespace tangram::http {
namespace {

using ::testing::HasSubstr;
using testing::Raw;
using ::testing::StartsWith;
using testing::TestDaemon;

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
  EXPECT_THAT(raw.hear(), StartsWith("HTTP/1.1 408"));  // and closed
  const Raw slow_body(daemon.socket());
  slow_body.say(
      "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
      "Content-Length: 100\r\n\r\n{");
  EXPECT_THAT(slow_body.hear(), StartsWith("HTTP/1.1 408"));
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

// Two programs in a row must never disagree where a request ends.
TEST(RudeClients, WhatCouldBeReadInTwoWaysIsRefused) {
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
    const Raw raw(daemon.socket());
    raw.say(cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n", header,
                "\r\n0\r\n\r\nPOST /v1/jobs/1/cancel HTTP/1.1\r\nHost: x\r\n\r\n"));
    const std::string heard = raw.hear();
    EXPECT_THAT(heard, StartsWith("HTTP/1.1 400")) << header;
    EXPECT_EQ(heard.find("HTTP/1.1 4", 1), std::string::npos) << header << heard;
    // That one was tried, and nothing else: what follows is not read.
    EXPECT_THAT(daemon.on_loop([&] { return std::exchange(daemon.audit, {}); }),
                ::testing::ElementsAre(StartsWith("POST /v1/jobs 400")))
        << header;
  }
  const Raw old(daemon.socket());
  old.say(
      "POST /v1/jobs HTTP/1.0\r\nContent-Type: application/json\r\nConnection: keep-alive\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_THAT(old.hear(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("HTTP/1.0 has no")));
  expect_served(daemon);
}

TEST(RudeClients, OddTargetsAreRefused) {
  const TestDaemon daemon;
  using namespace std::string_view_literals;
  for (const std::string_view target :
       {"/v1/jobs?name=%00"sv, "/v1/jobs?name=%0a"sv, "/v1/jobs?name=%7F"sv, "/v1/\0jobs"sv,
        "/v1/\x01jobs"sv, "/v1/\x7fjobs"sv, "*"sv, "http:///v1/jobs"sv, "http://a@x/v1/jobs"sv,
        "http://x?y=/"sv, "ftp://x/v1/jobs"sv}) {
    const Raw raw(daemon.socket());
    raw.say(cat("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(raw.hear(), StartsWith("HTTP/1.1 400")) << printable(target);
  }
  for (const char* target : {"http://localhost/v1/jobs", "https://x:1/v1/jobs?all=1"}) {
    const Raw raw(daemon.socket());
    raw.say(cat("GET ", target, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    EXPECT_THAT(raw.hear(), StartsWith("HTTP/1.1 200")) << target;
  }
  const Raw long_one(daemon.socket());
  long_one.say(cat("GET /v1/jobs?name=", std::string(4'200, 'x'),
                   " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(long_one.hear(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("at most 4096")));
  expect_served(daemon);
}

TEST(RudeClients, OnlyJobsMayBeLarge) {
  const TestDaemon daemon;
  const auto post = [&](std::string_view target, std::size_t size, bool chunked) {
    const Raw raw(daemon.socket());
    const std::string body(size, ' ');
    raw.say(cat("POST ", target, " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
                chunked ? std::string("Transfer-Encoding: chunked") : cat("Content-Length: ", size),
                "\r\nConnection: close\r\n\r\n"));
    raw.say(chunked ? cat("11170\r\n", body, "\r\n0\r\n\r\n") : body);
    return raw.hear();
  };
  constexpr std::size_t kSize = 0x11170;  // a little more than 64 KiB
  for (const bool chunked : {false, true}) {
    EXPECT_THAT(post("/v1/leases", kSize, chunked), StartsWith("HTTP/1.1 413"));
    EXPECT_THAT(post("/v1/jobs", kSize, chunked), StartsWith("HTTP/1.1 400"));  // it is no job
  }
  EXPECT_THAT(post("/v1/leases", 60'000, false), StartsWith("HTTP/1.1 400"));
}

TEST(RudeClients, BodiesAreUtf8) {
  const TestDaemon daemon;
  for (const std::string_view text : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe2\x82"}) {
    const Raw raw(daemon.socket());
    const std::string body = cat(R"({"command":["a"],"profile":"1g.5gb","name":")", text, "\"}");
    raw.say(
        cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Connection: close\r\nContent-Length: ",
            body.size(), "\r\n\r\n", body));
    EXPECT_THAT(raw.hear(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr("UTF-8")));
  }
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

// The time of a request is one, not one for its header and another for its body.
TEST(RudeClients, ASlowHeaderLeavesLessTimeForTheBody) {
  ServerOptions options;
  options.header_time = std::chrono::seconds(2);
  const TestDaemon daemon(options);
  const Raw raw(daemon.socket());
  const auto begun = std::chrono::steady_clock::now();
  std::string header = "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nX-Slow: ";
  for (int i = 0; i < 15; ++i) {
    raw.say(std::exchange(header, "x"));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // he is slow
  }
  raw.say("\r\n\r\n{");
  EXPECT_THAT(raw.hear(), StartsWith("HTTP/1.1 408"));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
}

// Half a body takes the room that the whole one needs; whoever takes too much is refused, others
// are not, and it is given back.
TEST(RudeClients, BodiesHaveABoundTogether) {
  ServerOptions options;
  options.most_body_bytes_each = 1U << 20U;
  TestDaemon daemon(options);
  const auto post = [&](std::string_view user) {
    return cat("POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n", user,
               "Content-Length: 500000\r\nExpect: 100-continue\r\n\r\n");
  };
  {
    const Raw one(daemon.socket());
    const Raw two(daemon.socket());
    for (const Raw* raw : {&one, &two}) {
      raw->say(post(""));
      EXPECT_THAT(raw->hear("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
    }
    const Raw three(daemon.socket());
    three.say(post(""));
    EXPECT_THAT(three.hear(), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("too-many-bodies"),
                                    HasSubstr("Retry-After: 1\r\n")));
    const Raw other(daemon.socket());
    other.say(post("Authorization: Bearer tangram_2_write\r\n"));
    EXPECT_THAT(other.hear("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
    expect_served(daemon);
  }
  EXPECT_TRUE(testing::eventually([&] {
    const Raw again(daemon.socket());
    again.say(post(""));
    return again.hear("\r\n\r\n").starts_with("HTTP/1.1 100");
  }));
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

// As many as the limit of open files allows, both ends of each being ours.
TEST(RudeClients, HalfOpenRequestsHinderNobody) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, 22'000);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  const std::size_t many = std::min<std::size_t>(10'000, (files.rlim_cur - 200) / 2);
  ServerOptions options;
  options.most_connections = many + 10;
  options.most_per_user = many + 10;
  const TestDaemon daemon(options);
  std::vector<Raw> half;
  half.reserve(many);
  for (std::size_t i = 0; i < many; ++i) {
    half.emplace_back(daemon.socket());
    half.back().say("GET /healthz HTTP/1.1\r\nHo");
  }
  expect_served(daemon);
  half.front().say("st: x\r\n\r\n");
  EXPECT_THAT(half.front().hear("}\n"), StartsWith("HTTP/1.1 200"));
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
