// See world.hpp: events in, actions out, and the answers.
#include "world.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/transcript.hpp"
#include "policies/registry.hpp"

namespace tangram::scenario {
namespace {

constexpr int kMaxAnswers = 10'000;  // more than any scenario needs

}  // namespace

Result<void> World::set_up(const core::Tuning& tuning, core::Partitioning partitioning) {
  if (scheduler_ != nullptr) return invalid("there is a node already.");
  const auto policies = policies::find_policies(tuning);
  if (!policies) return std::unexpected(policies.error());
  scheduler_ = std::make_unique<core::Scheduler>(tuning, *policies, partitioning);
  return {};
}

Result<void> World::step(const core::Event& event) {
  const bool time = std::holds_alternative<core::WakeUp>(event);
  const std::string when = time ? cat(": it is ", core::instant_text(now_)) : std::string();
  out_ += cat("  in   ", core::to_text(node(), event), when, "\n");
  last_ = event;
  core::Actions actions;
  scheduler_->step(now_, event, actions);
  for (const core::Action& action : actions) {
    out_ += cat("  out  ", core::to_text(node(), action), "\n");
  }
  for (const core::Action& action : actions) {
    if (auto ok = note(action); !ok) return ok;
  }
  return check_gpus();
}

Result<void> World::send(const core::Event& event) {
  if (auto ok = step(event); !ok) return ok;
  return by_itself_ ? answer_all() : Result<void>{};
}

// Removes the instance with its run, which the driver ends.
Result<void> World::remove(core::GpuId gpu, core::InstanceId instance) {
  instances_.erase(instance);
  std::erase_if(runs_, [&](const auto& each) { return each.second.instance == instance; });
  return send(core::InstanceDestroyed{gpu, instance});
}

Result<void> World::send_again() {
  if (!last_) return invalid("no event yet.");
  return send(core::Event(*last_));
}

Result<void> World::wake() {
  if (!wake_at_) return invalid("no wake-up is outstanding.");
  now_ = std::max(now_, *wake_at_);
  wake_at_.reset();
  return send(core::WakeUp{});
}

Result<void> World::pass_time_until(Instant when) {
  if (when < now_) return invalid("time does not go back.");
  while (wake_at_ && *wake_at_ <= when) {
    if (auto ok = wake(); !ok) return ok;
  }
  now_ = when;
  return {};
}

// The driver ends the runs on a lost GPU by itself, and gives no answers about it.
Result<void> World::lose(core::GpuId gpu) {
  std::erase_if(runs_, [&](const auto& run) { return run.second.gpu == gpu; });
  std::erase_if(instances_, [&](const auto& i) { return i.second.gpu == gpu; });
  std::erase_if(open_, [&](const Open& open) {
    if (const auto* a = std::get_if<core::CreateInstance>(&open.action)) return a->gpu == gpu;
    if (const auto* a = std::get_if<core::DestroyInstance>(&open.action)) return a->gpu == gpu;
    if (const auto* a = std::get_if<core::StartJob>(&open.action)) return a->gpu == gpu;
    return false;
  });
  return send(core::GpuHealth{gpu, core::Health::kLost});
}

// A foreign instance replaces an overlapping one of Tangram's: another program removed that.
Result<void> World::foreign_seen(core::GpuId gpu, mig::Placement placement) {
  const mig::Model& model = node().model(gpu);
  std::erase_if(instances_, [&](const auto& i) {
    const bool in_use =
        std::ranges::any_of(runs_, [&](const auto& run) { return run.second.instance == i.first; });
    return i.second.gpu == gpu && !in_use &&
           (model.range(i.second.placement) & model.range(placement)) != 0;
  });
  return send(core::ForeignSeen{gpu, placement});
}

Result<void> World::answer_by_itself(bool yes) {
  by_itself_ = yes;
  return yes ? answer_all() : Result<void>{};
}

void World::fail_next(core::ActionKind kind, int times) {
  failures_[static_cast<std::size_t>(kind)] = times;
}

bool World::fails(core::ActionKind kind) {
  int& left = failures_[static_cast<std::size_t>(kind)];
  return left > 0 && left-- > 0;
}

Result<void> World::answer_all() {
  for (int answers = 0; !open_.empty(); ++answers) {
    if (answers == kMaxAnswers) return invalid("endless loop of answers.");
    const Open open = open_.front();
    open_.pop_front();
    if (auto ok = perform(open, false); !ok) return ok;
  }
  return {};
}

Result<void> World::answer(const Wanted& wanted, bool fail) {
  const auto found = std::ranges::find_if(open_, wanted, &Open::action);
  if (found == open_.end()) return invalid("no such action waits for an answer.");
  const Open open = *found;
  open_.erase(found);
  if (auto ok = perform(open, fail); !ok) return ok;
  return by_itself_ ? answer_all() : Result<void>{};
}

Result<void> World::perform(const Open& open, bool fail) {
  using core::ActionKind;
  const auto should_fail = [&](ActionKind kind) { return fail || fails(kind); };
  if (const auto* a = std::get_if<core::CreateInstance>(&open.action)) {
    return perform(*a, should_fail(ActionKind::kCreateInstance));
  }
  if (const auto* a = std::get_if<core::DestroyInstance>(&open.action)) {
    return perform(*a, should_fail(ActionKind::kDestroyInstance));
  }
  if (const auto* a = std::get_if<core::StartJob>(&open.action)) {
    return perform(*a, should_fail(ActionKind::kStartJob));
  }
  if (const auto* a = std::get_if<core::StopJob>(&open.action)) {
    return perform(*a, should_fail(ActionKind::kStopJob));
  }
  return perform_switch(open, !open.switched && should_fail(ActionKind::kSwitchTraffic));
}

Result<void> World::perform(const core::CreateInstance& a, bool fail) {
  if (fail) {
    return step(core::ActionFailed{core::ActionKind::kCreateInstance, a.gpu, a.instance, {}, {}});
  }
  instances_[a.instance] = {a.gpu, a.placement};
  return step(core::InstanceCreated{a.gpu, a.instance});
}

Result<void> World::perform(const core::DestroyInstance& a, bool fail) {
  if (fail) {
    return step(core::ActionFailed{core::ActionKind::kDestroyInstance, a.gpu, a.instance, {}, {}});
  }
  instances_.erase(a.instance);
  return step(core::InstanceDestroyed{a.gpu, a.instance});
}

Result<void> World::perform(const core::StartJob& a, bool fail) {
  if (!runs_.contains(a.run)) return {};  // stopped or lost before it came up
  if (!fail) return step(core::JobReady{a.job, a.run});
  runs_.erase(a.run);
  return step(core::ActionFailed{core::ActionKind::kStartJob, a.gpu, a.instance, a.job, a.run});
}

Result<void> World::perform(const core::StopJob& a, bool fail) {
  if (!runs_.contains(a.run)) return {};  // it has exited, as reported
  if (fail) return step(core::ActionFailed{core::ActionKind::kStopJob, {}, {}, a.job, a.run});
  runs_.erase(a.run);
  return step(core::JobExited{a.job, a.run, true});
}

Result<void> World::perform_switch(const Open& open, bool fail) {
  const auto& a = std::get<core::SwitchTraffic>(open.action);
  if (open.switched) {
    return runs_.contains(a.from) ? step(core::TrafficDrained{a.job, a.from, a.to})
                                  : Result<void>{};
  }
  if (fail) return step(core::ActionFailed{core::ActionKind::kSwitchTraffic, {}, {}, a.job, a.to});
  open_.push_back({open.action, true});
  return step(core::TrafficSwitched{a.job, a.to});
}

Result<void> World::exit(core::JobId job, core::RunId run, bool success) {
  runs_.erase(run);
  return send(core::JobExited{job, run, success});
}

std::optional<mig::Placement> World::placement_of(core::InstanceId id) const {
  const auto found = instances_.find(id);
  return found == instances_.end() ? std::nullopt : std::optional(found->second.placement);
}

}  // namespace tangram::scenario
