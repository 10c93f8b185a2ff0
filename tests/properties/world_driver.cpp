// See world.hpp: the driver around the scheduler. Actions are checked when they are requested,
// performed after a delay, and answered after another; each may fail.
#include <algorithm>

#include "world.hpp"

namespace tangram::properties {
namespace {

bool is_over(core::JobNews news) {
  switch (news) {
    case core::JobNews::kFinished:
    case core::JobNews::kFailed:
    case core::JobNews::kCancelled:
    case core::JobNews::kCreateFailed:
    case core::JobNews::kRefusedProfile:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Handles the actions and reports of a step.
void World::take(const core::Action& action) {
  if (const auto* wake = std::get_if<core::WakeAt>(&action)) {
    wake_ = wake->when;
    return;
  }
  if (const auto* news = std::get_if<core::JobReport>(&action)) {
    if (is_over(news->news)) {
      require(std::erase(live_, news->job) == 1, "the end of a job that was not there");
    }
    return;
  }
  Perform p{action};
  if (const auto* create = std::get_if<core::CreateInstance>(&action)) {
    truth_.check_request(*create);
    p.epoch = truth_.gpu(create->gpu).epoch;
  } else if (const auto* destroy = std::get_if<core::DestroyInstance>(&action)) {
    truth_.check_request(*destroy);
    p.epoch = truth_.gpu(destroy->gpu).epoch;
  } else if (const auto* start = std::get_if<core::StartJob>(&action)) {
    truth_.check_request(*start);
    p.epoch = truth_.gpu(start->gpu).epoch;
  } else if (!std::holds_alternative<core::SwitchTraffic>(action) &&
             !std::holds_alternative<core::StopJob>(action)) {
    return;  // a report
  }
  later(delay(trouble(50) ? 60'000 : 3000), p);
}

void World::perform(const Perform& p) {
  std::visit(
      [&](const auto& a) {
        using A = std::decay_t<decltype(a)>;
        if constexpr (requires {
                        a.gpu;
                        a.instance;
                      }) {
          (*this)(a, truth_.gpu(a.gpu).epoch != p.epoch);
        } else if constexpr (std::is_same_v<A, core::SwitchTraffic> ||
                             std::is_same_v<A, core::StopJob>) {
          (*this)(a, false);
        }
      },
      p.action);
}

void World::operator()(const core::CreateInstance& a, bool is_void) {
  const core::ActionFailed no{.kind = core::ActionKind::kCreateInstance,
                              .gpu = a.gpu,
                              .instance = a.instance,
                              .job = {},
                              .run = {}};
  if (is_void) {
    answer(no);
    return;
  }
  if (!truth_.can_make(a.gpu, a.instance) || trouble(60)) {
    // The next observation comes after the answer.
    for (const Instance& i : truth_.gpu(a.gpu).instances) {
      if (!i.foreign()) continue;
      later(std::chrono::seconds(3), core::Event(core::ForeignSeen{a.gpu, i.placement}));
    }
    std::erase_if(truth_.gpu(a.gpu).instances,
                  [&](const Instance& i) { return i.id == a.instance; });
    answer(no);
    return;
  }
  truth_.find(a.gpu, a.instance)->made = true;
  answer(core::InstanceCreated{a.gpu, a.instance});
}

void World::operator()(const core::DestroyInstance& a, bool is_void) {
  const core::ActionFailed no{.kind = core::ActionKind::kDestroyInstance,
                              .gpu = a.gpu,
                              .instance = a.instance,
                              .job = {},
                              .run = {}};
  const Instance* it = truth_.find(a.gpu, a.instance);
  if (is_void || it == nullptr) {
    answer(random_.chance(500) ? core::Event(no)
                               : core::Event(core::InstanceDestroyed{a.gpu, a.instance}));
    return;
  }
  require(!truth_.used(a.gpu, a.instance), "an instance in use is being destroyed");
  const bool can = truth_.gpu(a.gpu).health == core::Health::kOk && !it->alien;
  if (!can || trouble(80)) {
    answer(no);
    return;
  }
  std::erase_if(truth_.gpu(a.gpu).instances, [&](const Instance& i) { return i.id == a.instance; });
  answer(core::InstanceDestroyed{a.gpu, a.instance});
}

void World::operator()(const core::StartJob& a, bool is_void) {
  Run* run = truth_.find(a.run);
  if (is_void || run == nullptr) return;  // lost, or stopped before it began: that was the answer
  if (trouble(60)) {
    truth_.end(a.run);
    answer(core::ActionFailed{.kind = core::ActionKind::kStartJob,
                              .gpu = a.gpu,
                              .instance = a.instance,
                              .job = a.job,
                              .run = a.run});
    return;
  }
  run->begun = true;
  if (trouble(40)) {
    later(delay(5000), Exit{a.run, false});  // never becomes ready
  } else {
    later(delay(5000), Ready{a.run});
  }
}

void World::operator()(const core::SwitchTraffic& a, bool) {
  const Run* to = truth_.find(a.to);
  if (to == nullptr || trouble(80)) {
    answer(core::ActionFailed{.kind = core::ActionKind::kSwitchTraffic,
                              .gpu = {},
                              .instance = {},
                              .job = a.job,
                              .run = a.to});
    return;
  }
  answer(core::TrafficSwitched{a.job, a.to});
  if (truth_.find(a.from) != nullptr) {
    later(std::chrono::seconds(2) + delay(10'000),
          core::Event(core::TrafficDrained{a.job, a.from, a.to}));
  }
}

void World::operator()(const core::StopJob& a, bool) {
  const Run* run = truth_.find(a.run);
  if (run == nullptr) return;  // gone already: that was the answer
  if (trouble(60)) {
    answer(core::ActionFailed{
        .kind = core::ActionKind::kStopJob, .gpu = {}, .instance = {}, .job = a.job, .run = a.run});
    later(delay(100'000), Exit{a.run, false});
    return;
  }
  end_run(a.run, random_.chance(500));
}

void World::end_run(core::RunId id, bool success) {
  const Run* run = truth_.find(id);
  if (run == nullptr) return;
  const core::JobExited exited{run->job, run->run, success};
  truth_.end(id);
  answer(exited);
}

void World::exit_job(core::JobId job, bool success) {
  const core::JobSlot s = scheduler_->node().find_job(job);
  require(s != core::kNoJob, "no such job");
  const core::RunId run = scheduler_->node().job(s).main.run;
  truth_.end(run);
  deliver(core::JobExited{job, run, success});
}

core::JobId World::submit(const std::string& profile, core::JobKind kind) {
  core::JobSpec spec;
  spec.id = core::JobId(next_job_++);
  spec.profile = profile;
  spec.kind = kind;
  deliver(core::JobSubmitted{spec});
  return spec.id;
}

// Some events are checked against the truth at the last moment: a driver does not report what has
// changed since.
void World::deliver_pending(const core::Event& event) {
  if (const auto* seen = std::get_if<core::ForeignSeen>(&event)) {
    auto& all = truth_.gpu(seen->gpu).instances;
    const auto same = [&](const Instance& i) {
      return i.foreign() && i.placement == seen->placement;
    };
    const auto at = std::ranges::find_if(all, same);
    if (at == all.end() || truth_.gpu(seen->gpu).health == core::Health::kLost) return;
    const auto is = [&](const core::Entry& e) {
      return e.state == core::EntryState::kForeign && e.placement == seen->placement;
    };
    // Whether the scheduler accepts it (the slices may be reserved) is known after the step, but
    // its actions are checked within it.
    at->seen = false;
    deliver(event);
    const auto entries = scheduler_->node().entries(seen->gpu);
    const auto again = std::ranges::find_if(all, same);
    if (again != all.end()) again->seen = std::ranges::any_of(entries, is);
    return;
  }
  if (const auto* alien = std::get_if<core::InstanceQuarantined>(&event)) {
    const Instance* it = truth_.find(alien->gpu, alien->instance);
    if (it == nullptr || !it->alien) return;
  }
  if (const auto* gone = std::get_if<core::ForeignGone>(&event)) {
    const auto same = [&](const Instance& i) {
      return i.foreign() && i.placement == gone->placement;
    };
    if (std::ranges::any_of(truth_.gpu(gone->gpu).instances, same)) return;  // it came back
  }
  const bool is_answer = event.index() >= core::Event(core::JobReady{}).index() &&
                         event.index() <= core::Event(core::ActionFailed{}).index();
  if (is_answer) {
    answered_.push_back(event);
    if (answered_.size() > 16) answered_.pop_front();
  }
  deliver(event);
}

}  // namespace tangram::properties
