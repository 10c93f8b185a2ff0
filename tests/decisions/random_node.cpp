// See random_node.hpp.
#include "tests/decisions/random_node.hpp"

#include <array>

#include "mig/catalog.hpp"
#include "mig/limits.hpp"

namespace tangram::decisions {

using core::Entry;
using core::EntryState;
using core::GpuId;
using core::Node;

core::Tuning random_tuning(Random& random) {
  static constexpr std::array<std::int64_t, 8> kThresholds{
      0,           400'000'000, 500'000'000,   571'428'571,
      571'428'572, 750'000'000, 1'000'000'000, 428'571'428};
  core::Tuning tuning;
  tuning.threshold = core::Threshold::from_billionths(random.pick(kThresholds));
  tuning.restraint.protect_head = random.chance(500);
  tuning.restraint.smallest_gain_ppm = random.chance(200) ? 50'000 : 0;
  return tuning;
}

std::shared_ptr<const mig::Model> random_model(Random& random) {
  static constexpr std::array<const char*, 5> kNames{"A100-40GB", "A100-40GB", "A30-24GB",
                                                     "RTX-PRO-6000-96GB", "A100-80GB"};
  const char* name = random.chance(500) ? "A100-40GB" : random.pick(kNames);
  return {std::shared_ptr<void>(), *mig::find_model(name)};
}

core::Snapshot random_snapshot(Random& random, std::size_t gpus) {
  core::Snapshot snapshot{.tuning = random_tuning(random), .gpus = {}};
  std::uint64_t next_job = 1;
  for (std::size_t g = 0; g < gpus; ++g) {
    core::SnapshotGpu gpu{.model = random_model(random), .jobs = {}, .idle = {}};
    gpu.cordoned = random.chance(50);
    unsigned taken = 0;
    std::vector<mig::ProfileIndex> present;
    for (std::size_t tries = random.below(9); tries > 0; --tries) {
      const mig::Profile& profile = random.pick(gpu.model->profiles());
      const int start = random.pick(profile.starts);
      const unsigned range = ((1U << profile.memory_slices) - 1U) << start;
      const mig::ProfileIndex index = *gpu.model->find_profile(profile.name);
      if ((taken & range) != 0 || !mig::within_limits(*gpu.model, present, index)) continue;
      taken |= range;
      present.push_back(index);
      if (random.chance(300)) {
        gpu.idle.push_back({profile.name, start});
      } else {
        gpu.jobs.push_back({core::JobId(next_job++), profile.name, start, random.chance(800)});
      }
    }
    snapshot.gpus.push_back(std::move(gpu));
  }
  return snapshot;
}

RandomNode::RandomNode(Random& random, std::size_t gpus) : random_(random) {
  node_.set_tuning(random_tuning(random_));
  for (std::size_t i = 0; i < gpus; ++i) node_.add_gpu(node_.add_model(random_model(random_)));
  for (std::size_t i = random_.below(6 * gpus); i > 0; --i) add_instance();
}

GpuId RandomNode::any_gpu() {
  return GpuId(static_cast<std::uint32_t>(random_.below(node_.gpu_count())));
}

void RandomNode::change() {
  const std::size_t what = random_.below(100);
  if (what < 40) {
    add_instance();
  } else if (what < 65) {
    end_instance();
  } else if (what < 78) {
    change_flags();
  } else if (what < 86) {
    change_gpu();
  } else if (what < 96) {
    change_job();
  } else {
    change_node();
  }
}

// Adds a job, an idle instance or a reservation at a free slot.
void RandomNode::add_instance() {
  const GpuId g = any_gpu();
  const mig::Model& model = node_.model(g);
  const mig::ProfileIndex p(static_cast<std::uint8_t>(random_.below(model.profiles().size())));
  const int start = random_.pick(model.profile(p).starts);
  const mig::Placement placement{p, static_cast<std::uint8_t>(start)};
  for (const Entry& e : node_.entries(g)) {
    if ((model.range(e.placement) & model.range(placement)) != 0) return;
  }
  Entry entry{.placement = placement, .id = core::InstanceId(next_instance_++)};
  if ((node_.gpu(g).allowed >> p.value() & 1U) != 0 && random_.chance(700)) {
    const std::string& name = model.profile(p).name;
    entry.state = EntryState::kHeld;
    entry.job =
        node_.add_job({.id = core::JobId(next_job_++), .profile = name}, *node_.find_name(name));
    core::Job& job = node_.job(entry.job);
    job.phase = core::JobPhase::kRunning;
    job.main = {.gpu = g, .instance = entry.id, .run = core::RunId(1), .ready = true};
    job.allowed_to_move = random_.chance(800);
    entry.movable = job.allowed_to_move;
  }
  Node::Edit(node_, g).push(entry);
}

void RandomNode::end_instance() {
  const GpuId g = any_gpu();
  if (node_.entries(g).empty()) return;
  const Entry e = random_.pick(node_.entries(g));
  if (e.job != core::kNoJob) {
    node_.drop_cooling(e.job);
    node_.remove_job(e.job);
  }
  Node::Edit edit(node_, g);
  if (e.job == core::kNoJob || random_.chance(500)) {
    edit.erase(e.id);
  } else {
    edit.entry(e.id) = {.placement = e.placement, .id = e.id};
  }
}

// Sets or clears the flags of a move under way.
void RandomNode::change_flags() {
  const GpuId g = any_gpu();
  if (node_.entries(g).empty()) return;
  const Entry e = random_.pick(node_.entries(g));
  if (e.job == core::kNoJob) return;
  core::Job& job = node_.job(e.job);
  if (job.cooldown_until > node_.now()) return;
  job.move = e.leaving ? core::MovePhase::kNone : core::MovePhase::kStarting;
  Node::Edit edit(node_, g);
  edit.entry(e.id).leaving = !e.leaving;
  edit.entry(e.id).movable = e.leaving && job.allowed_to_move;
}

void RandomNode::change_gpu() {
  Node::Edit edit(node_, any_gpu());
  core::Gpu& gpu = edit.gpu();
  if (random_.chance(500)) {
    gpu.cordoned = !gpu.cordoned && random_.chance(300);
  } else {
    const bool well = gpu.health != core::Health::kOk || random_.chance(700);
    gpu.health = well ? core::Health::kOk : core::Health::kUnresponsive;
  }
}

// Back-off at a place, or the cooldown after a move.
void RandomNode::change_job() {
  const GpuId g = any_gpu();
  if (node_.entries(g).empty()) return;
  const Entry e = random_.pick(node_.entries(g));
  if (e.job == core::kNoJob || e.leaving) return;
  core::Job& job = node_.job(e.job);
  if (random_.chance(500)) {
    const int start = random_.pick(node_.model(g).profile(e.placement.profile).starts);
    job.back_offs.push_back({.gpu = any_gpu(),
                             .start = static_cast<std::uint8_t>(start),
                             .failures = 1,
                             .until = node_.now() + std::chrono::seconds(random_.below(90))});
    return;
  }
  if (!job.allowed_to_move || job.cooldown_until > node_.now()) return;
  job.cooldown_until = node_.now() + std::chrono::seconds(1 + random_.below(100));
  node_.add_cooling(e.job);
  Node::Edit(node_, g).entry(e.id).movable = false;
}

// Tuning, the clock, the job that waits.
void RandomNode::change_node() {
  if (random_.chance(200)) {
    node_.set_tuning(random_tuning(random_));
    return;
  }
  if (random_.chance(500)) {
    if (waiting_ != core::kNoJob) node_.remove_job(waiting_);
    const std::string& name = random_.pick(node_.model(any_gpu()).profiles()).name;
    waiting_ =
        node_.add_job({.id = core::JobId(next_job_++), .profile = name}, *node_.find_name(name));
    node_.set_queue_head(waiting_);
    return;
  }
  node_.set_now(node_.now() + std::chrono::seconds(random_.below(20)));
  for (const core::JobSlot s : std::vector(node_.cooling().begin(), node_.cooling().end())) {
    const core::Job& job = node_.job(s);
    if (job.cooldown_until > node_.now()) continue;
    node_.drop_cooling(s);
    Node::Edit(node_, job.main.gpu).entry(job.main.instance).movable = true;
  }
}

}  // namespace tangram::decisions
