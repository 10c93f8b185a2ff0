// Liveness over random states: what waits is tried again when it could go on. Each test brings
// random worlds into a random state, lets everything under way end, and then changes one thing.
#include <algorithm>

#include <gtest/gtest.h>

#include "core/candidates.hpp"
#include "policies/migration.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

using core::GpuId;
using core::JobId;
using core::Node;

constexpr std::uint64_t kSeeds = 200;

core::Tuning unrestrained() {
  core::Tuning tuning;
  tuning.restraint.cooldown = Duration::zero();
  tuning.restraint.protect_head = false;
  return tuning;
}

// A world at rest after some random steps, without operator actions.
World at_rest(std::uint64_t seed) {
  World world({.seed = seed, .full_checks = false, .only_dynamic = true});
  world.steps(200);
  world.settle();
  for (std::uint32_t g = 0; g < world.scheduler().node().gpu_count(); ++g) {
    world.deliver(core::GpuUncordoned{GpuId(g)});
  }
  world.set_tuning(unrestrained());
  for (const auto cause :
       {core::kHoldUser, core::kHoldLimit, core::kHoldDependency, core::kHoldArray}) {
    for (const JobId job : std::vector(world.live_jobs())) {
      world.deliver(core::JobReleased{job, cause});
    }
  }
  world.settle();
  return world;
}

bool reported(const core::Actions& actions, JobId job, core::JobNews news) {
  return std::ranges::any_of(actions, [&](const core::Action& action) {
    const auto* report = std::get_if<core::JobReport>(&action);
    return report != nullptr && report->job == job && report->news == news;
  });
}

const core::MoveReport* begun(const core::Actions& actions) {
  for (const core::Action& action : actions) {
    const auto* move = std::get_if<core::MoveReport>(&action);
    if (move != nullptr && move->news == core::MoveNews::kBegun) return move;
  }
  return nullptr;
}

// Small jobs until the largest profile of the first GPU fits nowhere; then one of those, which
// waits.
void make_a_head_wait(World& world) {
  const Node& node = world.scheduler().node();
  const auto& profiles = node.model(GpuId(0)).profiles();
  const auto largest = std::ranges::max(profiles, {}, &mig::Profile::memory_slices);
  const core::Request request{.profile = *node.find_name(largest.name)};
  while (core::choose_plainly(node, *world.scheduler().policies().placement, request)) {
    world.submit(profiles.front().name);
  }
  world.submit(largest.name);
}

TEST(Liveness, CancellingTheHeadStartsTheNext) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world = at_rest(seed);
    for (const JobId job : std::vector(world.live_jobs())) world.deliver(core::JobCancelled{job});
    world.settle();
    make_a_head_wait(world);
    const Node& node = world.scheduler().node();
    const JobId small = world.submit(node.model(GpuId(0)).profiles().front().name);
    while (world.scheduler().waiting().front() != small) {
      const JobId head = world.scheduler().waiting().front();
      world.deliver(core::JobCancelled{head});
      const bool fits = reported(world.actions(), small, core::JobNews::kPlaced);
      if (fits) break;
    }
    // Either it started in the step that made it the head, or it does not fit even alone.
    if (world.scheduler().waiting_count() == 0) {
      ++tried;
      EXPECT_TRUE(reported(world.actions(), small, core::JobNews::kPlaced)) << "seed " << seed;
    }
  }
  EXPECT_GT(tried, 50);
}

TEST(Liveness, AFailedMoveIsNotChosenAgainAtOnce) {
  Coverage coverage;  // check_back_off checks every move of every world
  for (std::uint64_t seed = 1000; seed < 1000 + kSeeds; ++seed) {
    World world({.seed = seed, .full_checks = false});
    ASSERT_NO_THROW(world.steps(500)) << "seed " << seed << "\n" << world.story();
    coverage.add(world.coverage());
  }
  EXPECT_GT(coverage.move_news[static_cast<std::size_t>(core::MoveNews::kRolledBack)], 100);
}

TEST(Liveness, AJobThatNoGpuCanServeDoesNotBlockTheQueue) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world = at_rest(seed);
    for (const JobId job : std::vector(world.live_jobs())) world.deliver(core::JobCancelled{job});
    world.settle();
    const Node& node = world.scheduler().node();
    const std::string lonely = node.model(GpuId(0)).profiles().front().name;
    for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
      if (node.model(GpuId(g)).find_profile(lonely)) world.deliver(core::GpuCordoned{GpuId(g)});
    }
    const JobId first = world.submit(lonely);
    EXPECT_TRUE(reported(world.actions(), first, core::JobNews::kHeld)) << "seed " << seed;
    for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
      if (!node.gpu(GpuId(g)).takes_jobs() || node.gpu(GpuId(g)).occupied != mig::kEmpty) continue;
      const JobId second = world.submit(node.model(GpuId(g)).profiles().front().name);
      EXPECT_TRUE(reported(world.actions(), second, core::JobNews::kPlaced)) << "seed " << seed;
      ++tried;
      break;
    }
    world.deliver(core::GpuUncordoned{GpuId(0)});
    EXPECT_FALSE(reported(world.actions(), first, core::JobNews::kHeld)) << "seed " << seed;
    EXPECT_TRUE(reported(world.actions(), first, core::JobNews::kQueued)) << "seed " << seed;
  }
  EXPECT_GT(tried, 20);
}

