// Requests that would report changes that are not durable yet wait for them, up to a limit; others
// do not wait. The test decides when changes become durable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/routes/routes.hpp"
#include "tests/support/http/daemon.hpp"
#include "tests/support/http/raw_socket.hpp"

namespace tangram::http {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::RawSocket;
using ::testing::StartsWith;
using testing::TestDaemon;

class DurabilityWaits : public ::testing::Test {
 protected:
  DurabilityWaits() {
    daemon.add({});
    daemon.add({});
    daemon.on_loop([&] { daemon.unsynced_job = 1; });
  }
  static void get(const RawSocket& raw, std::string_view target, std::string_view method = "GET") {
    raw.send(cat(method, " ", target, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  std::size_t waiting() {
    return daemon.on_loop([&] {
      std::erase_if(daemon.durability_waiters, [](const auto& each) { return each.expired(); });
      return daemon.durability_waiters.size();
    });
  }
  void make_durable() {
    daemon.on_loop([&] {
      daemon.unsynced_job = 0;
      for (const auto& each : std::vector(daemon.durability_waiters)) {
        if (const auto notify = each.lock()) (*notify)();
      }
    });
  }

  TestDaemon daemon;
};

TEST_F(DurabilityWaits, AreNotForOtherJobs) {
  const RawSocket raw(daemon.socket());
  for (const char* target : {"/v1/jobs/2", "/healthz", "/readyz", "/v1/events?follow=false"}) {
    get(raw, target);
    EXPECT_THAT(raw.receive("\r\n\r\n"), HasSubstr("HTTP/1.1 200")) << target;
    EXPECT_EQ(waiting(), 0U) << target;
  }
}

TEST_F(DurabilityWaits, EndWhenTheChangeIsDurable) {
  for (const char* target : {"/v1/jobs/1", "/v1/jobs", "/v1/gpus", "/v1/status", "/metrics"}) {
    daemon.on_loop([&] { daemon.unsynced_job = 1; });
    const RawSocket raw(daemon.socket());
    get(raw, target);
    ASSERT_TRUE(eventually([&] { return waiting() == 1; })) << target;
    make_durable();
    EXPECT_THAT(raw.receive("\r\n\r\n"), StartsWith("HTTP/1.1 200")) << target;
    EXPECT_EQ(waiting(), 0U);
  }
}

// A lease could expire while its renewal waits.
TEST_F(DurabilityWaits, AreNotForLeases) {
  for (const Route& route : routes()) {
    const bool takes_or_renews = route.pattern == "/v1/leases/{id}/renew" ||
                                 (route.pattern == "/v1/leases" && route.method == "POST");
    if (!takes_or_renews && route.needs != Needs::kAdmin) continue;
    EXPECT_EQ(route.durability, takes_or_renews ? DurabilityNeed::kNothing : DurabilityNeed::kAll)
        << route.pattern;
  }
}

TEST_F(DurabilityWaits, EndAfterATimeout) {
  const RawSocket raw(daemon.socket());
  const auto sent = std::chrono::steady_clock::now();
  get(raw, "/v1/jobs/1");
  EXPECT_THAT(raw.receive("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_GE(std::chrono::steady_clock::now() - sent, std::chrono::milliseconds(900));
  EXPECT_EQ(daemon.on_loop([&] { return daemon.durability_waiters.size(); }), 1U)
      << "the request did not wait";
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(DurabilityWaits, EndWhenTheClientDisconnects) {
  {
    const RawSocket raw(daemon.socket());
    get(raw, "/v1/jobs/1");
    ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return waiting() == 0; }));
}

TEST_F(DurabilityWaits, EndWithTheServer) {
  const RawSocket raw(daemon.socket());
  get(raw, "/v1/jobs/1");
  ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  daemon.close();
  EXPECT_EQ(raw.receive("\r\n\r\n"), "");
  EXPECT_EQ(waiting(), 0U);
}

}  // namespace
}  // namespace tangram::http
