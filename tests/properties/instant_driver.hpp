// InstantDriver: a driver that performs every action at once and successfully. For benchmarks and
// the count of allocations in a steady state. Once its buffers have grown it allocates nothing, so
// that only the scheduler is measured.
#pragma once

#include <cstddef>
#include <vector>

#include "core/scheduler.hpp"

namespace tangram::properties {

class InstantDriver {
 public:
  explicit InstantDriver(core::Scheduler& scheduler) : scheduler_(scheduler) {}

  // One step, and all that follows from it.
  void deliver(const core::Event& event) {
    step(event);
    for (std::size_t i = 0; i < todo_.size(); ++i) {
      const core::Action action = todo_[i];
      std::visit([this](const auto& a) { answer(a); }, action);
    }
    todo_.clear();
  }
  // One step only; its actions wait for finish().
  void step(const core::Event& event) {
    actions_.clear();
    scheduler_.step(now_, event, actions_);
    ++steps_;
    todo_.insert(todo_.end(), actions_.begin(), actions_.end());
  }
  void exit_job(core::JobId job) { deliver(exited(job)); }
  [[nodiscard]] core::JobExited exited(core::JobId job) const {
    const core::Job& it = scheduler_.node().job(scheduler_.node().find_job(job));
    return {job, it.main.run, true};
  }
  void pass(Duration time) { now_ += time; }
  [[nodiscard]] std::size_t steps() const { return steps_; }

 private:
  void answer(const core::CreateInstance& a) { step(core::InstanceCreated{a.gpu, a.instance}); }
  void answer(const core::DestroyInstance& a) { step(core::InstanceDestroyed{a.gpu, a.instance}); }
  void answer(const core::StartJob& a) { step(core::JobReady{a.job, a.run}); }
  void answer(const core::StopJob& a) { step(core::JobExited{a.job, a.run, true}); }
  void answer(const core::SwitchTraffic& a) {
    step(core::TrafficSwitched{a.job, a.to});
    step(core::TrafficDrained{a.job, a.from, a.to});
  }
  template <class Report>
  void answer(const Report&) {}

  core::Scheduler& scheduler_;
  Instant now_{};
  std::size_t steps_ = 0;
  core::Actions actions_;
  core::Actions todo_;
};

}  // namespace tangram::properties