TEST(Liveness, ARestrainedMoveIsPlannedAgain) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    World world = at_rest(seed);
    core::Tuning none = unrestrained();
    none.restraint.most_moves = 0;
    world.set_tuning(none);
    const Node& node = world.scheduler().node();
    std::vector<JobId> running;
    for (const core::JobSlot s : node.jobs_by_id()) {
      if (node.job(s).phase == core::JobPhase::kRunning) running.push_back(node.job(s).id);
    }
    if (running.empty() || node.tuning().migration != "both") continue;
    const JobId leaving = world.random().pick(running);
    const GpuId left = node.job(node.find_job(leaving)).main.gpu;
    world.exit_job(leaving, true);
    EXPECT_EQ(begun(world.actions()), nullptr);
    EXPECT_TRUE(world.scheduler().awaits_planning(left)) << "seed " << seed;
    world.settle();
    const core::Answer wanted = policies::both_next_move_plain(node, left);
    none.restraint.most_moves = 8;
    world.set_tuning(none);
    const core::MoveReport* move = begun(world.actions());
    if (!wanted.move) continue;
    ++tried;
    ASSERT_NE(move, nullptr) << "seed " << seed << "\n" << world.story();
  }
  EXPECT_GT(tried, 20);
}

// The same if the policy itself returns "restrained": the smallest gain forbids the move.
TEST(Liveness, AMoveThatGainsTooLittleIsPlannedAgain) {
  int tried = 0;
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    World world = at_rest(seed);
    core::Tuning strict = unrestrained();
    strict.restraint.smallest_gain_ppm = 999'999;
    world.set_tuning(strict);
    const Node& node = world.scheduler().node();
    const std::vector<JobId> jobs = world.live_jobs();
    for (const JobId job : jobs) {
      const core::JobSlot s = node.find_job(job);
      if (s == core::kNoJob || node.job(s).phase != core::JobPhase::kRunning) continue;
      if (node.job(s).moving()) continue;
      const GpuId left = node.job(s).main.gpu;
      world.exit_job(job, true);
      const core::Answer answer = policies::both_next_move_plain(node, left);
      if (answer.move || !answer.restrained || node.moves_under_way() > 0) continue;
      ++tried;
      EXPECT_TRUE(world.scheduler().awaits_planning(left)) << "seed " << seed;
      world.set_tuning(unrestrained());
      ASSERT_NE(begun(world.actions()), nullptr) << "seed " << seed << "\n" << world.story();
      break;
    }
  }
  EXPECT_GT(tried, 20);
}

// What may keep a draining GPU occupied, once everything is at rest.
bool may_stay(const core::Scheduler& scheduler, const core::Entry& e) {
  const Node& node = scheduler.node();
  if (!e.occupies() || e.state == core::EntryState::kForeign) return true;
  if (e.job == core::kNoJob) return false;
  const core::Job& job = node.job(e.job);
  if (!job.allowed_to_move) return true;
  return !core::choose_plainly(node, *scheduler.policies().placement,
                               {.profile = job.profile, .models = node.models_of(job)});
}

TEST(Liveness, ADrainedGpuEndsEmptyOrSaysWhatHoldsIt) {
  int emptied = 0;
  for (std::uint64_t seed = 1; seed <= 2 * kSeeds; ++seed) {
    World world = at_rest(seed);
    const Node& node = world.scheduler().node();
    const GpuId gpu = world.any_gpu();
    world.deliver(core::GpuDrained{gpu});
    world.settle();
    EXPECT_TRUE(node.gpu(gpu).cordoned);
    bool empty = true;
    for (const core::Entry& e : node.entries(gpu)) {
      empty = empty && (!e.occupies() || e.state == core::EntryState::kForeign);
      EXPECT_TRUE(may_stay(world.scheduler(), e)) << "seed " << seed << world.story();
    }
    emptied += empty ? 1 : 0;
    const auto drained = static_cast<std::size_t>(core::GpuNews::kDrained);
    EXPECT_EQ(node.gpu(gpu).draining, !empty) << "seed " << seed;
    EXPECT_TRUE(!empty || world.coverage().gpu_news[drained] > 0) << "seed " << seed;
  }
  EXPECT_GT(emptied, 20);
}

}  // namespace
}  // namespace tangram::properties
