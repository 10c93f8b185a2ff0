// Requests for GPUs of one model: only those are candidates, by the index as by the plain scan, and
// only those count for what can be served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/candidates.hpp"
#include "core/explain_job.hpp"
#include "core/requested_move.hpp"
#include "mig/catalog.hpp"
#include "policies/registry.hpp"
#include "tests/decisions/random_node.hpp"

namespace tangram::decisions {
namespace {

using core::GpuId;
using core::JobId;
using core::JobPhase;

class GpuModel : public testing::Test {
 protected:
  // GPUs 0 and 1: A100-40GB; GPU 2: A100-80GB. Both models have 1g.10gb.
  GpuModel() {
    for (const char* name : {"A100-40GB", "A100-40GB", "A100-80GB"}) {
      step(core::GpuAdded{std::make_shared<mig::Model>(**mig::find_model(name)), {}});
    }
  }
  void step(const core::Event& event) { scheduler_.step(Instant(), event, actions_); }
  void submit(std::uint64_t id, std::string profile, std::string model) {
    step(core::JobSubmitted{
        {.id = JobId(id), .profile = std::move(profile), .gpu_model = std::move(model)}});
  }
  [[nodiscard]] const core::Job& job(std::uint64_t id) const {
    return scheduler_.node().job(scheduler_.node().find_job(JobId(id)));
  }

  core::Scheduler scheduler_{{}, *policies::find_policies({})};
  core::Actions actions_;
};

TEST_F(GpuModel, OnlyItsGpusAreUsed) {
  for (std::uint64_t id = 1; id <= 4; ++id) submit(id, "3g.40gb", "A100-80GB");
  EXPECT_EQ(job(1).main.gpu, GpuId(2));
  EXPECT_EQ(job(2).main.gpu, GpuId(2));
  EXPECT_EQ(job(3).phase, JobPhase::kQueued);
  submit(5, "1g.10gb", "A100-40GB");
  EXPECT_EQ(job(5).phase, JobPhase::kQueued);  // fcfs: behind job 3
  step(core::JobCancelled{JobId(3)});
  step(core::JobCancelled{JobId(4)});
  EXPECT_LT(job(5).main.gpu, GpuId(2));
}

TEST_F(GpuModel, WithoutItTheJobIsRefusedOrHeld) {
  submit(1, "1g.10gb", "H100-80GB");
  submit(2, "3g.40gb", "A100-40GB");  // that model does not have it
  EXPECT_EQ(scheduler_.node().job_count(), 0U);
  step(core::GpuCordoned{GpuId(2)});
  submit(3, "1g.10gb", "A100-80GB");
  EXPECT_EQ(job(3).phase, JobPhase::kHeld);
  step(core::GpuUncordoned{GpuId(2)});
  EXPECT_EQ(job(3).main.gpu, GpuId(2));
}

TEST_F(GpuModel, OtherGpusAreExplained) {
  submit(1, "7g.80gb", "A100-80GB");
  step(core::InstanceCreated{GpuId(2), job(1).main.instance});
  submit(2, "1g.10gb", "A100-80GB");
  const auto explained = core::explain_job(scheduler_, JobId(2));
  ASSERT_TRUE(explained && explained->waiting);
  std::vector<core::NoCandidate> why;
  for (const core::GpuWithout& each : explained->waiting->without) why.push_back(each.why);
  EXPECT_THAT(why,
              testing::ElementsAre(core::NoCandidate::kOtherModel, core::NoCandidate::kOtherModel,
                                   core::NoCandidate::kSlicesShort));
  EXPECT_THAT(explained->waiting->departures_that_make_room, testing::ElementsAre(JobId(1)));
}

TEST_F(GpuModel, ARequestedMoveStaysOnIt) {
  submit(1, "1g.10gb", "A100-80GB");
  step(core::InstanceCreated{GpuId(2), job(1).main.instance});
  step(core::JobReady{JobId(1), job(1).main.run});
  const auto move = [&](std::uint32_t gpu) {
    return core::requested_move(
        scheduler_.node(), scheduler_.policies(),
        {.job = JobId(1), .anywhere = false, .gpu = GpuId(gpu), .start = 0});
  };
  EXPECT_TRUE(move(2).has_value());
  ASSERT_FALSE(move(0).has_value());
  EXPECT_THAT(move(0).error().message, testing::HasSubstr("submitted for a A100-80GB"));
}

TEST_F(GpuModel, TheIndexAgreesWithThePlainScan) {
  const core::PlacementPolicy& paper = **policies::find_placement("paper");
  const core::PlacementPolicy& plain = **policies::find_placement("paper-plain");
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    const auto node = core::build(random_snapshot(random, 1 + random.below(40)));
    ASSERT_TRUE(node.has_value());
    for (std::size_t n = 0; n < node->name_count(); ++n) {
      for (std::size_t m = 0; m < node->model_count(); ++m) {
        core::Request request{.profile = core::ProfileName(static_cast<std::uint16_t>(n)),
                              .models = {}};
        request.models.insert(core::ModelId(static_cast<std::uint8_t>(m)));
        ASSERT_EQ(core::choose(*node, paper, request), core::choose(*node, plain, request)) << i;
      }
    }
  }
}

}  // namespace
}  // namespace tangram::decisions
