// The baselines, worked by hand: for every criterion of every key a small state in which that
// criterion decides, and what must be chosen there. A row whose choice would be the same without
// its criterion, or with it reversed, fails, because it would test nothing.
//
// Notation: a GPU is its model, the placements of its jobs, then those of its idle instances. An
// A30 has four slices: 1g anywhere, 2g at 0 and 2. An A100 has eight: 1g.5gb at 0 to 6, 1g.10gb at
// 0, 2, 4, 6, 2g.10gb at 0, 2, 4, 3g.20gb at 0 and 4; the driver starts at the right end.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/candidates.hpp"
#include "core/snapshot.hpp"
#include "policies/queue_orders.hpp"
#include "policies/registry.hpp"
#include "tests/support/mig/models.hpp"

namespace tangram::decisions {
namespace {

using mig::testing::or_stop;

constexpr const char* kA30 = "A30-24GB";
constexpr const char* kA100 = "A100-40GB";
constexpr const char* kGrace = "GH200-96GB";       // 7 compute, 8 memory slices, as an A100
constexpr const char* kPro = "RTX-PRO-6000-96GB";  // 4 compute, 12 memory slices: 1g takes 3

struct OneGpu {
  std::string model;
  std::vector<std::string> jobs = {};
  std::vector<std::string> idle = {};
};

struct AvoidedSlot {
  std::uint32_t gpu = 0;
  int start = 0;
  bool reuse = false;
};

struct Row {
  std::string policy;
  std::string criterion;  // the one that decides, by its name in the registry
  std::vector<OneGpu> gpus;
  std::string profile;
  AvoidedSlot expect;
  std::vector<std::string> recent = {};  // requests noted before
  std::vector<AvoidedSlot> avoid = {};   // slots in back-off
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.policy << " by " << row.criterion;
}

core::Node build(const std::vector<OneGpu>& gpus,
                 core::Partitioning partitioning = core::Partitioning::kDynamic) {
  core::Snapshot snapshot{.tuning = {}, .partitioning = partitioning, .gpus = {}};
  std::uint64_t next_job = 1;
  for (const OneGpu& gpu : gpus) {
    core::SnapshotGpu one;
    one.model = {std::shared_ptr<void>(), &mig::testing::model(gpu.model)};
    for (const std::string& text : gpu.jobs) {
      const mig::PlacementText job = or_stop(mig::parse_placement(text));
      one.jobs.push_back({core::JobId(next_job++), job.profile, job.start});
    }
    for (const std::string& text : gpu.idle) {
      const mig::PlacementText idle = or_stop(mig::parse_placement(text));
      one.idle.push_back({idle.profile, idle.start});
    }
    snapshot.gpus.push_back(std::move(one));
  }
  return or_stop(core::build(snapshot));
}

// The choice with each key changed in some way.
template <class Change>
std::optional<core::Slot> choose_with(const core::Node& node, const core::PlacementPolicy& policy,
                                      const core::Request& request, Change change) {
  std::optional<std::pair<core::Key, core::Slot>> best;
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    core::for_each_candidate(node, request, core::GpuId(g), policy.only_idle,
                             [&](const core::Slot& slot) {
                               core::Key key = policy.key(node, request, slot);
                               change(key);
                               if (!best || key < best->first) best = {key, slot};
                             });
  }
  return best ? std::optional(best->second) : std::nullopt;
}

class Baselines : public testing::TestWithParam<Row> {};

TEST_P(Baselines, ChoosesByTheCriterion) {
  const Row& row = GetParam();
  core::Node node = build(row.gpus);
  for (const std::string& name : row.recent) node.note_request(*node.find_name(name));
  std::vector<core::BackOff> avoid;
  for (const AvoidedSlot& place : row.avoid) {
    avoid.push_back({.gpu = core::GpuId(place.gpu),
                     .start = static_cast<std::uint8_t>(place.start),
                     .failures = 1,
                     .until = node.now() + std::chrono::seconds(1)});
  }
  const core::PlacementPolicy& policy = *or_stop(policies::find_placement(row.policy));
  const core::Request request{.profile = *node.find_name(row.profile), .avoid = avoid};
  const core::Slot expected{core::GpuId(row.expect.gpu),
                            static_cast<std::uint8_t>(row.expect.start), row.expect.reuse};
  const auto chosen = core::choose(node, policy, request);
  ASSERT_TRUE(chosen.has_value());
  EXPECT_EQ(chosen->gpu, expected.gpu) << "at start " << int{chosen->start};
  EXPECT_EQ(int{chosen->start}, int{expected.start});
  EXPECT_EQ(chosen->reuse, expected.reuse);

  const auto named = std::ranges::find(policy.criteria, row.criterion);
  ASSERT_NE(named, policy.criteria.end()) << "no such criterion";
  const auto part = static_cast<std::size_t>(named - policy.criteria.begin());
  const auto turned = [&](core::Key& key) { key[part] = -key[part]; };
  EXPECT_NE(choose_with(node, policy, request, turned), expected) << "the sign does not matter";
  if (part + 1 == policy.criteria.size()) return;  // without it, the order of the candidates
  const auto without = [&](core::Key& key) { key[part] = 0; };
  EXPECT_NE(choose_with(node, policy, request, without), expected) << "it does not matter";
}

std::string name_of(const testing::TestParamInfo<Row>& info) {
  std::string name = info.param.policy + "_" + std::to_string(info.index);
  std::ranges::replace(name, '-', '_');
  return name;
}

const Row kFirstFit[] = {
    // GPU 0 has room from start 1 on; GPU 1 would offer start 0.
    {"first-fit", "GPU", {{kA30, {"1g.6gb@0"}}, {kA30}}, "1g.6gb", {0, 1}},
    // An idle instance on GPU 1 does not attract.
    {"first-fit", "GPU", {{kA30, {"2g.12gb@0"}}, {kA30, {}, {"2g.12gb@0"}}}, "2g.12gb", {0, 2}},
    // The table lists 0 before 2, and the idle instance at 2 does not attract either.
    {"first-fit", "start in table order", {{kA30, {}, {"2g.12gb@2"}}}, "2g.12gb", {0, 0}},
    {"first-fit-driver", "GPU", {{kA30, {"2g.12gb@0"}}, {kA30}}, "2g.12gb", {0, 2}},
    // The driver takes 4, which covers neither a place of 4g nor the left 3g; the lowest is 0.
    {"first-fit-driver", "the driver's start", {{kA100}}, "2g.10gb", {0, 4}},
    // The driver's start 4 is in back-off: of 0 and 2 the lowest.
    {"first-fit-driver", "start", {{kA100}}, "2g.10gb", {0, 0}, {}, {{0, 4}}},
    // Only instances that are there: the empty GPU 0 is no candidate, and GPU 1 comes before 2
    // although the start there is higher.
    {"static-first-fit",
     "GPU",
     {{kA30}, {kA30, {}, {"1g.6gb@3"}}, {kA30, {}, {"1g.6gb@0"}}},
     "1g.6gb",
     {1, 3, true}},
    {"static-first-fit",
     "start in table order",
     {{kA30, {"1g.6gb@0"}, {"1g.6gb@1", "1g.6gb@2"}}},
     "1g.6gb",
     {0, 1, true}},
};
INSTANTIATE_TEST_SUITE_P(FirstFit, Baselines, testing::ValuesIn(kFirstFit), name_of);

const Row kBestFit[] = {
    // One slice stays free on GPU 1, three on GPU 0.
    {"best-fit", "free slices after", {{kA30}, {kA30, {"2g.12gb@2"}}}, "1g.6gb", {1, 1}},
    // Three stay free on both: GPU 0, though GPU 1 has an instance to reuse.
    {"best-fit", "GPU", {{kA30}, {kA30, {}, {"1g.6gb@1"}}}, "1g.6gb", {0, 3}},
    // Beside the job at 0, start 1 keeps the right half for a 2g (FragCost 0); 2 and 3 take it
    // (1/3: two free slices would hold a 2g, but no start is free).
    {"best-fit", "FragCost after", {{kA30, {"1g.6gb@0"}}}, "1g.6gb", {0, 1}},
    // Both halves leave FragCost 0: reuse before the higher start.
    {"best-fit", "reuse", {{kA30, {}, {"2g.12gb@0"}}}, "2g.12gb", {0, 0, true}},
    {"best-fit", "highest start", {{kA30}}, "1g.6gb", {0, 3}},

    // Loads 1/4 and 0.
    {"least-loaded", "load", {{kA30, {"1g.6gb@3"}}, {kA30}}, "1g.6gb", {1, 3}},
    // One compute slice each, but 1/4 of the first and 1/7 of the second. By FragCost it would be
    // the first: two 1g on one half of it cost 0, whereas no 3g or 4g is left at 0 on the second.
    {"least-loaded", "load", {{kPro, {"1g.24gb@0"}}, {kGrace, {"1g.12gb@0"}}}, "1g.24gb", {1, 2}},
    // Start 0 keeps the right half whole (0), 2 and 3 do not (1/3).
    {"least-loaded", "FragCost after", {{kA30, {"1g.6gb@1"}}}, "1g.6gb", {0, 0}},
    // Reuse even on the higher GPU.
    {"least-loaded", "reuse", {{kA30}, {kA30, {}, {"2g.12gb@0"}}}, "2g.12gb", {1, 0, true}},
    // Equal but for the side that is free: the lower GPU, not the higher start.
    {"least-loaded", "GPU", {{kA30, {"2g.12gb@2"}}, {kA30, {"2g.12gb@0"}}}, "1g.6gb", {0, 1}},
    {"least-loaded", "highest start", {{kA30}}, "1g.6gb", {0, 3}},
};
INSTANTIATE_TEST_SUITE_P(BestFit, Baselines, testing::ValuesIn(kBestFit), name_of);

const Row kStyles[] = {
    // Nine slices are free on the used GPU, eight on the empty one of the smaller model.
    {"owp-style", "used before empty", {{kGrace}, {kPro, {"1g.24gb@0"}}}, "1g.24gb", {1, 9}},
    // Three slices are free on GPU 0, two on GPU 1.
    {"owp-style",
     "free slices before",
     {{kA30, {"1g.6gb@1"}}, {kA30, {"2g.12gb@2"}}},
     "2g.12gb",
     {1, 0}},
    {"owp-style", "GPU", {{kA30, {"2g.12gb@2"}}, {kA30, {"2g.12gb@0"}}}, "1g.6gb", {0, 1}},
    // At 6 it would strand slice 7, which no profile takes without 6; elsewhere it strands none.
    {"owp-style", "stranded slices", {{kA100}}, "1g.5gb", {0, 5}},
    {"owp-style", "highest start", {{kA30}}, "1g.6gb", {0, 3}},

    // One slice stays free on GPU 1, two on GPU 0.
    {"elasticbatch-style", "free slices after", {{kA30}, {kA30, {"1g.6gb@2"}}}, "2g.12gb", {1, 0}},
    // Both would be full: GPU 0, though the start is higher there.
    {"elasticbatch-style",
     "GPU",
     {{kA30, {"2g.12gb@0"}}, {kA30, {"2g.12gb@2"}}},
     "2g.12gb",
     {0, 2}},
    {"elasticbatch-style", "the driver's start", {{kA100}}, "1g.5gb", {0, 6}},
    {"elasticbatch-style", "start", {{kA100}}, "1g.5gb", {0, 0}, {}, {{0, 6}}},

    // At 0 seven slices in a row stay free; at 6 more placements (14 to 12), but a run of six.
    {"hami-style", "largest free run", {{kA100}}, "1g.5gb", {0, 0}},
    // Runs of two after 1 and after 3, but only 2-3 is a place of a 2g: three placements to two.
    {"hami-style", "legal placements left", {{kA30, {"1g.6gb@0"}}}, "1g.6gb", {0, 1}},
    {"hami-style", "GPU", {{kA30, {"2g.12gb@2"}}, {kA30, {"2g.12gb@0"}}}, "2g.12gb", {0, 0}},
    // 0 and 3 leave a run of three and the same placements.
    {"hami-style", "highest start", {{kA30}}, "1g.6gb", {0, 3}},
};
INSTANTIATE_TEST_SUITE_P(Styles, Baselines, testing::ValuesIn(kStyles), name_of);

const std::vector<std::string> kMostlyPairs{"2g.10gb", "3g.20gb", "2g.10gb", "2g.10gb"};
const std::vector<std::string> kMostlyHalves{"3g.20gb", "3g.20gb", "2g.10gb", "3g.20gb"};

const Row kIncreases[] = {
    // No increase at 1, 1/3 at 2 and 3, where the last place of a 2g goes.
    {"min-delta", "increase of FragCost", {{kA30, {"1g.6gb@0"}}}, "1g.6gb", {0, 1}},
    // GPU 0 would stay at 0, GPU 1 falls from 1/3 (two slices, no place for a 2g) to 0: the
    // increase counts, not what is reached.
    {"min-delta",
     "increase of FragCost",
     {{kA30}, {kA30, {"1g.6gb@0", "1g.6gb@2"}}},
     "1g.6gb",
     {1, 3}},
    {"min-delta", "reuse", {{kA30}, {kA30, {}, {"1g.6gb@2"}}}, "1g.6gb", {1, 2, true}},
    // No increase at 2 of GPU 0 nor anywhere on the empty GPU 1.
    {"min-delta", "GPU", {{kA30, {"1g.6gb@3"}}, {kA30}}, "1g.6gb", {0, 2}},
    {"min-delta", "highest start", {{kA30}}, "2g.12gb", {0, 2}},

    // To a 2g, slice 1 is unusable beside the job at 0. Start 1 takes it (1 to 0 unusable); 2 or 3
    // leave a second one (1 to 2).
    {"fgd-style",
     "increase of unusable slices",
     {{kA30, {"1g.6gb@0"}}},
     "1g.6gb",
     {0, 1},
     {"2g.12gb"}},
    // A 1g.10gb beside a 2g.10gb at 0. To a 2g.10gb, 6-7 are unusable until taken: at 6 the change
    // is -2, at 2 and 4 it is 0. To a 3g.20gb, 2-3 are: at 2 the change is -2, at 4 and 6 it is +2.
    // Three to one: 3·(-2) + 2 = -4 at 6, 3·0 - 2 = -2 at 2, and +2 at 4, where one is idle.
    {"fgd-style",
     "increase of unusable slices",
     {{kA100, {"2g.10gb@0"}, {"1g.10gb@4"}}},
     "1g.10gb",
     {0, 6},
     kMostlyPairs},
    // One to three: -2 + 3·2 = +4 at 6, 3·(-2) = -6 at 2.
    {"fgd-style",
     "increase of unusable slices",
     {{kA100, {"2g.10gb@0"}}},
     "1g.10gb",
     {0, 2},
     kMostlyHalves},
    // One more slice is unusable to a 2g wherever it goes.
    {"fgd-style", "reuse", {{kA30}, {kA30, {}, {"1g.6gb@0"}}}, "1g.6gb", {1, 0, true}, {"2g.12gb"}},
    // To a 1g no free slice is unusable.
    {"fgd-style", "GPU", {{kA30, {"1g.6gb@3"}}, {kA30}}, "1g.6gb", {0, 2}, {"1g.6gb"}},
    {"fgd-style", "highest start", {{kA30}}, "1g.6gb", {0, 3}, {"4g.24gb"}},
};
INSTANTIATE_TEST_SUITE_P(Increases, Baselines, testing::ValuesIn(kIncreases), name_of);

TEST(BaselineDetails, EveryPlacementPolicyHasARowForEveryCriterion) {
  std::vector<Row> rows;
  for (const std::span<const Row> part :
       {std::span<const Row>(kFirstFit), std::span<const Row>(kBestFit),
        std::span<const Row>(kStyles), std::span<const Row>(kIncreases)}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  for (const core::PlacementPolicy& policy : policies::placement_policies()) {
    if (policy.name.starts_with("paper")) continue;  // vectors_test.cpp
    for (const std::string_view criterion : policy.criteria) {
      EXPECT_TRUE(std::ranges::any_of(
          rows,
          [&](const Row& row) { return row.policy == policy.name && row.criterion == criterion; }))
          << policy.name << " by " << criterion;
    }
  }
}

// A made-up model whose table lists the right half first.
TEST(BaselineDetails, FirstFitFollowsTheTableNotTheNumbers) {
  auto model = mig::Model::build(
      mig::testing::made_spec(2, 2, {mig::testing::made_profile("1g", 1, 1, {1, 0}, 2)}));
  core::Snapshot snapshot;
  snapshot.gpus.push_back(
      {.model = std::make_shared<mig::Model>(or_stop(std::move(model))), .jobs = {}, .idle = {}});
  const core::Node node = or_stop(core::build(snapshot));
  const core::Request request{.profile = *node.find_name("1g")};
  const auto chosen = core::choose(node, **policies::find_placement("first-fit"), request);
  EXPECT_EQ(chosen, (core::Slot{core::GpuId(0), 1, false}));
}

TEST(BaselineDetails, StaticFirstFitCreatesNothing) {
  const auto& policy = **policies::find_placement("static-first-fit");
  // An empty GPU, and an idle instance of another profile at the very place.
  const core::Node node = build({{kA30}, {kA30, {}, {"2g.12gb@0"}}});
  EXPECT_EQ(core::choose(node, policy, {.profile = *node.find_name("1g.6gb")}), std::nullopt);
  EXPECT_EQ(core::choose(node, policy, {.profile = *node.find_name("2g.12gb")}),
            (core::Slot{core::GpuId(1), 0, true}));
}

// Only the last 64 requests count: the pairs are forgotten.
TEST(BaselineDetails, FgdForgetsOldRequests) {
  core::Node node = build({{kA100, {"2g.10gb@0"}}});
  const core::Request request{.profile = *node.find_name("1g.10gb")};
  const auto& policy = **policies::find_placement("fgd-style");
  const auto start = [&] { return int{core::choose(node, policy, request)->start}; };
  for (int i = 0; i < 64; ++i) node.note_request(*node.find_name("2g.10gb"));
  EXPECT_EQ(start(), 6);
  for (int i = 0; i < 64; ++i) node.note_request(*node.find_name("3g.20gb"));
  EXPECT_EQ(start(), 2);
  EXPECT_EQ(node.recent(*node.find_name("2g.10gb")), 0U);
  EXPECT_EQ(node.recent(*node.find_name("3g.20gb")), 64U);
}

// Each order: the expected first, then what it must stand before, in both directions.
void expect_before(std::string_view queue, core::Waiting first, core::Waiting second) {
  const core::QueuePolicy& policy = **policies::find_queue(queue);
  EXPECT_TRUE(policy.before(first, second)) << queue;
  EXPECT_FALSE(policy.before(second, first)) << queue;
  EXPECT_FALSE(policy.before(first, first)) << queue;
}

TEST(QueueOrders, FcfsUsesTheOrderAlone) {
  expect_before("fcfs", {1, 1, 1}, {2, 8, 7});
  expect_before("fcfs", {1, 8, 7}, {2, 1, 1});
}

TEST(QueueOrders, LargestMemoryFirst) {
  // Memory before compute and before the order, then compute, then the order.
  expect_before("largest-memory", {9, 4, 1}, {1, 2, 2});
  expect_before("largest-memory", {9, 4, 4}, {1, 4, 3});
  expect_before("largest-memory", {1, 4, 3}, {2, 4, 3});
}

TEST(QueueOrders, LargestProfileFirst) {
  // Compute before memory and before the order, then memory, then the order.
  expect_before("largest-profile", {9, 2, 2}, {1, 4, 1});
  expect_before("largest-profile", {9, 2, 1}, {1, 1, 1});
  expect_before("largest-profile", {1, 4, 3}, {2, 4, 3});
}

TEST(QueueOrders, BelongToTheirBaselines) {
  for (const core::PlacementPolicy& policy : policies::placement_policies()) {
    const std::string_view expected = policy.name == "owp-style"            ? "largest-memory"
                                      : policy.name == "elasticbatch-style" ? "largest-profile"
                                                                            : "fcfs";
    EXPECT_EQ(policy.queue, expected) << policy.name;
    EXPECT_TRUE(policies::find_queue(policy.queue).has_value());
  }
}

}  // namespace
}  // namespace tangram::decisions
