// Requests that wait: their token is checked again while they wait, and when it has been revoked
// the response is 401 and the operation is cancelled. A request whose token's user is still being
// looked up waits for the lookup.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::eventually;
using ::testing::HasSubstr;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;

class Waits : public ::testing::Test {
 protected:
  static ServerOptions with_heartbeat(std::chrono::milliseconds time) {
    ServerOptions options;
    options.heartbeat = time;
    return options;
  }
  static void wait_for_job(const RawSocket& raw, std::string_view token) {
    raw.send(cat("GET /v1/jobs/1/wait HTTP/1.1\r\nHost: x\r\n", authorization(token), "\r\n"));
  }
  static void wait_for_lease(const RawSocket& raw, std::string_view token) {
    constexpr std::string_view kBody = R"({"profile": "7g.40gb", "wait": "1h"})";
    raw.send(cat("POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
                 authorization(token), "Content-Length: ", kBody.size(), "\r\n\r\n", kBody));
  }
  static std::string authorization(std::string_view token) {
    return token.empty() ? "" : cat("Authorization: Bearer ", token, "\r\n");
  }
  static std::size_t waiting_for_leases(TestDaemon& daemon) {
    return daemon.on_loop([&] { return daemon.leases.waiting(); });
  }
  static void revoke(TestDaemon& daemon) {
    daemon.on_loop([&] { daemon.tokens.revoked = true; });
  }
};

const auto kRefused = AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer"),
                            HasSubstr("urn:tangram:unauthorized"), HasSubstr("expired or revoked"));

TEST_F(Waits, EndWhenTheirTokenIsRevoked) {
  TestDaemon daemon(with_heartbeat(std::chrono::milliseconds(10)));
  daemon.add({});
  const RawSocket raw(daemon.socket());
  wait_for_job(raw, "tangram_1_read");
  const RawSocket without(daemon.socket());
  wait_for_job(without, "");
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 2; }));
  revoke(daemon);
  EXPECT_THAT(raw.receive("}\n"), kRefused);
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 1; }));
  daemon.finish(1, api::JobState::kCompleted, 0);
  EXPECT_THAT(without.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Waits, ForALeaseAreCancelledAndAudited) {
  TestDaemon daemon(with_heartbeat(std::chrono::milliseconds(10)));
  const RawSocket raw(daemon.socket());
  wait_for_lease(raw, "tangram_2_write");
  ASSERT_TRUE(eventually([&] { return waiting_for_leases(daemon) == 1; }));
  revoke(daemon);
  EXPECT_THAT(raw.receive("}\n"), kRefused);
  EXPECT_TRUE(eventually([&] { return waiting_for_leases(daemon) == 0; }));
  EXPECT_THAT(daemon.on_loop([&] { return daemon.audit; }),
              Contains("POST /v1/leases 401 by 1001"));
}

// Also if the answer is ready before the next heartbeat.
TEST_F(Waits, AreNotAnsweredOnceTheTokenIsRevoked) {
  TestDaemon daemon;
  daemon.add({});
  const RawSocket raw(daemon.socket());
  wait_for_job(raw, "tangram_1_read");
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 1; }));
  revoke(daemon);
  daemon.finish(1, api::JobState::kCompleted, 0);
  EXPECT_THAT(raw.receive("}\n"), kRefused);
}

TEST_F(Waits, LastAsLongAsTheTokenIsGood) {
  TestDaemon daemon(with_heartbeat(std::chrono::milliseconds(1)));
  daemon.add({});
  const RawSocket raw(daemon.socket());
  raw.send(cat("GET /v1/jobs/1/wait?timeout=200ms HTTP/1.1\r\nHost: x\r\n",
               authorization("tangram_1_read"), "\r\n"));
  EXPECT_THAT(raw.receive("\r\n\r\n"), StartsWith("HTTP/1.1 204"));  // after about 200 checks
  wait_for_job(raw, "tangram_1_read");
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 1; }));
  daemon.finish(1, api::JobState::kCompleted, 0);
  EXPECT_THAT(raw.receive("}\n"), StartsWith("HTTP/1.1 200"));
}

class IdentityLookups : public ::testing::Test {
 protected:
  IdentityLookups() {
    daemon_.on_loop([&] {
      daemon_.tokens.identity_pending = true;
      daemon_.unresolved_uids = {1000};
    });
    raw_.send("GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  }

  TestDaemon daemon_;
  const RawSocket raw_{daemon_.socket()};
};

TEST_F(IdentityLookups, AreWaitedFor) {
  EXPECT_EQ(raw_.receive("\r\n\r\n", 50), "<timeout>");
  daemon_.on_loop([&] {
    daemon_.tokens.identity_pending = false;
    daemon_.unresolved_uids.clear();
  });
  EXPECT_THAT(raw_.receive("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

// 503 and not 401: the token may be valid, and the client may retry.
TEST_F(IdentityLookups, ThatTimeOutAnswer503) {
  daemon_.on_loop([&] { daemon_.unresolved_uids.clear(); });
  EXPECT_THAT(raw_.receive("\r\n\r\n"),
              AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: ")));
}

}  // namespace
}  // namespace tangram::http
