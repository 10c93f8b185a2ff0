// Saving and restoring the scheduler, in random worlds with every kind of failure. A twin is
// restored from the state saved at a random step and then gets the same events; a copy is
// maintained from the changes only. Neither may ever differ from the original.
#include "core/saved.hpp"

#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "core/transcript.hpp"
#include "policies/registry.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

using core::Saved;
using core::Scheduler;

std::vector<std::string> texts(const core::Node& node, const core::Actions& actions) {
  std::vector<std::string> lines;
  for (const core::Action& action : actions) lines.push_back(core::to_text(node, action));
  return lines;
}

// What a store keeps: rows that are replaced one by one.
class Copy {
 public:
  void apply(const core::SavedChanges& changes) {
    for (const auto& gpu : changes.gpus) gpus_[gpu.id] = gpu;
    for (const core::JobId id : changes.jobs_gone) jobs_.erase(id);
    for (const auto& job : changes.jobs) jobs_[job.job.id] = job;
    rest_ = changes.rest;
  }
  [[nodiscard]] Saved saved() const {
    Saved saved{.gpus = {}, .jobs = {}, .rest = rest_};
    for (const auto& [id, gpu] : gpus_) saved.gpus.push_back(gpu);
    for (const auto& [id, job] : jobs_) saved.jobs.push_back(job);
    return saved;
  }

 private:
  std::map<core::GpuId, core::SavedGpu> gpus_;
  std::map<core::JobId, core::SavedJob> jobs_;
  core::SavedRest rest_;
};

// Observes a world.
class Shadow {
 public:
  // `per_mille`: how often the state is saved and restored; 1000: after every step.
  explicit Shadow(std::uint64_t seed, unsigned per_mille = 60)
      : random_(seed), per_mille_(per_mille) {}

  [[nodiscard]] WorldOptions options(WorldOptions of) {
    of.begun = [this](Scheduler& s) {
      original_ = &s;
      s.track_changes();
    };
    of.stepped = [this](Instant now, const core::Event& event, const core::Actions& actions) {
      step(now, event, actions);
    };
    return of;
  }
  [[nodiscard]] int restored() const { return restored_; }

 private:
  void step(Instant now, const core::Event& event, const core::Actions& actions) {
    follow(now, event, actions);
    if (random_.chance(300)) {
      copy_.apply(original_->take_changes());
      require(copy_.saved() == original_->save(), "the changes do not add up to the state");
    }
    if (random_.chance(per_mille_)) restore();
  }

  void follow(Instant now, const core::Event& event, const core::Actions& actions) {
    if (!twin_) return;
    core::Actions mine;
    twin_->step(now, event, mine);
    require(texts(twin_->node(), mine) == texts(original_->node(), actions),
            "the restored scheduler decided otherwise");
    require(twin_->save() == original_->save(), "the restored scheduler is in another state");
    require(twin_->waiting() == original_->waiting(), "the restored queue is in another order");
  }

  void restore() {
    const Saved saved = original_->save();
    auto twin = Scheduler::restore(saved, original_->policies());
    if (!twin) throw Broken(twin.error().message);
    require(twin->save() == saved, "restoring lost something");
    twin_.emplace(std::move(*twin));
    ++restored_;
  }

  Random random_;
  unsigned per_mille_;
  Scheduler* original_ = nullptr;
  std::optional<Scheduler> twin_;
  Copy copy_;
  int restored_ = 0;
};

class SavedWorlds : public ::testing::TestWithParam<int> {};

TEST_P(SavedWorlds, RestoredSchedulersGoOnAsTheOriginals) {
  constexpr int kWorlds = 25;
  int restored = 0;
  for (int i = 0; i < kWorlds; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * kWorlds + i + 1);
    Shadow shadow(seed ^ 0x5A7EDU);
    World world(shadow.options({.seed = seed, .steps = 600, .full_checks = false}));
    try {
      world.run();
    } catch (const Broken& broken) {
      FAIL() << world.story() << broken.what() << "\nseed " << seed;
    }
    restored += shadow.restored();
  }
  EXPECT_GT(restored, kWorlds * 10);
}

// Any state that a step leaves can be loaded by the next start of the daemon. Users request moves
// often, also within the cooldown, which restrains only the jobs' owners.
TEST_P(SavedWorlds, EveryStepCanBeRestored) {
  constexpr int kWorlds = 10;
  for (int i = 0; i < kWorlds; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * kWorlds + i + 10'001);
    Shadow shadow(seed ^ 0x5A7EDU, 1'000);
    World world(shadow.options(
        {.seed = seed, .steps = 600, .many_requested_moves = true, .full_checks = false}));
    try {
      world.run();
    } catch (const Broken& broken) {
      FAIL() << world.story() << broken.what() << "\nseed " << seed;
    }
    EXPECT_GE(shadow.restored(), 600);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SavedWorlds, ::testing::Range(0, 8));

}  // namespace
}  // namespace tangram::properties
