// See world.hpp: all events that the scheduler did not cause.
#include <algorithm>
#include <array>

#include "core/restraint.hpp"
#include "mig/catalog.hpp"
#include "policies/registry.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

std::shared_ptr<const mig::Model> model_named(const char* name) {
  return {std::shared_ptr<void>(), *mig::find_model(name)};
}

}  // namespace

core::GpuId World::any_gpu() {
  return core::GpuId(static_cast<std::uint32_t>(random_.below(truth_.gpus.size())));
}

void World::cause_trouble() {
  now_ += random_.chance(900) ? delay(2000) : delay(random_.chance(50) ? 7'200'000 : 90'000);
  if (options_.many_requested_moves && random_.chance(300) && request_move()) return;
  const std::size_t what = random_.below(random_.chance(wildness_) ? 1000 : 620);
  if (what < 400) {
    submit();
  } else if (what < 620) {
    process_acts();
  } else if (what < 760) {
    user_acts();
  } else if (what < 830) {
    operator_acts();
  } else if (what < 880) {
    hardware_acts();
  } else if (what < 920) {
    foreign_acts();
  } else if (what < 950) {
    alien_acts();
  } else if (what < 985) {
    duplicate();
  } else if (what < 998) {
    change_tuning();
  } else if (truth_.gpus.size() < 8) {
    add_gpu();
  }
}

void World::submit() {
  if (live_.size() > crowd_ * truth_.gpus.size()) {
    process_acts();
    return;
  }
  const mig::Model& model = *truth_.gpu(any_gpu()).model;
  core::JobSpec spec;
  spec.id = core::JobId(next_job_++);
  if (!live_.empty() && random_.chance(10)) spec.id = random_.pick(live_);
  spec.profile = random_.pick(model.profiles()).name;
  if (random_.chance(500)) spec.profile = model.profiles()[random_.below(3)].name;
  if (random_.chance(5)) spec.profile = "9g.99gb";
  spec.kind = random_.chance(700)
                  ? core::JobKind::kService
                  : (random_.chance(500) ? core::JobKind::kBatch : core::JobKind::kLease);
  spec.movable = random_.chance(900);
  spec.restart = static_cast<core::Restart>(random_.below(3));
  spec.max_restarts = static_cast<std::uint16_t>(random_.below(4));
  set_queue_fields(spec, model.name());
  deliver(core::JobSubmitted{spec});
}

void World::set_queue_fields(core::JobSpec& spec, const std::string& model) {
  if (queue_random_.chance(150)) spec.gpu_model = model;
  if (queue_random_.chance(500)) spec.time_limit = std::chrono::seconds(queue_random_.below(600));
  spec.stop_grace = std::chrono::seconds(queue_random_.below(3) * 15);
  if (queue_random_.chance(300)) spec.priority = static_cast<std::int16_t>(queue_random_.below(5));
  spec.user = static_cast<std::uint32_t>(queue_random_.below(3));
}

// Prefers a moving job: those are the difficult cases.
core::JobId World::any_job(unsigned moving) {
  const core::Node& node = scheduler_->node();
  if (node.moves_under_way() > 0 && random_.chance(moving)) {
    for (const core::JobId job : live_) {
      if (node.job(node.find_job(job)).moving() && random_.chance(500)) return job;
    }
  }
  return random_.pick(live_);
}

core::HoldCause World::any_cause() {
  const auto number = random_.below(1000);
  if (number < 100) return core::kHoldLimit;
  if (number < 200) return core::kHoldDependency;
  return number < 300 ? core::kHoldArray : core::kHoldUser;
}

void World::user_acts() {
  if (live_.empty()) return;
  const core::JobId job = any_job(850);
  const core::Node& node = scheduler_->node();
  if (node.job(node.find_job(job)).moving()) {
    deliver(core::JobCancelled{job});
    return;
  }
  switch (random_.below(6)) {
    case 5:
      deliver(core::JobRequeued{job});
      break;
    case 0:
      deliver(core::JobHeld{job, any_cause()});
      break;
    case 2:
      deliver(core::MoveRequested{.job = job,
                                  .anywhere = random_.chance(500),
                                  .gpu = any_gpu(),
                                  .start = static_cast<std::uint8_t>(random_.below(8)),
                                  .restrained = random_.chance(500)});
      break;
    case 1:
      deliver(core::JobReleased{job, any_cause()});
      break;
    default:
      deliver(core::JobCancelled{job});
      break;
  }
}

// Requests a move as an operator, whom no cooldown restrains; prefers a job in its cooldown.
// Returns false if no job can move.
bool World::request_move() {
  const core::Node& node = scheduler_->node();
  std::vector<core::JobId> movable;
  for (const core::JobId job : live_) {
    const core::JobSlot s = node.find_job(job);
    if (!core::could_move(node.job(s))) continue;
    movable.push_back(job);
    if (core::cooling(node, node.job(s)) && random_.chance(700)) break;
  }
  if (movable.empty()) return false;
  deliver(core::MoveRequested{.job = movable.back()});
  return true;
}

void World::operator_acts() {
  const core::GpuId gpu = any_gpu();
  switch (random_.below(5)) {
    case 0:
      deliver(core::GpuCordoned{gpu});
      break;
    case 1:
      deliver(core::GpuDrained{gpu});
      break;
    default:
      deliver(core::GpuUncordoned{gpu});
      break;
  }
}

void World::hardware_acts() {
  const core::GpuId gpu = any_gpu();
  GpuTruth& truth = truth_.gpu(gpu);
  core::Health health = core::Health::kOk;
  if (truth.health == core::Health::kOk) {
    health = random_.chance(400) ? core::Health::kLost : core::Health::kUnresponsive;
  } else if (truth.health == core::Health::kUnresponsive && random_.chance(200)) {
    health = core::Health::kLost;
  }
  if (health == core::Health::kLost) {
    truth_.lose(gpu);
  } else {
    truth.health = health;
  }
  deliver(core::GpuHealth{gpu, health});
}

void World::foreign_acts() {
  const core::GpuId gpu = any_gpu();
  GpuTruth& truth = truth_.gpu(gpu);
  if (partitioning_ == core::Partitioning::kStatic) return;
  for (std::size_t i = 0; i < truth.instances.size(); ++i) {
    const Instance instance = truth.instances[i];
    if (!instance.foreign()) continue;
    if (random_.chance(300)) {  // seen once more
      deliver_pending(core::ForeignSeen{gpu, instance.placement});
      return;
    }
    truth.instances.erase(truth.instances.begin() + static_cast<std::ptrdiff_t>(i));
    if (instance.seen) later(delay(3000), core::Event(core::ForeignGone{gpu, instance.placement}));
    return;
  }
  const mig::ProfileIndex p(
      static_cast<std::uint8_t>(random_.below(truth.model->profiles().size())));
  const int start = random_.pick(truth.model->profile(p).starts);
  const mig::Placement placement{p, static_cast<std::uint8_t>(start)};
  if (!truth_.free_for_foreign(gpu, placement)) return;
  truth.instances.push_back({.id = core::kNoInstance, .placement = placement, .made = true});
  later(random_.chance(500) ? Duration::zero() : delay(3000),
        core::Event(core::ForeignSeen{gpu, placement}));
}

void World::alien_acts() {
  const core::GpuId gpu = any_gpu();
  for (Instance& i : truth_.gpu(gpu).instances) {
    if (i.foreign() || !i.made || truth_.used(gpu, i.id) || random_.chance(300)) continue;
    const core::InstanceId id = i.id;
    const core::Entry* entry = scheduler_->node().find(gpu, id);
    if (entry != nullptr && entry->state == core::EntryState::kQuarantined) {
      i.alien = false;
      deliver(core::QuarantineEnded{gpu, id});
      return;
    }
    i.alien = true;
    later(delay(1000), core::Event(core::InstanceQuarantined{gpu, id}));
    return;
  }
}

void World::process_acts() {
  // A move takes many steps; in worlds of short jobs none would complete.
  if (truth_.runs.empty() || !random_.chance(std::max(wildness_, 60U))) return;
  Run run = random_.pick(truth_.runs);
  const core::JobId job = any_job(wildness_ * 7 / 10);
  for (const Run& r : truth_.runs) {
    if (r.job == job && random_.chance(600)) run = r;
  }
  if (run.begun) end_run(run.run, random_.chance(700));
}

// Sends a late duplicate of an answer. Not of a failed destroy of a known instance: that would be a
// second answer to one action, which a driver does not give.
void World::duplicate() {
  if (answered_.empty()) return;
  const core::Event event = random_.pick(answered_);
  if (const auto* failed = std::get_if<core::ActionFailed>(&event)) {
    if (failed->kind == core::ActionKind::kDestroyInstance &&
        scheduler_->node().find(failed->gpu, failed->instance) != nullptr) {
      return;
    }
  }
  deliver(event);
}

void World::change_tuning() {
  static constexpr std::array<std::int64_t, 7> kThresholds{
      0, 400'000'000, 500'000'000, 571'428'571, 571'428'572, 750'000'000, 1'000'000'000};
  tuning_.threshold = core::Threshold::from_billionths(random_.pick(kThresholds));
  const auto placements = policies::placement_policies();
  tuning_.placement = random_.chance(700) ? "paper" : random_.pick(placements).name;
  const auto migrations = policies::migration_policies();
  tuning_.migration = random_.chance(600) ? "both" : random_.pick(migrations).name;
  const auto queues = policies::queue_policies();
  tuning_.queue = random_.chance(600) ? "fcfs" : random_.pick(queues).name;
  if (options_.no_backfill && tuning_.queue == "backfill") tuning_.queue = "fcfs";
  core::Restraint& restraint = tuning_.restraint;
  restraint.most_moves = random_.chance(100) ? 0 : 1 + static_cast<std::uint32_t>(random_.below(4));
  restraint.cooldown = std::chrono::seconds(random_.below(3) * 45);
  restraint.smallest_gain_ppm = random_.chance(200) ? 50'000 : 0;
  restraint.protect_head = random_.chance(500);
  restraint.window = random_.chance(80) ? core::DayWindow{3600, 7200} : core::DayWindow{};
  deliver(core::TuningChanged{tuning_, *policies::find_policies(tuning_)});
}

void World::set_tuning(const core::Tuning& tuning) {
  tuning_ = tuning;
  deliver(core::TuningChanged{tuning_, *policies::find_policies(tuning_)});
}

void World::add_gpu() {
  static constexpr std::array<const char*, 6> kModels{
      "A100-40GB", "A100-40GB", "A100-40GB", "A30-24GB", "RTX-PRO-6000-96GB", "A100-80GB"};
  core::GpuAdded added{model_named(random_.chance(600) ? "A100-40GB" : random_.pick(kModels)), {}};
  truth_.gpus.push_back({.model = added.model, .instances = {}});
  if (partitioning_ == core::Partitioning::kStatic) {
    unsigned taken = 0;
    for (int tries = 0; tries < 12; ++tries) {
      const mig::ProfileIndex p(
          static_cast<std::uint8_t>(random_.below(added.model->profiles().size())));
      if (added.model->profile(p).name.find("me") != std::string::npos) continue;  // limits
      const int start = random_.pick(added.model->profile(p).starts);
      const mig::Placement placement{p, static_cast<std::uint8_t>(start)};
      if ((taken & added.model->range(placement)) != 0) continue;
      taken |= added.model->range(placement);
      added.layout.push_back(placement);
    }
  }
  deliver(added);
}

}  // namespace tangram::properties
