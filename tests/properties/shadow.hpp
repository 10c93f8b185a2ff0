// Shadow: observes a world, and saves and restores its scheduler at random steps, or after every
// one. A twin is restored from the saved state and then gets the same events; a copy is maintained
// from the changes only. Neither may ever differ from the original; the world throws Broken if one
// does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/saved.hpp"
#include "core/scheduler.hpp"
#include "core/transcript.hpp"
#include "world.hpp"

namespace tangram::properties {

inline std::vector<std::string> texts(const core::Node& node, const core::Actions& actions) {
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
  [[nodiscard]] core::Saved saved() const {
    core::Saved saved{.gpus = {}, .jobs = {}, .rest = rest_};
    for (const auto& [id, gpu] : gpus_) saved.gpus.push_back(gpu);
    for (const auto& [id, job] : jobs_) saved.jobs.push_back(job);
    return saved;
  }

 private:
  std::map<core::GpuId, core::SavedGpu> gpus_;
  std::map<core::JobId, core::SavedJob> jobs_;
  core::SavedRest rest_;
};

class Shadow {
 public:
  // `per_mille`: how often the state is saved and restored; 1000: after every step.
  explicit Shadow(std::uint64_t seed, unsigned per_mille = 60)
      : random_(seed), per_mille_(per_mille) {}

  [[nodiscard]] WorldOptions options(WorldOptions of) {
    of.begun = [this](core::Scheduler& s) {
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
    const core::Saved saved = original_->save();
    auto twin = core::Scheduler::restore(saved, original_->policies());
    if (!twin) throw Broken(twin.error().message);
    require(twin->save() == saved, "restoring lost something");
    twin_.emplace(std::move(*twin));
    ++restored_;
  }

  Random random_;
  unsigned per_mille_;
  core::Scheduler* original_ = nullptr;
  std::optional<core::Scheduler> twin_;
  Copy copy_;
  int restored_ = 0;
};

}  // namespace tangram::properties
