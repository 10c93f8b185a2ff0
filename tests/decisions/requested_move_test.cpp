// Moves requested by users: what is refused, with which message, and where a move goes; and plans
// that lower FragCost: every step gains and can be made, and the result is what was announced.
#include "core/requested_move.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/snapshot.hpp"
#include "mig/catalog.hpp"
#include "policies/defrag.hpp"
#include "policies/registry.hpp"
#include "tests/decisions/random_node.hpp"

namespace tangram::decisions {
namespace {

using ::testing::HasSubstr;

core::Node node_of(std::vector<std::vector<core::SnapshotJob>> gpus) {
  static const auto model = std::make_shared<const mig::Model>(**mig::find_model("A100-40GB"));
  core::Snapshot snapshot;
  for (auto& jobs : gpus) {
    snapshot.gpus.push_back({.model = model, .jobs = std::move(jobs), .idle = {}});
  }
  return *core::build(snapshot);
}

core::SnapshotJob job(std::uint64_t id, const char* profile, int start, bool movable = true) {
  return {.id = core::JobId(id), .profile = profile, .start = start, .movable = movable};
}

core::MoveRequested to(std::uint64_t id, std::uint32_t gpu, std::uint8_t start) {
  return {.job = core::JobId(id), .anywhere = false, .gpu = core::GpuId(gpu), .start = start};
}

Result<core::Move> requested(const core::Node& node, const core::MoveRequested& request) {
  const auto policies = policies::find_policies(node.tuning());
  return core::requested_move(node, *policies, request);
}

std::string refusal(const core::Node& node, const core::MoveRequested& request) {
  const auto move = requested(node, request);
  EXPECT_FALSE(move.has_value());
  return move ? "" : move.error().message;
}

TEST(RequestedMove, GoesToTheGivenSlotOrTheArrivalChoice) {
  const core::Node node = node_of({{job(1, "1g.5gb", 0)}, {}});
  const auto named = requested(node, to(1, 0, 3));
  ASSERT_TRUE(named.has_value()) << named.error().message;
  EXPECT_EQ(named->to, (core::Slot{core::GpuId(0), 3, false}));
  EXPECT_EQ(named->kind, core::MoveKind::kRequested);
  const auto chosen = requested(node, {.job = core::JobId(1)});
  ASSERT_TRUE(chosen.has_value()) << chosen.error().message;
  EXPECT_EQ(chosen->to, (core::Slot{core::GpuId(1), 6, false}));
}

TEST(RequestedMove, IsRefusedWithTheReason) {
  core::Node node = node_of({{job(1, "1g.5gb", 0), job(2, "3g.20gb", 4, false)}, {}});
  EXPECT_THAT(refusal(node, {.job = core::JobId(7)}), HasSubstr("job 7: not found"));
  EXPECT_THAT(refusal(node, {.job = core::JobId(2)}), HasSubstr("pinned"));
  EXPECT_THAT(refusal(node, to(1, 9, 0)), HasSubstr("gpu 9: not found"));
  EXPECT_THAT(refusal(node, to(1, 0, 0)), HasSubstr("not free"));
  EXPECT_THAT(refusal(node, to(1, 0, 5)), HasSubstr("not free"));
  EXPECT_THAT(refusal(node, to(1, 0, 7)), HasSubstr("allowed: 0, 1, 2, 3, 4, 5, 6"));
  core::Node::Edit(node, core::GpuId(1)).gpu().cordoned = true;
  EXPECT_THAT(refusal(node, to(1, 1, 0)), HasSubstr("cordoned"));
  core::Node::Edit(node, core::GpuId(0)).gpu().incoming = true;
  EXPECT_THAT(refusal(node, to(1, 0, 3)), HasSubstr("another move into gpu 0 is under way"));
  node.add_moves(static_cast<int>(node.tuning().restraint.most_moves));
  EXPECT_THAT(refusal(node, to(1, 0, 3)), HasSubstr("most_moves"));
}

TEST(Defrag, MovesTheJobOfThePapersExample) {
  // §IV-D: 1g at 0 and 2g at 4 leave no place for a 4g; with the 1g at 6 there is one.
  const core::Node node = node_of({{job(1, "1g.5gb", 0), job(2, "2g.10gb", 4)}});
  const auto plan = policies::plan_defrag(node, 10);
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].move.job, core::JobId(1));
  EXPECT_EQ(plan[0].from_start, 0);
  EXPECT_EQ(plan[0].move.to.start, 6);
  EXPECT_EQ(plan[0].before, policies::total_cost(node));
  EXPECT_TRUE(policies::plan_defrag(node, 0).empty());
}

// Every step can be requested, and lowers the cost by the stated amount.
TEST(Defrag, HasTheAnnouncedResultInRandomStates) {
  int steps = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Random random(seed);
    const auto built = core::build(random_snapshot(random, 1 + random.below(6)));
    ASSERT_TRUE(built.has_value()) << built.error().message;
    core::Node node = *built;
    for (const policies::DefragStep& step : policies::plan_defrag(node, 20)) {
      ASSERT_EQ(step.before, policies::total_cost(node)) << "seed " << seed;
      const auto move =
          requested(node, to(step.move.job.value(), step.move.to.gpu.value(), step.move.to.start));
      ASSERT_TRUE(move.has_value()) << move.error().message << ", seed " << seed;
      ASSERT_EQ(*move, step.move) << "seed " << seed;
      core::apply_at_once(node, *move);
      ASSERT_LT(step.after, step.before) << "seed " << seed;
      ASSERT_EQ(step.after, policies::total_cost(node)) << "seed " << seed;
      ++steps;
    }
    ASSERT_TRUE(policies::plan_defrag(node, 20).size() < 20) << "seed " << seed;
  }
  EXPECT_GT(steps, 300);
}

}  // namespace
}  // namespace tangram::decisions
