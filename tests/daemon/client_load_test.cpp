// Fifty clients for two seconds get no errors, and followers read every event. Latency is measured
// by the program client_load (client_load_main.cpp).
#include "client_load.hpp"

#include <gtest/gtest.h>

#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

TEST(ClientLoads, AreServedWithoutErrors) {
  Node node({.emulate = "4xA100-40GB"});
  node.start();
  constexpr std::uint64_t kJobs = 20;
  for (std::uint64_t i = 0; i < kJobs; ++i) node.submit("1g.5gb", "true", {{"hold", true}});
  ClientLoad load(node, [&node] { return http::Client::open(node.socket()); }, kJobs);
  load.run(50, std::chrono::seconds(2));
  EXPECT_EQ(load.errors, 0U);
  EXPECT_EQ(load.followers, 5U);
  EXPECT_GT(load.requests, 45U);
  EXPECT_GE(load.events_per_follower(), 2U);  // at least one job was submitted and cancelled
  EXPECT_GE(load.events, load.followers * load.events_per_follower());
}

}  // namespace
}  // namespace tangram::tests
