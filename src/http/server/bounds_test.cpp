// Limits for single requests: unread responses, complex bodies, duplicate headers, Retry-After.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/routes/route_handlers.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;

std::string get(std::string_view target, std::string_view headers = "") {
  return cat("GET ", target, " HTTP/1.1\r\nHost: x\r\n", headers, "\r\n");
}

// An unread response uses the client's byte quota. When that is used up, its large requests are
// rejected and those of others are not; reading releases it.
TEST(Bounds, OfUnreadResponses) {
  ServerOptions options;
  options.max_response_bytes_each = 1U << 20U;
  TestDaemon daemon(options);
  api::JobView job;
  job.reason = std::string(1'000, 'x');
  for (int i = 0; i < 1'000; ++i) daemon.add(job);
  const std::string all = get("/v1/jobs");
  {
    const RawSocket one(daemon.socket());
    one.send(all);
    one.wait_readable();  // larger than the socket buffers: the rest waits in the daemon
    const RawSocket two(daemon.socket());
    two.send(all);
    EXPECT_THAT(two.receive("}\n"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("too-many-answers"),
                                          HasSubstr("Retry-After: 1\r\n")));
    two.send(get("/v1/jobs?limit=10"));  // a small one
    EXPECT_THAT(two.receive("]\n"), StartsWith("HTTP/1.1 200"));
    two.send(cat("HEAD", std::string_view(all).substr(3)));
    EXPECT_THAT(two.receive("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
    const RawSocket other(daemon.socket());
    other.send(get("/v1/jobs", "Authorization: Bearer tangram_1_read\r\n"));
    EXPECT_THAT(other.receive("]\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(one.receive("]\n"), AllOf(StartsWith("HTTP/1.1 200"), Not(HasSubstr("<timeout>"))));
  }
  EXPECT_TRUE(eventually([&] {
    const RawSocket again(daemon.socket());
    again.send(all);
    return again.receive("\n").starts_with("HTTP/1.1 200");
  })) << "the byte quota was not released";
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
  EXPECT_EQ(read(zeros(99'999))->as_array().size(), 99'999U);  // plus the array itself
  for (const std::string& text : {zeros(100'000), cat('{', std::string(100'000, ',')),
                                  std::string(200'000, '['), cat(R"(["\\")", zeros(100'000))}) {
    EXPECT_THAT(read(text).error().detail, HasSubstr("more than 100000 values"));
  }
  // Text inside strings does not count.
  const std::string text = cat(R"("\")", std::string(200'000, ','), R"(\\")");
  EXPECT_EQ(read(text)->as_string().size(), 200'002U);
  EXPECT_TRUE(read(cat(std::string(32, '['), std::string(32, ']'))).has_value());
  EXPECT_EQ(read(cat(std::string(33, '['), std::string(33, ']'))).error().status, 400);
  EXPECT_EQ(read("\"").error().status, 400);
  EXPECT_EQ(read("\"\\").error().status, 400);
}

TEST(Bounds, MediaTypesAreCaseInsensitive) {
  for (const char* type : {"application/json", "Application/JSON", "application/json ",
                           "application/json ; charset=utf-8", "application/json;charset=utf-8"}) {
    EXPECT_TRUE(read("{}", type).has_value()) << type;
  }
  for (const char* type : {"", "text/plain", "application/jsonx", "application/ json", ";"}) {
    EXPECT_EQ(read("{}", type).error().status, 415) << type;
  }
}

TEST(Bounds, DuplicateHeadersAreRejected) {
  const TestDaemon daemon;
  for (const char* name : {"Authorization", "Idempotency-Key", "Last-Event-ID"}) {
    const RawSocket raw(daemon.socket());
    raw.send(get("/v1/jobs", cat(name, ": 1\r\n", name, ": 1\r\n")));
    EXPECT_THAT(raw.receive(), AllOf(StartsWith("HTTP/1.1 400"), HasSubstr(name)));
  }
}

TEST(Bounds, ServiceUnavailableHasRetryAfter) {
  TestDaemon daemon;
  daemon.on_loop([&] { daemon.ready = false; });
  const RawSocket raw(daemon.socket());
  raw.send(get("/readyz"));
  EXPECT_THAT(raw.receive("}\n"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("\r\nRetry-After: 1\r\n")));
  raw.send(get("/healthz"));
  EXPECT_THAT(raw.receive("}\n"), Not(HasSubstr("Retry-After")));
}

// A request that is rejected before it reaches a route could have been a change: it is audited.
TEST(Bounds, EarlyRejectionsAreAudited) {
  ServerOptions options;
  options.header_timeout = std::chrono::seconds(1);
  TestDaemon daemon(options);
  for (const std::string_view text :
       {"POST /v1/jobs?name=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        "DELETE /v1/leases?key=a HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "PATCH /v1/tuning HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{",
        "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET /v1/jobs?x=%z HTTP/1.1\r\nHost: x\r\n\r\n", "hello\r\n\r\n"}) {
    const RawSocket raw(daemon.socket());
    raw.send(text);
    EXPECT_THAT(raw.receive("}\n"), StartsWith("HTTP/1.1 4")) << text;
  }
  std::vector<std::string> audit = daemon.on_loop([&] { return daemon.audit; });
  for (std::string& line : audit) line.resize(line.find(" by "));
  EXPECT_THAT(audit, ::testing::ElementsAre("POST /v1/jobs 400", "POST /v1/jobs 413",
                                            "DELETE /v1/leases 400", "POST /v1/jobs 400",
                                            "PATCH /v1/tuning 408"));
}

}  // namespace
}  // namespace tangram::http
