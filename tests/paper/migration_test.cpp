// §IV-D of the paper, the departure method: one test per step of intra- and inter-GPU migration.
// Deviations, all ours: gains and balance are strict; both GPUs of an inter-GPU move are of one
// model; ties go to reuse, the lowest job, the highest start (intra) and the lowest GPU, the lowest
// job (inter).
#include <gtest/gtest.h>

#include "nodes.hpp"

namespace tangram::paper {
namespace {

// "The decision is guided by the updated status of" the GPU that was left: Busy: moves within it;
// Lazy: moves from others.
TEST(PaperMigration, ABusyGpuLooksWithinALazyOneAtTheOthers) {
  const std::vector<GpuText> gpus{{{"1:1g.5gb@3", "2:1g.5gb@6"}},
                                  {{"3:4g.20gb@0", "4:2g.10gb@4", "5:1g.5gb@6"}}};
  const auto lazy = next_move(node_of("0.4", gpus), 0);
  ASSERT_TRUE(lazy);
  EXPECT_EQ(lazy->kind, core::MoveKind::kInter);
  const auto busy = next_move(node_of("0.2", gpus), 0);
  ASSERT_TRUE(busy);
  EXPECT_EQ(busy->kind, core::MoveKind::kIntra);
}

// Intra-GPU step 1: P is a "valid and unoccupied placement": the job still holds its own slices
// while its replica starts, so they are occupied too. The 4g has no second start; the 3g at 0 has
// one at 4, which job 2 blocks.
TEST(PaperIntraStep1, TheTargetIsFreeBesideTheJobItself) {
  EXPECT_EQ(text(next_move(node_of("0", {{{"1:3g.20gb@0"}}}), 0)), "job 1 to gpu 0 start 4");
  EXPECT_EQ(text(next_move(node_of("0", {{{"1:3g.20gb@0", "2:1g.5gb@6"}}}), 0)), "none");
  EXPECT_EQ(text(next_move(node_of("0", {{{"1:4g.20gb@0"}}}), 0)), "none");
}

// Intra-GPU step 2: the pair "which minimizes the fragmentation cost", here checked against every
// pair by the definition.
TEST(PaperIntraStep2, TheLowestFragCostOfAllPairs) {
  const core::Node node = node_of("0", {{{"1:1g.5gb@0", "2:2g.10gb@4"}}});
  const auto move = next_move(node, 0);
  ASSERT_TRUE(move);
  const mig::Model& model = node.model(core::GpuId(0));
  const mig::Occupancy now = occupied(node, 0);
  const auto after = [&](mig::Placement from, int start) {
    const mig::Placement to{from.profile, static_cast<std::uint8_t>(start)};
    return model.frag_cost(model.with(model.without(now, from), to));
  };
  const mig::Placement job[] = {placement(node, 0, "1g.5gb@0"), placement(node, 0, "2g.10gb@4")};
  const mig::FragCost chosen = after(job[move->job.value() - 1], move->to.start);
  EXPECT_LT(chosen, model.frag_cost(now));
  for (const mig::Placement from : job) {
    for (const int start : model.profile(from.profile).starts) {
      const mig::Placement to{from.profile, static_cast<std::uint8_t>(start)};
      if (!model.fits(now, to)) continue;
      EXPECT_LE(chosen, after(from, start));
    }
  }
}

// Intra-GPU step 2, ours: on equal cost an idle instance is reused, then the lowest job moves, then
// the highest start is taken. Two 1g at 0 and 2: the one can go to 3 or the other to 1.
TEST(PaperIntraStep2, TiesReuseLowestJobHighestStart) {
  const std::vector<std::string> jobs{"7:1g.5gb@0", "8:1g.5gb@2"};
  EXPECT_EQ(text(next_move(node_of("0", {{jobs}}), 0)), "job 7 to gpu 0 start 3");
  EXPECT_EQ(text(next_move(node_of("0", {{jobs, {"1g.5gb@1"}}}), 0)),
            "job 8 to gpu 0 start 1 reuse");
  EXPECT_EQ(text(next_move(node_of("0", {{{"8:1g.5gb@0", "7:1g.5gb@2"}}}), 0)),
            "job 7 to gpu 0 start 1");
  EXPECT_EQ(text(next_move(node_of("0", {{{"1:1g.5gb@4", "2:2g.10gb@0"}}}), 0)),
            "job 1 to gpu 0 start 3");
}

// Intra-GPU step 3: "until no candidate migration can further reduce the fragmentation": every
// move lowers the cost, and in the end there is none.
TEST(PaperIntraStep3, RepeatedUntilNothingIsGained) {
  core::Node node = node_of("0", {{{"1:1g.5gb@0", "2:1g.5gb@3", "3:1g.5gb@5"}}});
  mig::FragCost cost = node.model(core::GpuId(0)).frag_cost(occupied(node, 0));
  int moves = 0;
  for (auto move = next_move(node, 0); move; move = next_move(node, 0)) {
    core::apply_at_once(node, *move);
    const mig::FragCost after = node.model(core::GpuId(0)).frag_cost(occupied(node, 0));
    ASSERT_LT(after, cost);
    cost = after;
    ASSERT_LT(++moves, 20);
  }
  EXPECT_GE(moves, 1);
}

// Inter-GPU step 1: "Enumerate running jobs on Busy GPUs": a Lazy one gives none.
TEST(PaperInterStep1, OnlyFromBusyGpus) {
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}}, {{"1:1g.5gb@6", "2:1g.5gb@5"}}}), 0)), "none");
  EXPECT_NE(text(next_move(node_of("0.2", {{{}}, {{"1:1g.5gb@6", "2:2g.10gb@4"}}}), 0)), "none");
}

