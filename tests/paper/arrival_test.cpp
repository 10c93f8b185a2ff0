// §IV-C of the paper, the arrival method: one test per step, with the sentence it holds us to and
// where we deviate. The profiles and starts are those of Table I (A100 40GB).
#include <gtest/gtest.h>

#include "nodes.hpp"

namespace tangram::paper {
namespace {

// Step 1: "Classify each GPU as Lazy or Busy" by the threshold t. 2/7 < 0.4 ≤ 3/7.
TEST(PaperArrivalStep1, AGpuIsLazyBelowTheThresholdAndBusyFromThere) {
  const core::Node node = node_of("0.4", {{{}}, {{"1:2g.10gb@4"}}, {{"2:3g.20gb@4"}}});
  EXPECT_FALSE(node.busy(core::GpuId(0)));
  EXPECT_FALSE(node.busy(core::GpuId(1)));
  EXPECT_TRUE(node.busy(core::GpuId(2)));
}

// Step 1, deviation: the paper has Lazy "below t" and Busy "exceeds t"; exactly t is Busy here.
TEST(PaperArrivalStep1, ExactlyAtTheThresholdIsBusy) {
  const GpuText half{{"1:2g.12gb@0"}, {}, "A30-24GB"};
  EXPECT_TRUE(node_of("0.5", {half}).busy(core::GpuId(0)));
  EXPECT_FALSE(node_of("0.500000001", {half}).busy(core::GpuId(0)));
}

// Step 1 at its ends: t = 0 makes every GPU Busy, t = 1 all but the full ones Lazy.
TEST(PaperArrivalStep1, TheThresholdsEnds) {
  EXPECT_TRUE(node_of("0", {{{}}}).busy(core::GpuId(0)));
  const core::Node node = node_of("1", {{{"1:4g.20gb@0"}}, {{"2:7g.40gb@0"}}});
  EXPECT_FALSE(node.busy(core::GpuId(0)));
  EXPECT_TRUE(node.busy(core::GpuId(1)));
}

// Step 2: "enumerate all feasible MIG placements" of the Lazy GPUs and take the "minimum
// fragmentation": here over every start of every Lazy GPU, by the definition.
TEST(PaperArrivalStep2, TheLowestFragCostOverAllPlacementsOfLazyGpus) {
  const core::Node node = node_of("0.4", {{{"1:1g.5gb@0"}}, {{"2:1g.5gb@2"}}, {{"3:1g.5gb@5"}}});
  const auto slot = arrive(node, "2g.10gb");
  ASSERT_TRUE(slot);
  const auto cost_at = [&](std::uint32_t gpu, int start) {
    const mig::Model& model = node.model(core::GpuId(gpu));
    const mig::Placement there{*model.find_profile("2g.10gb"), static_cast<std::uint8_t>(start)};
    return model.fits(occupied(node, gpu), there)
               ? model.frag_cost(model.with(occupied(node, gpu), there))
               : mig::FragCost(2, 1);  // more than any
  };
  for (std::uint32_t gpu = 0; gpu < 3; ++gpu) {
    for (const int start : {0, 2, 4}) {
      EXPECT_LE(cost_at(slot->gpu.value(), slot->start), cost_at(gpu, start));
    }
  }
}

// Step 2: a Lazy GPU is taken even where a Busy one would be left less fragmented.
TEST(PaperArrivalStep2, OnlyLazyGpusAreLookedAtWhileOneFits) {
  const core::Node node = node_of("0.4", {{{"1:3g.20gb@4"}}, {{"2:1g.5gb@0"}}});
  const auto slot = arrive(node, "3g.20gb");
  EXPECT_EQ(text(slot), "gpu 1 start 4");
}

// Step 2, our reading: the resulting level of the chosen GPU counts, not the increase. GPU 0 is
// fragmented already and a 1g at 1 would add nothing; GPU 1 ends lower.
TEST(PaperArrivalStep2, TheLevelNotTheIncrease) {
  const core::Node node = node_of("1", {{{"1:1g.5gb@0", "2:1g.5gb@3"}}, {{}}});
  EXPECT_EQ(text(arrive(node, "1g.5gb")), "gpu 1 start 6");
}

// Step 3: "Among placements with equal fragmentation cost, prefer those that reuse". Two empty
// GPUs, the second with an idle instance in the right place.
TEST(PaperArrivalStep3, ReuseBreaksATie) {
  const core::Node node = node_of("0.4", {{{}}, {{}, {"3g.20gb@4"}}});
  EXPECT_EQ(text(arrive(node, "3g.20gb")), "gpu 1 start 4 reuse");
}

// Step 3: only a tie: an idle instance in a place that costs more is not reused.
TEST(PaperArrivalStep3, ReuseDoesNotOutweighFragmentation) {
  const core::Node node = node_of("0.4", {{{}, {"3g.20gb@0"}}});
  EXPECT_EQ(text(arrive(node, "3g.20gb")), "gpu 0 start 4");
}

// Step 3, ours: exactly this profile; a larger idle instance is not "reused" for a smaller job.
TEST(PaperArrivalStep3, OnlyTheVeryProfileIsReused) {
  const core::Node node = node_of("0.4", {{{}}, {{}, {"3g.20gb@4"}}});
  EXPECT_EQ(text(arrive(node, "2g.10gb")), "gpu 0 start 4");
}

// Beyond step 3 the paper leaves the choice open; ours is the lowest GPU, then the highest start.
TEST(PaperArrivalStep3, WhatIsLeftOpenLowestGpuHighestStart) {
  EXPECT_EQ(text(arrive(node_of("0.4", {{{}}, {{}}}), "3g.20gb")), "gpu 0 start 4");
}

// Step 4: "If no feasible placement is found on Lazy GPUs" the Busy ones follow, with steps 2 and
// 3. GPU 0 is Lazy (2/7), but its two 1g stand in the way of any 3g.
TEST(PaperArrivalStep4, BusyGpusWhenNoLazyOneFits) {
  const core::Node node = node_of(
      "0.4", {{{"1:1g.5gb@1", "2:1g.5gb@5"}}, {{"3:3g.20gb@0"}}, {{"4:3g.20gb@0"}, {"3g.20gb@4"}}});
  ASSERT_FALSE(node.busy(core::GpuId(0)));
  EXPECT_EQ(text(arrive(node, "3g.20gb")), "gpu 2 start 4 reuse");
}

// Step 5: "If no feasible placement is found on Busy GPUs, queue the job".
TEST(PaperArrivalStep5, NoPlacementAnywhereMeansTheQueue) {
  const core::Node node = node_of("0.4", {{{"1:1g.5gb@1", "2:1g.5gb@5"}}, {{"3:7g.40gb@0"}}});
  EXPECT_EQ(text(arrive(node, "3g.20gb")), "queued");
}

// Step 5: "schedule it in first-come-first-served (FCFS) order". Ours: strictly, so job 4 waits
// behind job 3 although it would fit at once.
TEST(PaperArrivalStep5, FirstComeFirstServed) {
  Driver driver(1);
  driver.submit(1, "3g.20gb");
  driver.submit(2, "4g.20gb");
  driver.submit(3, "7g.40gb");
  driver.exit(2);
  driver.answer_all();
  driver.submit(4, "1g.5gb");
  EXPECT_EQ(driver.scheduler().waiting(),
            (std::vector<core::JobId>{core::JobId(3), core::JobId(4)}));
  driver.exit(1);
  driver.answer_all();
  EXPECT_EQ(driver.scheduler().waiting(), (std::vector<core::JobId>{core::JobId(4)}));
  driver.exit(3);
  driver.answer_all();
  EXPECT_TRUE(driver.scheduler().waiting().empty());
}

}  // namespace
}  // namespace tangram::paper
