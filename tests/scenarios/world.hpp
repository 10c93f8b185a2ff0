// World: the driver around the scheduler in a scenario. It performs every action at once and
// answers in order, one at a time, until nothing is left to do, unless it is set to fail or to
// leave the answers to the scenario. It also keeps its own record of the hardware and checks every
// action against it. It knows the scheduler through events and actions only.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "core/scheduler.hpp"

namespace tangram::scenario {

class World {
 public:
  // The transcript is appended to `out`.
  explicit World(std::string& out) : out_(out) {}

  Result<void> set_up(const core::Tuning& tuning, core::Partitioning partitioning);
  [[nodiscard]] const core::Scheduler* scheduler() const { return scheduler_.get(); }
  [[nodiscard]] const core::Node& node() const { return scheduler_->node(); }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::optional<Instant> wake_at() const { return wake_at_; }

  // Handles one event and all that follow from it.
  Result<void> send(const core::Event& event);
  Result<void> remove(core::GpuId gpu, core::InstanceId instance);
  Result<void> send_again();                   // repeats the last event
  Result<void> pass_time_until(Instant when);  // with every wake-up in between
  Result<void> wake();                         // at the outstanding WakeAt
  Result<void> lose(core::GpuId gpu);
  Result<void> foreign_seen(core::GpuId gpu, mig::Placement placement);

  // How actions are answered.
  Result<void> answer_by_itself(bool yes);
  void fail_next(core::ActionKind kind, int times);
  using Wanted = std::function<bool(const core::Action&)>;
  // By hand: answers the first matching open action; an error if there is none.
  Result<void> answer(const Wanted& wanted, bool fail);
  // A run ends by itself.
  Result<void> exit(core::JobId job, core::RunId run, bool success);
  [[nodiscard]] std::optional<mig::Placement> placement_of(core::InstanceId id) const;

 private:
  struct Open {
    core::Action action;
    bool switched = false;  // a switch whose drain is not reported yet
  };
  struct Instance {
    core::GpuId gpu;
    mig::Placement placement;
  };
  struct Run {
    core::JobId job;
    core::GpuId gpu;
    core::InstanceId instance;
  };
  Result<void> step(const core::Event& event);
  Result<void> answer_all();
  Result<void> perform(const Open& open, bool fail);
  Result<void> perform(const core::CreateInstance& a, bool fail);
  Result<void> perform(const core::DestroyInstance& a, bool fail);
  Result<void> perform(const core::StartJob& a, bool fail);
  Result<void> perform(const core::StopJob& a, bool fail);
  Result<void> perform_switch(const Open& open, bool fail);
  bool fails(core::ActionKind kind);

  // world_checks.cpp
  Result<void> note(const core::Action& action);
  Result<void> check_action(const core::CreateInstance& a) const;
  Result<void> check_action(const core::DestroyInstance& a) const;
  Result<void> check_action(const core::StartJob& a) const;
  Result<void> check_gpus() const;

  std::string& out_;
  std::unique_ptr<core::Scheduler> scheduler_;
  Instant now_{};
  std::optional<Instant> wake_at_;
  std::optional<core::Event> last_;
  std::deque<Open> open_;
  std::array<int, 5> failures_{};  // by ActionKind: how many of the next ones fail
  bool by_itself_ = true;
  std::map<core::InstanceId, Instance> instances_;  // what the driver has
  std::map<core::RunId, Run> runs_;                 // started and not seen to exit
};

}  // namespace tangram::scenario