// Inter-GPU step 1: only jobs whose move "can result in a lower load" on the target than on the
// source: 0 + 3 < 7 − 3, but not 0 + 4 < 7 − 4. Ours: strictly lower, 3 < 6 − 3 is not.
TEST(PaperInterStep1, OnlyIfTheTargetEndsWithLessLoad) {
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}}, {{"1:4g.20gb@0", "2:3g.20gb@4"}}}), 0)),
            "job 2 to gpu 0 start 4");
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}}, {{"1:3g.20gb@0", "2:3g.20gb@4"}}}), 0)), "none");
}

// Inter-GPU step 1, ours: between GPUs of one model; a profile of the same name has another
// geometry elsewhere.
TEST(PaperInterStep1, OnlyBetweenGpusOfOneModel) {
  const GpuText full{{"1:4g.40gb@0", "2:3g.40gb@4"}, {}, "A100-80GB"};
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}}, full}), 0)), "none");
}

// Inter-GPU steps 2 and 3: of the eligible jobs the one "which minimizes fragmentation" of the GPU
// it leaves. Without job 3 (the 2g at 0) GPU 1 keeps a 2g at 2 and a 3g at 4; without job 2, the
// one at 2, the 3g at 4 and the 2g at 0.
TEST(PaperInterStep2, TheSourceThatIsLeftLeastFragmented) {
  const core::Node node = node_of("0.4", {{{}}, {{"1:3g.20gb@4", "2:2g.10gb@2", "3:2g.10gb@0"}}});
  const auto move = next_move(node, 0);
  ASSERT_TRUE(move);
  const mig::Model& model = node.model(core::GpuId(1));
  const mig::Occupancy now = occupied(node, 1);
  const auto left = [&](std::string_view job) {
    return model.frag_cost(model.without(now, placement(node, 1, job)));
  };
  const mig::FragCost costs[] = {left("3g.20gb@4"), left("2g.10gb@2"), left("2g.10gb@0")};
  for (const mig::FragCost& cost : costs) EXPECT_LE(costs[move->job.value() - 1], cost);
}

// Inter-GPU step 3: the job goes to "the placement that minimize fragmentation" of the target; on
// a tie an idle instance is reused (ours).
TEST(PaperInterStep3, TheTargetsLeastFragmentedStart) {
  const GpuText full{{"1:4g.20gb@0", "2:3g.20gb@4"}};
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}}, full}), 0)), "job 2 to gpu 0 start 4");
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}, {"3g.20gb@0"}}, full}), 0)),
            "job 2 to gpu 0 start 4");
  EXPECT_EQ(text(next_move(node_of("0.4", {{{}, {"3g.20gb@4"}}, full}), 0)),
            "job 2 to gpu 0 start 4 reuse");
}

// Inter-GPU step 4: "until no job meets the criteria". Ours: when a move has made the target Busy,
// intra-GPU moves follow.
TEST(PaperInterStep4, RepeatedUntilNoJobQualifies) {
  core::Node node = node_of("0.4", {{{}},
                                    {{"1:1g.5gb@0", "2:1g.5gb@1", "3:1g.5gb@2", "4:1g.5gb@3",
                                      "5:1g.5gb@4", "6:1g.5gb@5", "7:1g.5gb@6"}}});
  int moves = 0;
  for (auto move = next_move(node, 0); move; move = next_move(node, 0)) {
    EXPECT_EQ(move->kind,
              node.busy(core::GpuId(0)) ? core::MoveKind::kIntra : core::MoveKind::kInter);
    core::apply_at_once(node, *move);
    ASSERT_LT(++moves, 20);
  }
  const mig::Model& model = node.model(core::GpuId(0));
  EXPECT_EQ(model.compute_used(occupied(node, 0)), 3);
  EXPECT_EQ(model.compute_used(occupied(node, 1)), 4);
}

}  // namespace
}  // namespace tangram::paper
