// Requests wait for what is on its way to the disk: those that would tell of it, for a while, and
// nobody else. One rule: the disk here is as slow as the test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/raw_socket.hpp"
#include "http/routes.hpp"
#include "http/test_daemon.hpp"

namespace tangram::http {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::Raw;
using ::testing::StartsWith;
using testing::TestDaemon;

class DiskWaits : public ::testing::Test {
 protected:
  DiskWaits() {
    daemon.add({});
    daemon.add({});
    daemon.on_loop([&] { daemon.on_its_way = 1; });
  }
  static void get(const Raw& raw, std::string_view target, std::string_view method = "GET") {
    raw.say(cat(method, " ", target, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
  std::size_t waiting() {
    return daemon.on_loop([&] {
      std::erase_if(daemon.disk_waiters, [](const auto& each) { return each.expired(); });
      return daemon.disk_waiters.size();
    });
  }
  void it_is_there() {
    daemon.on_loop([&] {
      daemon.on_its_way = 0;
      for (const auto& each : std::vector(daemon.disk_waiters)) {
        if (const auto ring = each.lock()) (*ring)();
      }
    });
  }

  TestDaemon daemon;
};

TEST_F(DiskWaits, WhoAsksForSomethingElseDoesNot) {
  const Raw raw(daemon.socket());
  for (const char* target : {"/v1/jobs/2", "/healthz", "/readyz", "/v1/events?follow=false"}) {
    get(raw, target);
    EXPECT_THAT(raw.hear("\r\n\r\n"), HasSubstr("HTTP/1.1 200")) << target;
    EXPECT_EQ(waiting(), 0U) << target;
  }
}

TEST_F(DiskWaits, EndWhenItIsThere) {
  for (const char* target : {"/v1/jobs/1", "/v1/jobs", "/v1/gpus", "/v1/status", "/metrics"}) {
    daemon.on_loop([&] { daemon.on_its_way = 1; });
    const Raw raw(daemon.socket());
    get(raw, target);
    ASSERT_TRUE(eventually([&] { return waiting() == 1; })) << target;
    it_is_there();
    EXPECT_THAT(raw.hear("\r\n\r\n"), StartsWith("HTTP/1.1 200")) << target;
    EXPECT_EQ(waiting(), 0U);
  }
}

// A lease whose renewal waits at the door would run out meanwhile.
TEST_F(DiskWaits, AreNotForLeases) {
  for (const Route& route : routes()) {
    const bool takes_or_renews = route.pattern == "/v1/leases/{id}/renew" ||
                                 (route.pattern == "/v1/leases" && route.method == "POST");
    if (!takes_or_renews && route.needs != Needs::kAdmin) continue;
    EXPECT_EQ(route.concern, takes_or_renews ? Concern::kNothing : Concern::kAll) << route.pattern;
  }
}

TEST_F(DiskWaits, EndAfterAWhileAllTheSame) {
  const Raw raw(daemon.socket());
  get(raw, "/v1/jobs/1");
  EXPECT_THAT(raw.hear("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(waiting(), 0U);
}

TEST_F(DiskWaits, EndWithWhoeverLeaves) {
  {
    const Raw raw(daemon.socket());
    get(raw, "/v1/jobs/1");
    ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  }
  EXPECT_TRUE(eventually([&] { return waiting() == 0; }));
}

TEST_F(DiskWaits, EndWithTheServer) {
  const Raw raw(daemon.socket());
  get(raw, "/v1/jobs/1");
  ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
  daemon.close();
  EXPECT_EQ(raw.hear("\r\n\r\n"), "");
  EXPECT_EQ(waiting(), 0U);
}

}  // namespace
}  // namespace tangram::http
