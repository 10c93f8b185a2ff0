// For tests of the store: runs a scheduler and collects its steps in batches, as the daemon does,
// with a few jobs that are submitted and end. Deterministic.
#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "core/saved.hpp"
#include "core/scheduler.hpp"
#include "mig/catalog.hpp"
#include "policies/registry.hpp"
#include "store/decisions.hpp"
#include "store/store.hpp"

namespace tangram::store::testing {

inline std::shared_ptr<const mig::Model> model_named(const char* name) {
  const auto model = mig::find_model(name);
  CHECK(model.has_value());
  return {std::shared_ptr<void>(), *model};
}

inline WallTime wall(std::int64_t us) { return WallTime(std::chrono::microseconds(us)); }

// Rows with all other members at their defaults.
inline JobRow job_row(std::uint64_t id, bool over = false, std::optional<WallTime> ended = {}) {
  JobRow row;
  row.id = id;
  row.over = over;
  row.ended = ended;
  return row;
}
inline RunRow run_row(std::uint32_t run, std::uint64_t job) {
  RunRow row;
  row.run = run;
  row.job = job;
  return row;
}

class SchedulerDriver {
 public:
  SchedulerDriver() : scheduler_({}, *policies::find_policies({})) { scheduler_.track_changes(); }
  // Resumes from the contents of a store.
  explicit SchedulerDriver(const Contents& contents)
      : scheduler_(*core::Scheduler::restore(
            contents.scheduler, *policies::find_policies(contents.scheduler.rest.tuning))) {
    scheduler_.track_changes();
  }

  [[nodiscard]] core::Scheduler& scheduler() { return scheduler_; }

  void step(const core::Event& event) {
    core::Actions actions;
    const Instant now = scheduler_.node().now() + std::chrono::milliseconds(250);
    scheduler_.step(now, event, actions);
    changes_.steps.push_back({.sequence = 0,
                              .at = now,
                              .wall = wall(now.time_since_epoch().count()),
                              .event = event,
                              .decisions = decisions_text(scheduler_.node(), actions)});
    for (const core::Action& action : actions) pending_.push_back(action);
  }
  // Answers the oldest pending action with its event; false if there is none.
  bool answer() {
    while (!pending_.empty()) {
      const core::Action action = pending_.front();
      pending_.erase(pending_.begin());
      if (const auto event = answer_to(action)) {
        step(*event);
        return true;
      }
    }
    return false;
  }
  void submit(std::uint64_t id, const std::string& profile = "1g.5gb") {
    step(core::JobSubmitted{{.id = core::JobId(id), .profile = profile}});
    JobRow row = job_row(id);
    row.uid = 1000;
    row.user = "ada";
    row.request = R"({"command":["true"]})";
    row.name = "job " + std::to_string(id);
    row.profile = profile;
    row.state = "queued";
    row.submitted = wall(static_cast<std::int64_t>(id));
    changes_.jobs.push_back(row);
  }
  // Returns the batch since the last call.
  [[nodiscard]] Changes take() {
    Changes batch = std::exchange(changes_, {});
    batch.scheduler = scheduler_.take_changes();
    return batch;
  }
  [[nodiscard]] Changes& batch() { return changes_; }

 private:
  static std::optional<core::Event> answer_to(const core::Action& action) {
    if (const auto* a = std::get_if<core::CreateInstance>(&action)) {
      return core::InstanceCreated{a->gpu, a->instance};
    }
    if (const auto* a = std::get_if<core::DestroyInstance>(&action)) {
      return core::InstanceDestroyed{a->gpu, a->instance};
    }
    if (const auto* a = std::get_if<core::StartJob>(&action)) return core::JobReady{a->job, a->run};
    if (const auto* a = std::get_if<core::StopJob>(&action)) {
      return core::JobExited{a->job, a->run, true};
    }
    return std::nullopt;
  }

  core::Scheduler scheduler_;
  Changes changes_;
  std::vector<core::Action> pending_;
};

inline std::unique_ptr<Store> open_at(const std::string& path, const OpenOptions& options = {}) {
  auto store = Store::open(path, options);
  if (!store) std::fputs(store.error().message.c_str(), stderr);
  CHECK(store.has_value());
  return *std::move(store);
}

// Aborts the test on an error.
inline void must(const Result<void>& done) {
  if (!done) std::fputs(done.error().message.c_str(), stderr);
  CHECK(done.has_value());
}

// Runs `jobs` jobs on two GPUs and commits a batch every few steps.
inline void run_jobs(Store& store, SchedulerDriver& driver, std::uint64_t first_job, int jobs) {
  if (driver.scheduler().node().gpu_count() == 0) {
    driver.step(core::GpuAdded{model_named("A100-40GB"), {}});
    driver.step(core::GpuAdded{model_named("A30-24GB"), {}});
  }
  for (int i = 0; i < jobs; ++i) {
    const std::uint64_t id = first_job + static_cast<std::uint64_t>(i);
    driver.submit(id, i % 3 == 0 ? "2g.10gb" : "1g.5gb");
    while (driver.answer()) {
    }
    if (i >= 5 && i % 2 == 0) driver.step(core::JobCancelled{core::JobId(id - 4)});
    if (i % 4 == 3) must(store.commit(driver.take()));
  }
  must(store.commit(driver.take()));
}

}  // namespace tangram::store::testing
