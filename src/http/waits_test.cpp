// Whoever waits for an answer with a token is looked at again: once the token is taken back he gets
// a 401 and nothing else, and what he asked for is given up. And whoever shows a token whose user
// is not known yet waits until he is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/raw_socket.hpp"
#include "http/test_daemon.hpp"

namespace tangram::http {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::eventually;
using ::testing::HasSubstr;
using testing::Raw;
using ::testing::StartsWith;
using testing::TestDaemon;

class Waits : public ::testing::Test {
 protected:
  static ServerOptions looking_every(std::chrono::milliseconds time) {
    ServerOptions options;
    options.heartbeat = time;
    return options;
  }
  static void wait_for_job(const Raw& raw, std::string_view token) {
    raw.say(cat("GET /v1/jobs/1/wait HTTP/1.1\r\nHost: x\r\n", shown(token), "\r\n"));
  }
  static void wait_for_lease(const Raw& raw, std::string_view token) {
    constexpr std::string_view kWish = R"({"profile": "7g.40gb", "wait": "1h"})";
    raw.say(cat("POST /v1/leases HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
                shown(token), "Content-Length: ", kWish.size(), "\r\n\r\n", kWish));
  }
  static std::string shown(std::string_view token) {
    return token.empty() ? "" : cat("Authorization: Bearer ", token, "\r\n");
  }
  static std::size_t waiting_for_leases(TestDaemon& daemon) {
    return daemon.on_loop([&] { return daemon.leases.waiting(); });
  }
  static void take_back(TestDaemon& daemon) {
    daemon.on_loop([&] { daemon.tokens.revoked = true; });
  }
};

const auto kRefused =
    AllOf(StartsWith("HTTP/1.1 401"), HasSubstr("WWW-Authenticate: Bearer"),
          HasSubstr("urn:tangram:unauthorized"), HasSubstr("expired or was revoked"));

TEST_F(Waits, EndWithTheTokenTheyWereBegunWith) {
  TestDaemon daemon(looking_every(std::chrono::milliseconds(10)));
  daemon.add({});
  const Raw raw(daemon.socket());
  wait_for_job(raw, "tangram_1_read");
  const Raw without(daemon.socket());
  wait_for_job(without, "");
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 2; }));
  take_back(daemon);
  EXPECT_THAT(raw.hear("}\n"), kRefused);
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 1; }));
  daemon.finish(1, api::JobState::kCompleted, 0);
  EXPECT_THAT(without.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

TEST_F(Waits, ForALeaseAreGivenUpAndWrittenDown) {
  TestDaemon daemon(looking_every(std::chrono::milliseconds(10)));
  const Raw raw(daemon.socket());
  wait_for_lease(raw, "tangram_2_write");
  ASSERT_TRUE(eventually([&] { return waiting_for_leases(daemon) == 1; }));
  take_back(daemon);
  EXPECT_THAT(raw.hear("}\n"), kRefused);
  EXPECT_TRUE(eventually([&] { return waiting_for_leases(daemon) == 0; }));
  EXPECT_THAT(daemon.on_loop([&] { return daemon.audit; }),
              Contains("POST /v1/leases 401 by 1001"));
}

// Also where the answer comes before the next look.
TEST_F(Waits, AreNotAnsweredOnceTheTokenIsTakenBack) {
  TestDaemon daemon;
  daemon.add({});
  const Raw raw(daemon.socket());
  wait_for_job(raw, "tangram_1_read");
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 1; }));
  take_back(daemon);
  daemon.finish(1, api::JobState::kCompleted, 0);
  EXPECT_THAT(raw.hear("}\n"), kRefused);
}

TEST_F(Waits, LastAsLongAsTheTokenIsGood) {
  TestDaemon daemon(looking_every(std::chrono::milliseconds(1)));
  daemon.add({});
  const Raw raw(daemon.socket());
  raw.say(cat("GET /v1/jobs/1/wait?timeout=200ms HTTP/1.1\r\nHost: x\r\n", shown("tangram_1_read"),
              "\r\n"));
  EXPECT_THAT(raw.hear("\r\n\r\n"), StartsWith("HTTP/1.1 204"));  // some two hundred looks later
  wait_for_job(raw, "tangram_1_read");
  ASSERT_TRUE(eventually([&] { return daemon.waiting(1) == 1; }));
  daemon.finish(1, api::JobState::kCompleted, 0);
  EXPECT_THAT(raw.hear("}\n"), StartsWith("HTTP/1.1 200"));
}

class Introductions : public ::testing::Test {
 protected:
  Introductions() {
    daemon_.on_loop([&] {
      daemon_.tokens.unsettled = true;
      daemon_.unknown = {1000};
    });
    raw_.say("GET /v1/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tangram_1_read\r\n\r\n");
  }

  TestDaemon daemon_;
  const Raw raw_{daemon_.socket()};
};

TEST_F(Introductions, OfATokensUserAreWaitedFor) {
  EXPECT_EQ(raw_.hear("\r\n\r\n", 50), "<silence>");
  daemon_.on_loop([&] {
    daemon_.tokens.unsettled = false;
    daemon_.unknown.clear();
  });
  EXPECT_THAT(raw_.hear("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

// It was not the token that was wrong: whoever shows it may come back.
TEST_F(Introductions, ThatTakeTooLongAreNobodysFault) {
  daemon_.on_loop([&] { daemon_.unknown.clear(); });
  EXPECT_THAT(raw_.hear("\r\n\r\n"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("Retry-After: ")));
}

}  // namespace
}  // namespace tangram::http
