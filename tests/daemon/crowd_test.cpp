// A small crowd: fifty callers for two seconds are answered without a mistake, and whoever follows
// reads every event to the last. How soon is measured by hand (crowd_main.cpp).
#include "crowd.hpp"

#include <gtest/gtest.h>

#include "http/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

TEST(Crowds, AreAnsweredWithoutAMistake) {
  Node node({.emulate = "4xA100-40GB"});
  node.start();
  constexpr std::uint64_t kJobs = 20;
  for (std::uint64_t i = 0; i < kJobs; ++i) node.submit("1g.5gb", "true", {{"hold", true}});
  Crowd crowd(node, [&node] { return http::Client::open(node.socket()); }, kJobs);
  crowd.come(50, std::chrono::seconds(2));
  EXPECT_EQ(crowd.errors, 0U);
  EXPECT_EQ(crowd.followers, 5U);
  EXPECT_GT(crowd.requests, 45U);
  EXPECT_GE(crowd.span(), 2U);  // one was submitted and cancelled at the least
  EXPECT_GE(crowd.events, crowd.followers * crowd.span());
}

}  // namespace
}  // namespace tangram::tests
