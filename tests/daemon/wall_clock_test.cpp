// A wall clock that is set while jobs run, with a library that shifts it (shifted_clock.cpp).
#include <fstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

class WallClock : public testing::Test {
 protected:
  WallClock() {
    node_.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "LD_PRELOAD=" TANGRAM_SHIFTED_CLOCK,
                           "ASAN_OPTIONS=verify_asan_link_order=0",
                           "TANGRAM_SHIFTED_CLOCK=" + node_.at("shift")});
    node_.start();
  }
  std::uint64_t running_job() {
    const auto job =
        node_.submit("7g.40gb", cat("while [ ! -e ", node_.at("go"), " ]; do sleep 0.02; done"));
    node_.await(job, "running");
    return job;
  }
  void shift_by_days(int days) const { std::ofstream(node_.at("shift")) << days * 86'400; }
  double slice_hours() {
    double all = 0;
    const json::value usage = node_.call("GET", "/v1/usage");
    for (const json::value& row : usage.at("rows").as_array()) {
      all += row.at("slice_hours").to_number<double>();
    }
    return all;
  }

  Node node_;
};

// 40 days are 6,720 hours of 7 slices; no test takes an hour of them.
TEST_F(WallClock, UsageIsTheTimeThatHasPassed) {
  const auto job = running_job();
  shift_by_days(40);
  EXPECT_LT(slice_hours(), 7);
  EXPECT_GT(slice_hours(), 0);
  std::ofstream(node_.at("go"));
  node_.await(job, "over");
  EXPECT_LT(slice_hours(), 7);
  EXPECT_GT(slice_hours(), 0);
}

TEST_F(WallClock, UsageSurvivesARestartAndAClockSetBack) {
  const auto job = running_job();
  node_.kill();
  shift_by_days(-40);
  node_.start();
  std::ofstream(node_.at("go"));
  node_.await(job, "over");
  shift_by_days(0);
  EXPECT_GT(slice_hours(), 0);
  EXPECT_LT(slice_hours(), 7);
}

}  // namespace
}  // namespace tangram::tests
