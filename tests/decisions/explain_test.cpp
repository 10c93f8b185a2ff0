// Explanations against the decisions they explain, over random states: the first candidate is what
// the policy chooses, the first move is what next_move gives, all unblocking moves really free the
// slot when they are made, and every job named as blocking is.
#include "core/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/candidates.hpp"
#include "core/explain_job.hpp"
#include "core/requested_move.hpp"
#include "core/snapshot.hpp"
#include "mig/catalog.hpp"
#include "policies/explain_move.hpp"
#include "policies/migration.hpp"
#include "policies/registry.hpp"
#include "tests/decisions/random_node.hpp"

namespace tangram::decisions {
namespace {

core::Node random_node(std::uint64_t seed) {
  Random random(seed);
  core::Snapshot snapshot = random_snapshot(random, 1 + random.below(12));
  snapshot.tuning.restraint.protect_head = false;
  return *core::build(snapshot);
}

core::ProfileName name_at(std::size_t i) {
  return core::ProfileName(static_cast<std::uint16_t>(i));
}

TEST(Explain, TheFirstCandidateIsTheChoiceOfEveryPolicy) {
  int waits = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const core::Node node = random_node(seed);
    for (const core::PlacementPolicy& policy : policies::placement_policies()) {
      for (std::size_t i = 0; i < node.name_count(); ++i) {
        const core::Request request{.profile = name_at(i)};
        const auto explained = core::explain_arrival(node, policy, request);
        ASSERT_EQ(explained.winner(), core::choose(node, policy, request))
            << policy.name << ", seed " << seed;
        // Every GPU has a candidate or a reason.
        std::set<std::uint32_t> gpus;
        for (const auto& c : explained.candidates) gpus.insert(c.slot.gpu.value());
        ASSERT_EQ(gpus.size() + explained.without.size(), node.gpu_count());
        waits += explained.candidates.empty() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(waits, 0);
}

TEST(Explain, TheFirstMoveIsTheNextMove) {
  int moves = 0;
  for (std::uint64_t seed = 1; seed <= 3'000; ++seed) {
    const core::Node node = random_node(seed);
    for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
      const auto explained = policies::explain_move(node, core::GpuId(g));
      const auto move = policies::both_next_move(node, core::GpuId(g)).move;
      ASSERT_EQ(move.has_value(), !explained.candidates.empty()) << "seed " << seed;
      if (!move) continue;
      ASSERT_EQ(*move, explained.candidates.front().move) << "seed " << seed << ", GPU " << g;
      ++moves;
    }
  }
  EXPECT_GT(moves, 500);
}

bool is_candidate(const core::Node& node, const core::PlacementPolicy& policy,
                  const core::Request& request, const core::Slot& slot) {
  const auto explained = core::explain_arrival(node, policy, request);
  return std::ranges::any_of(explained.candidates, [&](const core::ExplainedCandidate& c) {
    return c.slot.gpu == slot.gpu && c.slot.start == slot.start;
  });
}

bool restrains_operators_too(const core::Restraining& each) {
  return each.by == core::RestraintKind::kMaxMoves;
}

// Makes the moves one after another; each is refused exactly to those whom its restraints restrain.
// False: a move cannot be made at all.
bool make_moves(core::Node& node, const core::UnblockingMoves& unblocking) {
  const core::Policies all = *policies::find_policies({});
  EXPECT_EQ(unblocking.restrained.size(), unblocking.moves.size());
  for (std::size_t i = 0; i < unblocking.moves.size(); ++i) {
    const core::Move& move = unblocking.moves[i];
    core::MoveRequested request{
        .job = move.job, .anywhere = false, .gpu = move.to.gpu, .start = move.to.start};
    request.restrained = true;
    EXPECT_EQ(core::requested_move(node, all, request).has_value(),
              unblocking.restrained[i].empty());
    request.restrained = false;
    const auto made = core::requested_move(node, all, request);
    const bool none = std::ranges::any_of(unblocking.restrained[i], restrains_operators_too);
    EXPECT_EQ(made.has_value(), !none) << (made ? "" : made.error().message);
    if (none) return false;
    core::apply_at_once(node, move);
  }
  return true;
}

TEST(Explain, UnblockingMovesFreeTheSlot) {
  const core::PlacementPolicy& policy = **policies::find_placement("paper");
  int unblocked = 0;
  int restrained = 0;
  for (std::uint64_t seed = 1; seed <= 2'000 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    core::Snapshot snapshot = random_snapshot(random, 1 + random.below(12));
    if (random.chance(100)) snapshot.tuning.restraint.most_moves = 0;
    if (random.chance(200)) snapshot.tuning.migration = "off";
    core::Node node = *core::build(snapshot);
    for (std::size_t i = 0; i < node.name_count(); ++i) {
      const core::Request request{.profile = name_at(i)};
      if (core::choose(node, policy, request)) continue;
      for (const core::UnblockingMoves& unblocking :
           core::explain_waiting(node, policy, request).moves_that_make_room) {
        core::Node after = node;
        restrained += unblocking.restrained.front().empty() ? 0 : 1;
        if (!make_moves(after, unblocking)) continue;
        ASSERT_TRUE(is_candidate(after, policy, request, unblocking.slot))
            << node.name(request.profile);
        ++unblocked;
      }
    }
  }
  EXPECT_GT(unblocked, 500);
  EXPECT_GT(restrained, 100);
}

// protect_head protects the first waiting job: whether a move would take a slot from it.
TEST(Explain, EveryRestraintIsNamed) {
  Random random(7);
  int headed = 0;
  for (int i = 0; i < 20'000; ++i) {
    RandomNode random_node(random, 1 + random.below(4));
    for (int n = 0; n < 20; ++n) random_node.change();
    const core::Node& node = random_node.node();
    const core::PlacementPolicy& policy = **policies::find_placement("paper");
    if (node.queue_head() == core::kNoJob || !node.tuning().restraint.protect_head) continue;
    const core::Request request{.profile = name_at(random.below(node.name_count()))};
    if (core::choose(node, policy, request)) continue;
    for (const core::UnblockingMoves& unblocking :
         core::explain_waiting(node, policy, request).moves_that_make_room) {
      const core::Move& move = unblocking.moves.front();
      const auto result = core::requested_move(node, *policies::find_policies({}),
                                               {.job = move.job,
                                                .anywhere = false,
                                                .gpu = move.to.gpu,
                                                .start = move.to.start,
                                                .restrained = true});
      ASSERT_EQ(result.has_value(), unblocking.restrained.front().empty()) << i;
      headed +=
          std::ranges::any_of(unblocking.restrained.front(), [](const core::Restraining& each) {
            return each.by == core::RestraintKind::kProtectHead;
          });
    }
    if (headed > 20) return;
  }
  FAIL() << "too few moves would take a place from the first: " << headed;
}

TEST(Explain, SaysWhatBlocksAndWhatWouldUnblock) {
  const auto model = std::make_shared<mig::Model>(**mig::find_model("A100-40GB"));
  core::Snapshot snapshot;
  snapshot.gpus.push_back({.model = model,
                           .jobs = {{core::JobId(1), "1g.5gb", 1}, {core::JobId(2), "2g.10gb", 4}},
                           .idle = {}});
  snapshot.gpus.push_back({.model = model, .jobs = {{core::JobId(3), "7g.40gb", 0}}, .idle = {}});
  const core::Node node = *core::build(snapshot);
  const core::PlacementPolicy& policy = **policies::find_placement("paper");
  const core::Request request{.profile = *node.find_name("4g.20gb")};
  const auto explained = core::explain_waiting(node, policy, request);
  ASSERT_EQ(explained.without.size(), 2U);
  EXPECT_EQ(explained.without[0].why, core::NoCandidate::kFragmented);
  EXPECT_EQ(explained.without[1].why, core::NoCandidate::kSlicesShort);
  ASSERT_EQ(explained.moves_that_make_room.size(), 1U);
  EXPECT_EQ(explained.moves_that_make_room[0].moves[0].job, core::JobId(1));
  EXPECT_EQ(explained.moves_that_make_room[0].moves[0].to.start, 6);
  EXPECT_THAT(explained.departures_that_make_room,
              testing::ElementsAre(core::JobId(1), core::JobId(3)));
}

// Every reason why a GPU takes no jobs, by its name; and the instances that stay when jobs end.
TEST(Explain, NamesTheCause) {
  core::Scheduler scheduler({}, *policies::find_policies({}));
  core::Actions actions;
  const auto step = [&](const core::Event& event) { scheduler.step(Instant(), event, actions); };
  const auto model = std::make_shared<mig::Model>(**mig::find_model("A100-40GB"));
  for (int i = 0; i < 5; ++i) step(core::GpuAdded{model, {}});
  const auto gpu = [](std::uint32_t g) { return core::GpuId(g); };
  step(core::GpuCordoned{gpu(0)});
  step(core::ForeignSeen{gpu(1), {*model->find_profile("3g.20gb"), 4}});
  step(core::GpuHealth{gpu(2), core::Health::kUnresponsive});
  step(core::GpuHealth{gpu(3), core::Health::kLost});
  step(core::ForeignSeen{gpu(4), {*model->find_profile("1g.5gb"), 0}});
  step(core::GpuDrained{gpu(4)});
  const core::Node& node = scheduler.node();
  const auto without = core::explain_waiting(node, *scheduler.policies().placement,
                                             {.profile = *node.find_name("7g.40gb")})
                           .without;
  std::vector<core::NoCandidate> why;
  for (const core::GpuWithout& each : without) why.push_back(each.why);
  EXPECT_THAT(why, testing::ElementsAre(
                       core::NoCandidate::kCordoned, core::NoCandidate::kSlicesShort,
                       core::NoCandidate::kUnresponsive, core::NoCandidate::kLost, testing::_));
  ASSERT_EQ(without[1].standing.size(), 1U);
  EXPECT_EQ(without[1].standing[0].start, 4);
  EXPECT_EQ(without[1].standing[0].state, core::EntryState::kForeign);
  EXPECT_TRUE(without[4].standing.empty());  // out of service is reason enough
}

// A job that is being stopped: a slot will become free by itself.
TEST(Explain, NamesAwaitedDepartures) {
  core::Scheduler scheduler({}, *policies::find_policies({}));
  core::Actions actions;
  const auto step = [&](const core::Event& event) {
    actions.clear();
    scheduler.step(Instant(), event, actions);
  };
  step(core::GpuAdded{std::make_shared<mig::Model>(**mig::find_model("A30-24GB")), {}});
  for (std::uint64_t id = 1; id <= 2; ++id) {
    step(core::JobSubmitted{{.id = core::JobId(id), .profile = "4g.24gb"}});
  }
  const auto instance = scheduler.node().entries(core::GpuId(0)).front().id;
  step(core::InstanceCreated{core::GpuId(0), instance});
  const auto run = scheduler.node().job(scheduler.node().find_job(core::JobId(1))).main.run;
  step(core::JobReady{core::JobId(1), run});
  EXPECT_FALSE(core::explain_job(scheduler, core::JobId(2))->waiting->to_come);
  step(core::JobCancelled{core::JobId(1)});
  const auto explained = core::explain_job(scheduler, core::JobId(2));
  ASSERT_TRUE(explained->waiting->to_come);
  EXPECT_THAT(explained->waiting->to_come->jobs, testing::ElementsAre(core::JobId(1)));
  step(core::JobExited{core::JobId(1), run, false});
  EXPECT_GT(scheduler.node().job(scheduler.node().find_job(core::JobId(2))).phase,
            core::JobPhase::kQueued);
}

TEST(Explain, SaysWhatHoldsADrainingGpu) {
  const auto model = std::make_shared<mig::Model>(**mig::find_model("A30-24GB"));
  core::Snapshot snapshot;
  snapshot.gpus.push_back({.model = model,
                           .jobs = {{core::JobId(1), "1g.6gb", 0, false},
                                    {core::JobId(2), "1g.6gb", 1},
                                    {core::JobId(3), "2g.12gb", 2}},
                           .idle = {},
                           .cordoned = true});
  snapshot.gpus.push_back({.model = model,
                           .jobs = {{core::JobId(4), "1g.6gb", 0}, {core::JobId(5), "1g.6gb", 2}},
                           .idle = {}});
  const core::Node node = *core::build(snapshot);
  const core::PlacementPolicy& policy = **policies::find_placement("paper");
  const auto held = core::drain_hold_ups(node, policy, core::GpuId(0));
  ASSERT_EQ(held.size(), 3U);
  EXPECT_EQ(held[0].why, "pinned: awaited");
  EXPECT_EQ(held[1].why, "its move is next");
  EXPECT_EQ(held[2].why, "no place elsewhere");
  EXPECT_EQ(held[2].job, core::JobId(3));
}

TEST(Explain, SaysWhyAJobIsNotRunning) {
  core::Scheduler scheduler({}, *policies::find_policies({}));
  core::Actions actions;
  const auto step = [&](const core::Event& event) {
    actions.clear();
    scheduler.step(Instant(), event, actions);
  };
  step(core::GpuAdded{std::make_shared<mig::Model>(**mig::find_model("A30-24GB")), {}});
  for (std::uint64_t id = 1; id <= 4; ++id) {
    step(core::JobSubmitted{{.id = core::JobId(id), .profile = id == 3 ? "1g.6gb" : "4g.24gb"}});
  }
  step(core::JobHeld{core::JobId(4)});
  const auto third = core::explain_job(scheduler, core::JobId(3));
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->phase, core::JobPhase::kQueued);
  EXPECT_THAT(third->ahead, testing::ElementsAre(core::JobId(2)));
  ASSERT_TRUE(third->waiting.has_value());
  EXPECT_EQ(third->waiting->without.front().why, core::NoCandidate::kSlicesShort);
  const auto fourth = core::explain_job(scheduler, core::JobId(4));
  EXPECT_EQ(fourth->phase, core::JobPhase::kHeld);
  EXPECT_EQ(fourth->holds, core::kHoldUser);
  EXPECT_FALSE(core::explain_job(scheduler, core::JobId(1))->waiting.has_value());
  EXPECT_EQ(core::explain_job(scheduler, core::JobId(9)).error().message, "job 9: not found.");
  // Creating its instance fails: the slot may be tried again in 30 seconds.
  step(core::ActionFailed{.kind = core::ActionKind::kCreateInstance,
                          .gpu = core::GpuId(0),
                          .instance = core::InstanceId(1),
                          .job = {},
                          .run = {}});
  EXPECT_EQ(core::explain_job(scheduler, core::JobId(1))->retry_at,
            Instant() + std::chrono::seconds(30));
}

}  // namespace
}  // namespace tangram::decisions
