// The paper on what follows a decision: dispatch (§IV-C, last paragraph), the move itself (§IV-D,
// last paragraph) and the reclaiming of instances (§V-C). The log has the scheduler's actions in
// order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes.hpp"

namespace tangram::paper {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// §IV-C: "corresponds to an existing MIG partition, the job is scheduled directly".
TEST(PaperDispatch, AnExistingPartitionIsUsedDirectly) {
  Driver driver(1);
  driver.submit(1, "3g.20gb");
  driver.exit(1);
  driver.log.clear();
  driver.submit(2, "3g.20gb");
  EXPECT_THAT(driver.log, ElementsAre("start job 2 as r2 in i1 on gpu 0"));
}

// §IV-C: "Otherwise, the GPU is dynamically partitioned" before the job is dispatched.
TEST(PaperDispatch, OtherwiseTheGpuIsPartitionedFirst) {
  Driver driver(1);
  driver.submit(1, "3g.20gb");
  EXPECT_THAT(driver.log,
              ElementsAre("create i1 3g.20gb@4 on gpu 0", "start job 1 as r1 in i1 on gpu 0"));
}

// §V-C: the scheduler "does not immediately destroy the surplus MIG instances"; they "are
// reclaimed only when repartitioning becomes necessary".
TEST(PaperReclaim, NothingIsDestroyedWhenJobsLeave) {
  Driver driver(1);
  driver.submit(1, "2g.10gb");
  driver.submit(2, "1g.5gb");
  driver.submit(3, "1g.5gb");
  driver.log.clear();
  for (const std::uint64_t job : {1U, 2U, 3U}) {
    driver.exit(job);
    driver.answer_all();
  }
  EXPECT_THAT(driver.log, Not(::testing::Contains(HasSubstr("destroy"))));
}

// §V-C: and then only what is in the way (ours: the idle instances that overlap). The 2g at 4 and
// the 1g at 6 go, the 1g at 3 stays.
TEST(PaperReclaim, OnlyWhatANewInstanceNeedsIsDestroyed) {
  Driver driver(1, "1");
  driver.submit(1, "2g.10gb");
  driver.submit(2, "1g.5gb");
  driver.submit(3, "1g.5gb");
  for (const std::uint64_t job : {3U, 2U, 1U}) {
    driver.exit(job);
    driver.answer_all();
  }
  driver.log.clear();
  driver.submit(4, "3g.20gb");
  EXPECT_THAT(driver.log,
              ElementsAre("destroy i1 on gpu 0", "destroy i2 on gpu 0",
                          "create i4 3g.20gb@4 on gpu 0", "start job 4 as r4 in i4 on gpu 0"));
}

// §IV-D: "the new MIG instance is created, and the job is scheduled on the target GPU before
// terminating the original job". Ours: and it is ready, and has the traffic.
TEST(PaperReplica, IsCreatedBeforeTermination) {
  Driver driver(2);
  driver.submit(1, "3g.20gb");
  driver.submit(2, "7g.40gb");
  driver.submit(3, "4g.20gb");
  driver.log.clear();
  driver.exit(2);
  driver.answer_all();
  EXPECT_THAT(driver.log, ElementsAre("destroy i2 on gpu 1", "create i4 3g.20gb@4 on gpu 1",
                                      "start replica of job 1 as r4 in i4 on gpu 1",
                                      "switch traffic of job 1 from r1 to r4", "stop r1 of job 1"));
}

// §IV-D: "zero downtime": until the replica is ready, no action at all concerns the original.
TEST(PaperReplica, TheOriginalIsNotTouchedUntilTheReplicaIsReady) {
  Driver driver(2);
  driver.submit(1, "3g.20gb");
  driver.submit(2, "3g.20gb");
  driver.submit(3, "4g.20gb");
  driver.submit(4, "4g.20gb");
  driver.exit(2);
  driver.answer_all();
  driver.exit(4);  // an idle 3g is there: the replica is started at once
  driver.log.clear();
  const core::Actions open = driver.take_open();
  ASSERT_TRUE(std::ranges::any_of(
      open, [](const auto& a) { return std::holds_alternative<core::StartJob>(a); }));
  EXPECT_TRUE(std::ranges::none_of(open, [](const auto& a) {
    return std::holds_alternative<core::StopJob>(a) ||
           std::holds_alternative<core::SwitchTraffic>(a);
  }));
  const core::Node& node = driver.scheduler().node();
  const core::Job& job = node.job(node.find_job(core::JobId(1)));
  EXPECT_EQ(job.main.gpu, core::GpuId(0));
  EXPECT_EQ(job.replica.gpu, core::GpuId(1));
  EXPECT_EQ(node.model(core::GpuId(0)).compute_used(node.gpu(core::GpuId(0)).occupied), 7);
}

}  // namespace
}  // namespace tangram::paper
