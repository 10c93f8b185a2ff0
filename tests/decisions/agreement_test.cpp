// The indexed policies against the plain ones: over 100,000 random states they must give the same
// placement for every profile and the same result of next_move, including its restraint. Some
// states are built at once, the others result from single edits, so that the index has been updated
// and not rebuilt.
#include <gtest/gtest.h>

#include "core/candidates.hpp"
#include "policies/migration.hpp"
#include "policies/registry.hpp"
#include "tests/decisions/random_node.hpp"

namespace tangram::decisions {
namespace {

constexpr int kBuilt = 1'000;    // states per shard built from a snapshot
constexpr int kEdited = 24'000;  // states per shard reached by edits
constexpr int kEditsOfOneNode = 400;

testing::AssertionResult same_arrivals(const core::Node& node) {
  static const core::PlacementPolicy& paper = **policies::find_placement("paper");
  static const core::PlacementPolicy& plain = **policies::find_placement("paper-plain");
  for (std::size_t i = 0; i < node.name_count(); ++i) {
    const core::ProfileName name(static_cast<std::uint16_t>(i));
    if (core::choose(node, paper, {.profile = name, .avoid = {}}) !=
        core::choose(node, plain, {.profile = name, .avoid = {}})) {
      return testing::AssertionFailure() << "arrival of " << node.name(name);
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_moves(const core::Node& node, core::GpuId gpu) {
  const core::Answer fast = policies::both_next_move(node, gpu);
  const core::Answer plain = policies::both_next_move_plain(node, gpu);
  if (fast.move == plain.move && fast.restrained == plain.restrained && fast.retry == plain.retry) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "next_move of GPU " << gpu.value() << ", restrained "
                                     << fast.restrained << " and " << plain.restrained;
}

// protect_head, by its definition: no move leaves fewer places for the job that waits on its
// target.
testing::AssertionResult head_is_protected(const core::Node& node, core::GpuId planned) {
  const core::Answer answer = policies::both_next_move(node, planned);
  if (!answer.move || !node.tuning().restraint.protect_head) return testing::AssertionSuccess();
  if (node.queue_head() == core::kNoJob) return testing::AssertionSuccess();
  const core::Gpu& gpu = node.gpu(answer.move->to.gpu);
  const mig::Model& model = node.model(gpu.model);
  const auto head = node.profile_on(gpu.model, node.job(node.queue_head()).profile);
  if (!head) return testing::AssertionSuccess();
  const core::Job& job = node.job(answer.move->slot);
  const mig::Placement target{*node.profile_on(gpu.model, job.profile), answer.move->to.start};
  mig::Occupancy after = gpu.projected;
  if (answer.move->kind == core::MoveKind::kIntra) {
    after = model.without(after, node.find(planned, job.main.instance)->placement);
  }
  after = model.with(after, target);
  if (model.feasible(after, *head) >= model.feasible(gpu.projected, *head)) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "a move takes a place of the job that waits";
}

// Mostly few GPUs, now and then up to 200.
std::size_t random_size(Random& random) {
  return 1 + random.below(random.chance(50) ? 200 : (random.chance(500) ? 5 : 30));
}

class Agreement : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Agreement, OfStatesBuiltAtOnce) {
  for (int i = 0; i < kBuilt; ++i) {
    const std::uint64_t seed = GetParam() * 1'000'000 + static_cast<std::uint64_t>(i);
    Random random(seed);
    const auto node = core::build(random_snapshot(random, random_size(random)));
    ASSERT_TRUE(node.has_value()) << node.error().message << ", seed " << seed;
    const core::GpuId gpu(static_cast<std::uint32_t>(random.below(node->gpu_count())));
    ASSERT_TRUE(same_arrivals(*node)) << "seed " << seed;
    ASSERT_TRUE(same_moves(*node, gpu)) << "seed " << seed;
  }
}

TEST_P(Agreement, OfStatesReachedByEdits) {
  for (int i = 0; i < kEdited / kEditsOfOneNode; ++i) {
    const std::uint64_t seed = GetParam() * 1'000'000 + static_cast<std::uint64_t>(i);
    Random random(seed);
    RandomNode node(random, random_size(random));
    for (int edit = 0; edit < kEditsOfOneNode; ++edit) {
      node.change();
      ASSERT_TRUE(same_arrivals(node.node())) << "seed " << seed << ", edit " << edit;
      const core::GpuId gpu = node.any_gpu();
      ASSERT_TRUE(same_moves(node.node(), gpu)) << "seed " << seed << ", edit " << edit;
      ASSERT_TRUE(head_is_protected(node.node(), gpu)) << "seed " << seed << ", edit " << edit;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Agreement, testing::Range<std::uint64_t>(1, 5));

}  // namespace
}  // namespace tangram::decisions
