// World: the tiny body around the scheduler in a scenario. It performs every action at once and
// answers in order, one answer at a time, until nothing is left to do; unless it was told to fail
// or to leave the answers to the scenario. Beside that it keeps its own book of what the hardware
// would have, and holds every action against it. One rule: it knows the scheduler only through
// events and actions; its book is never read from the scheduler's state.
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
  // The transcript goes to the end of `out`.
  explicit World(std::string& out) : out_(out) {}

  Result<void> set_up(const core::Tuning& tuning, core::Partitioning partitioning);
  [[nodiscard]] const core::Scheduler* scheduler() const { return scheduler_.get(); }
  [[nodiscard]] const core::Node& node() const { return scheduler_->node(); }
  [[nodiscard]] Instant now() const { return now_; }
  [[nodiscard]] std::optional<Instant> wake_at() const { return wake_at_; }

  // One event, and whatever follows from it.
  Result<void> send(const core::Event& event);
  Result<void> remove(core::GpuId gpu, core::InstanceId instance);
  Result<void> send_again();                   // the last event once more
  Result<void> pass_time_until(Instant when);  // with every wake-up on the way
  Result<void> wake();                         // at the WakeAt that is out
  Result<void> lose(core::GpuId gpu);
  Result<void> foreign_seen(core::GpuId gpu, mig::Placement placement);

  // How actions are answered.
  Result<void> answer_by_itself(bool yes);
  void fail_next(core::ActionKind kind, int times);
  using Wanted = std::function<bool(const core::Action&)>;
  // By hand: answers the first open action that is wanted; an error if there is none.
  Result<void> answer(const Wanted& wanted, bool fail);
  // A run ends without being asked.
  Result<void> exit(core::JobId job, core::RunId run, bool success);
  [[nodiscard]] std::optional<mig::Placement> placement_of(core::InstanceId id) const;

 private:
  struct Open {
    core::Action action;
    bool switched = false;  // a switch whose drain is still to be told
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
