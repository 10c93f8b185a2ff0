// A run is started at most once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using testing::eventually;
using testing::TestRun;

constexpr int kAlreadyRunning = static_cast<int>(ShimExit::kAlreadyRunning);
constexpr int kAlreadyRan = static_cast<int>(ShimExit::kAlreadyRan);

TEST(ShimSingleStart, NotWhileAShimRuns) {
  TestRun run("");
  run.spec.command = {"sh", "-c", cat("echo x >> ", run.base().at("count"), "; exec sleep 1000")};
  run.start();
  EXPECT_EQ(TestRun::wait_for(run.spawn()), kAlreadyRunning);
  run.client().send(R"({"do":"stop"})");
  EXPECT_EQ(run.record().signal, SIGTERM);
  EXPECT_EQ(run.base().read("count"), "x\n");
}

TEST(ShimSingleStart, NotAfterTheEnd) {
  TestRun run("exit 3");
  run.run();
  EXPECT_EQ(TestRun::wait_for(run.spawn()), kAlreadyRan);
  EXPECT_EQ((*read_exit(run.folder()))->code, 3);
}

TEST(ShimSingleStart, NotAfterTheShimWasKilled) {
  TestRun run("exec sleep 1000");
  run.start();
  ::kill(run.shim(), SIGKILL);
  ::waitpid(run.shim(), nullptr, 0);
  run.forget_shim();
  EXPECT_EQ(TestRun::wait_for(run.spawn()), kAlreadyRan);
}

TEST(ShimSingleStart, NotWhenManyStartAtTheSameInstant) {
  for (int round = 0; round < 5; ++round) {
    TestRun run("");
    run.spec.command = {"sh", "-c", cat("echo x >> ", run.base().at("count"))};
    run.prepare();
    std::vector<pid_t> shims;
    for (int i = 0; i < 6; ++i) shims.push_back(run.spawn());
    int winners = 0;
    for (const pid_t shim : shims) {
      const auto code = TestRun::wait_for(shim);
      if (code == 0) ++winners;
      EXPECT_TRUE(code == 0 || code == kAlreadyRunning || code == kAlreadyRan) << *code;
    }
    EXPECT_EQ(winners, 1);
    EXPECT_EQ(run.base().read("count"), "x\n");
  }
}

TEST(ShimSingleStart, CheckingTheLockDoesNotPreventTheStart) {
  TestRun run("exit 0");
  run.prepare();
  std::atomic<bool> is_done = false;
  std::jthread checker([&] {
    while (!is_done) (void)is_shim_running(run.folder());
  });
  EXPECT_EQ(TestRun::wait_for(run.spawn()), 0);
  is_done = true;
}

}  // namespace
}  // namespace tangram::shim
