// What one request may cost: answers that nobody reads, bodies that are dear to read, headers that
// contradict each other; and how those are told who come too often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/handlers.hpp"
#include "http/raw_socket.hpp"
#include "http/test_daemon.hpp"

namespace tangram::http {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Raw;
using ::testing::StartsWith;
using testing::TestDaemon;

std::string get(std::string_view target, std::string_view headers = "") {
  return cat("GET ", target, " HTTP/1.1\r\nHost: x\r\n", headers, "\r\n");
}

// An answer that is not read takes its room; whoever leaves too many unread gets no more of them,
// others do, and it is given back.
TEST(Bounds, OfAnswersThatAreNotRead) {
  ServerOptions options;
  options.most_answer_bytes_each = 1U << 20U;
  TestDaemon daemon(options);
  api::JobView job;
  job.reason = std::string(1'000, 'x');
  for (int i = 0; i < 1'000; ++i) daemon.add(job);
  const std::string all = get("/v1/jobs");
  {
    const Raw one(daemon.socket());
    one.say(all);
    one.await();  // more than the kernel keeps: the rest waits
    const Raw two(daemon.socket());
    two.say(all);
    EXPECT_THAT(two.hear("}\n"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("too-many-answers"),
                                       HasSubstr("Retry-After: 1\r\n")));
    two.say(get("/v1/jobs?limit=10"));  // a small one
    EXPECT_THAT(two.hear("]\n"), StartsWith("HTTP/1.1 200"));
    two.say(cat("HEAD", std::string_view(all).substr(3)));
    EXPECT_THAT(two.hear("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
    const Raw other(daemon.socket());
    other.say(get("/v1/jobs", "Authorization: Bearer tangram_1_read\r\n"));
    EXPECT_THAT(other.hear("]\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(one.hear("]\n"), AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("<silence>"))));
  }
  EXPECT_TRUE(eventually([&] {
    const Raw again(daemon.socket());
    again.say(all);
    return again.hear("\n").starts_with("HTTP/1.1 200");
  })) << "the room was not given back";
}

Answer<boost::json::value> read(std::string body, std::string type = "application/json") {
  Request request;
  request.body = std::move(body);
  request.content_type = std::move(type);
  return json_body(request);
}

std::string zeros(std::size_t count) {
  std::string text = "[0";
  for (std::size_t i = 1; i < count; ++i) text += ",0";
  return text + "]";
}

TEST(Bounds, OfTheValuesInABody) {
  EXPECT_EQ(read(zeros(99'999))->as_array().size(), 99'999U);  // and the list itself
  for (const std::string& text : {zeros(100'000), cat('{', std::string(100'000, ',')),
                                  std::string(200'000, '['), cat("[\"\\\\\"", zeros(100'000))}) {
    EXPECT_THAT(read(text).error().detail, HasSubstr("more than 100000 values"));
  }
  // Not what stands in texts, whatever it looks like.
  const std::string text = cat("\"\\\"", std::string(200'000, ','), "\\\\\"");
  EXPECT_EQ(read(text)->as_string().size(), 200'002U);
  EXPECT_TRUE(read(cat(std::string(32, '['), std::string(32, ']'))).has_value());
  EXPECT_EQ(read(cat(std::string(33, '['), std::string(33, ']'))).error().status, 400);
  EXPECT_EQ(read("\"").error().status, 400);
  EXPECT_EQ(read("\"\\").error().status, 400);
}

TEST(Bounds, MediaTypesAreComparedAsHttpHasIt) {
  for (const char* type : {"application/json", "Application/JSON", "application/json ",
                           "application/json ; charset=utf-8", "application/json;charset=utf-8"}) {
    EXPECT_TRUE(read("{}", type).has_value()) << type;
  }
  for (const char* type : {"", "text/plain", "application/jsonx", "application/ json", ";"}) {
    EXPECT_EQ(read("{}", type).error().status, 415) << type;
  }
}

TEST(Bounds, WhatMayStandOnceIsRefusedTwice) {
  const TestDaemon daemon;
  for (const char* name : {"Authorization", "Idempotency-Key", "Last-Event-ID"}) {
    const Raw raw(daemon.socket());
    raw.say(get("/v1/jobs", cat(name, ": 1\r\n", name, ": 1\r\n")));
    EXPECT_THAT(raw.hear(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr(name)));
  }
}

TEST(Bounds, WhoComesTooOftenIsToldWhenToComeAgain) {
  TestDaemon daemon;
  daemon.on_loop([&] { daemon.ready = false; });
  const Raw raw(daemon.socket());
  raw.say(get("/readyz"));
  EXPECT_THAT(raw.hear("}\n"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("\r\nRetry-After: 1\r\n")));
  raw.say(get("/healthz"));
  EXPECT_THAT(raw.hear("}\n"), Not(HasSubstr("Retry-After")));
}

// What never got to a route may have been meant to change something: it is written down.
TEST(Bounds, WhatWasRefusedEarlyIsWrittenDown) {
  ServerOptions options;
  options.header_time = std::chrono::seconds(1);
  TestDaemon daemon(options);
  for (const std::string_view text :
       {"POST /v1/jobs?name=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        "DELETE /v1/leases?key=a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "PATCH /v1/tuning HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
        "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET /v1/jobs?x=%z HTTP/1.1\r\nHost: x\r\n\r\n", "hello\r\n\r\n"}) {
    const Raw raw(daemon.socket());
    raw.say(text);
    EXPECT_THAT(raw.hear("}\n"), StartsWith("HTTP/1.1 4")) << text;
  }
  std::vector<std::string> audit = daemon.on_loop([&] { return daemon.audit; });
  for (std::string& line : audit) line.resize(line.find(" by "));
  EXPECT_THAT(audit, ::testing::ElementsAre("POST /v1/jobs 400", "POST /v1/jobs 413",
                                            "DELETE /v1/leases 400", "POST /v1/jobs 400",
                                            "PATCH /v1/tuning 408"));
}

}  // namespace
}  // namespace tangram::http
