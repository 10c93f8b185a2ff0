// The recorded end of a run, with clocks that are set, late reports and reboots.
#include "daemon/engine/run_end.hpp"

#include <gtest/gtest.h>

namespace tangram::daemon {
namespace {

using std::chrono::days;
using std::chrono::seconds;

constexpr store::WallTime kAsked = std::chrono::sys_days(std::chrono::year(2026) / 3 / 1);

store::RunRow asked_run() {
  store::RunRow run;
  run.asked = kAsked;
  run.asked_since_boot = seconds(500);
  run.boot = "b";
  return run;
}

TEST(EndOfRun, IsNow) {
  store::RunRow run = asked_run();
  end_run(run, {}, {.wall = kAsked + seconds(60), .since_boot = seconds(560), .boot = "b"});
  EXPECT_TRUE(run.over);
  EXPECT_EQ(run.ended, kAsked + seconds(60));
  EXPECT_EQ(run.held, seconds(60));
}

TEST(EndOfRun, IsThatOfTheRecordHoweverLateItIsRead) {
  store::RunRow run = asked_run();
  end_run(run, kAsked + seconds(6), {kAsked + seconds(16), seconds(516), "b"});
  EXPECT_EQ(run.ended, kAsked + seconds(6));
  EXPECT_EQ(run.held, seconds(6));
}

TEST(EndOfRun, HeldTimeDoesNotFollowTheWallClock) {
  for (const days jump : {days(40), days(-40)}) {
    store::RunRow run = asked_run();
    const store::WallTime ended = kAsked + jump + seconds(59);
    end_run(run, ended, {ended + seconds(1), seconds(560), "b"});
    EXPECT_EQ(run.ended, ended);
    EXPECT_EQ(run.held, seconds(59)) << jump.count();
  }
  // Set between the end and its record being read.
  for (const days jump : {days(40), days(-40)}) {
    store::RunRow run = asked_run();
    end_run(run, kAsked + seconds(59), {kAsked + jump + seconds(60), seconds(560), "b"});
    EXPECT_EQ(run.held, seconds(60)) << jump.count();
  }
}

TEST(EndOfRun, HeldTimeIsUnknownAfterARebootAndForOldRows) {
  store::RunRow run = asked_run();
  end_run(run, {}, {kAsked + seconds(60), seconds(10), "another"});
  EXPECT_FALSE(run.held);
  run = asked_run();
  run.asked_since_boot.reset();
  end_run(run, {}, {kAsked + seconds(60), seconds(560), "b"});
  EXPECT_FALSE(run.held);
  EXPECT_EQ(run.ended, kAsked + seconds(60));
}

}  // namespace
}  // namespace tangram::daemon
