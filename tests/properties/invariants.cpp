// See invariants.hpp.
#include "invariants.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "core/candidates.hpp"
#include "core/restraint.hpp"
#include "mig/limits.hpp"
#include "policies/migration.hpp"
#include "policies/registry.hpp"

namespace tangram::properties {
namespace {

using core::Entry;
using core::EntryState;
using core::GpuId;
using core::Job;
using core::JobPhase;
using core::JobSlot;
using core::Node;

void check_overlap(const Node& node, GpuId g) {
  const mig::Model& model = node.model(g);
  unsigned occupied = 0;
  unsigned physical = 0;
  for (const Entry& e : node.entries(g)) {
    const auto& starts = model.profile(e.placement.profile).starts;
    require(std::ranges::find(starts, int{e.placement.start}) != starts.end(),
            "an entry stands at an illegal start");
    const unsigned range = model.range(e.placement);
    if (e.occupies()) {
      require((occupied & range) == 0, "occupying entries overlap");
      occupied |= range;
    }
    if (e.physical()) {
      require((physical & range) == 0, "physical entries overlap");
      physical |= range;
    }
  }
  require(occupied == model.slices(node.gpu(g).occupied), "occupied is not what the entries say");
}

void check_limits(const Node& node, GpuId g) {
  const mig::Model& model = node.model(g);
  std::vector<mig::ProfileIndex> held;
  for (const Entry& e : node.entries(g)) {
    if (!e.occupies() || e.state == EntryState::kForeign) continue;
    require(mig::within_limits(model, held, e.placement.profile), "instance limits are broken");
    held.push_back(e.placement.profile);
  }
  for (const Entry& e : node.entries(g)) {
    if (e.state == EntryState::kForeign) held.push_back(e.placement.profile);
  }
  for (std::size_t i = 0; i < model.profiles().size(); ++i) {
    const mig::ProfileIndex p(static_cast<std::uint8_t>(i));
    const bool admitted = mig::within_limits(model, held, p);
    const bool allowed = (node.gpu(g).allowed >> i & 1U) != 0;
    // A profile that geometry keeps to its number anyway may be called allowed.
    const bool fits = model.feasible(node.gpu(g).occupied, p) > 0;
    require(admitted == allowed || (!fits && !admitted), "allowed is not what it should be");
  }
}

void check_summary(const Node& node, GpuId g) {
  const mig::Model& model = node.model(g);
  mig::Occupancy occupied;
  mig::Occupancy projected;
  for (const Entry& e : node.entries(g)) {
    if (!e.occupies()) continue;
    occupied = model.with(occupied, e.placement);
    if (!e.leaving) projected = model.with(projected, e.placement);
  }
  require(occupied == node.gpu(g).occupied, "occupied is stale");
  require(projected == node.gpu(g).projected, "projected is stale");
  if (node.gpu(g).health == core::Health::kLost) {
    require(node.entries(g).empty(), "a lost GPU has entries");
  }
}

void check_entry_owner(const Node& node, GpuId g, const Entry& e) {
  if (e.job == core::kNoJob) {
    require(e.state != EntryState::kHeld && e.state != EntryState::kReserved,
            "an entry is held by no job");
    require(!e.movable && !e.leaving, "flags on an entry of no job");
    return;
  }
  require(e.state == EntryState::kHeld || e.state == EntryState::kReserved ||
              e.state == EntryState::kCreating,
          "a job on an entry that cannot have one");
  const Job& job = node.job(e.job);
  require(node.find_job(job.id) == e.job, "an entry of a job that has ended");
  const bool main = job.main.instance == e.id && job.main.gpu == g;
  const bool replica = job.moving() && job.replica.instance == e.id && job.replica.gpu == g;
  require(main != replica, "an entry is neither its job's place nor its replica's");
  const core::Replica& mine = main ? job.main : job.replica;
  require((e.state == EntryState::kHeld) == (mine.run != core::kNoRun), "held without a run");
  const bool movable = main && core::could_move(job) && job.cooldown_until <= node.now();
  require(e.movable == movable, "the movable flag is wrong");
  const bool back = job.move == core::MovePhase::kRollingBack;
  require(e.leaving == (main ? job.moving() && !back : back), "the leaving flag is wrong");
}

void check_job(const Node& node, JobSlot s) {
  const Job& job = node.job(s);
  if (job.phase == JobPhase::kHeld || job.phase == JobPhase::kQueued) {
    require(!job.moving() && job.main.instance == core::kNoInstance, "a waiting job has a place");
    require((job.phase == JobPhase::kHeld) == (job.holds != 0), "held without a cause");
    return;
  }
  if (job.main.instance == core::kNoInstance) {
    require(job.moving(), "a job without a place");
  } else {
    const Entry* e = node.find(job.main.gpu, job.main.instance);
    require(e != nullptr && e->job == s, "a job's place is not its own");
    const auto profile = node.profile_on(node.gpu(job.main.gpu).model, job.profile);
    require(profile && e->placement.profile == *profile, "a job on another profile");
  }
  if (!job.moving()) return;
  const Entry* e = node.find(job.replica.gpu, job.replica.instance);
  require(e != nullptr && e->job == s, "a move's target is not its own");
  require(e->placement.start == job.replica_start, "a move's target stands elsewhere");
}

}  // namespace

void check_gpus(const Node& node) {
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    check_overlap(node, GpuId(g));
    check_summary(node, GpuId(g));
    check_limits(node, GpuId(g));
    for (const Entry& e : node.entries(GpuId(g))) check_entry_owner(node, GpuId(g), e);
  }
}

void check_jobs(const Node& node) {
  std::uint32_t moves = 0;
  std::vector<int> into(node.gpu_count());
  for (const JobSlot s : node.jobs_by_id()) {
    check_job(node, s);
    const Job& job = node.job(s);
    if (!job.moving()) continue;
    ++moves;
    ++into[job.replica.gpu.value()];
  }
  require(moves == node.moves_under_way(), "moves_under_way is wrong");
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    require(into[g] <= 1, "two moves into one GPU");
    require((into[g] == 1) == node.gpu(GpuId(g)).incoming, "the incoming flag is wrong");
  }
}

namespace {

// Nothing in a reserved place may stay longer than until the reserved time.
void check_reserved(const Node& node) {
  for (const core::Reserved& r : node.reserved()) {
    const Job& job = node.job(node.find_job(r.job));
    require(job.phase == JobPhase::kQueued, "a reservation of a job that does not wait");
    require(node.gpu(r.gpu).takes_jobs(), "a reservation on a GPU that takes no jobs");
    for (const Entry& e : node.entries(r.gpu)) {
      if (!e.occupies() || !node.model(r.gpu).overlap(e.placement, r.placement)) continue;
      require(e.job != core::kNoJob && node.job(e.job).ends && *node.job(e.job).ends <= r.time,
              "what has no time limit is in a reserved place");
    }
  }
}

// By the definition of the pools: the first job for each model is its head and does not fit there.
void check_pools(const core::Scheduler& scheduler, std::span<const core::JobId> waiting) {
  const Node& node = scheduler.node();
  for (std::size_t m = 0; m < node.model_count(); ++m) {
    const core::ModelId model(static_cast<std::uint8_t>(m));
    const auto wants = [&](core::JobId id) {
      const Job& job = node.job(node.find_job(id));
      const bool wanted = job.gpu_model.empty() || node.model(model).name() == job.gpu_model;
      return wanted && node.profile_on(model, job.profile).has_value();
    };
    const auto first = std::ranges::find_if(waiting, wants);
    const JobSlot head = first == waiting.end() ? core::kNoJob : node.find_job(*first);
    require(node.head_of(model) == head, "a pool has another head than its first job");
    if (head == core::kNoJob) continue;
    core::Request request = node.request_of(node.job(head));
    request.models = {};
    request.models.insert(model);
    require(!core::choose_plainly(node, *scheduler.policies().placement, request),
            "the head of a pool fits, and waits");
  }
}

}  // namespace

void check_queue(const core::Scheduler& scheduler) {
  const Node& node = scheduler.node();
  const std::vector<core::JobId> waiting = scheduler.waiting();
  require(waiting.size() == scheduler.waiting_count(), "the length of the queue is wrong");
  std::size_t queued = 0;
  for (const JobSlot s : node.jobs_by_id()) queued += node.job(s).phase == JobPhase::kQueued;
  require(queued == waiting.size(), "a queued job is not in the queue");
  if (node.tuning().queue == "fcfs" || node.tuning().queue == "fcfs-pools") {
    for (std::size_t i = 1; i < waiting.size(); ++i) {
      require(
          node.job(node.find_job(waiting[i - 1])).order < node.job(node.find_job(waiting[i])).order,
          "the queue is out of order");
    }
  }
  check_reserved(node);
  if (waiting.empty()) return;
  if (scheduler.policies().queue->passing != core::Passing::kNone) {
    check_pools(scheduler, waiting);
    return;
  }
  const Job& head = node.job(node.queue_head());
  require(node.servable(head.profile, head.gpu_model), "no GPU can serve the head of the queue");
  const core::Request request{
      .profile = head.profile, .avoid = head.back_offs, .models = node.models_of(head)};
  require(!core::choose_plainly(node, *scheduler.policies().placement, request),
          "the head of the queue fits, and waits");
}

namespace {

// A job was placed on a GPU: no job that waits now, and is earlier, has its profile there.
void check_pass(const Node& node, JobSlot placed, std::span<const core::JobId> waiting) {
  const Job& job = node.job(placed);
  for (const core::JobId id : waiting) {
    const Job& other = node.job(node.find_job(id));
    const core::ModelId model = node.gpu(job.main.gpu).model;
    const bool wanted = other.gpu_model.empty() || node.model(model).name() == other.gpu_model;
    require(other.order > job.order || !wanted || !node.profile_on(model, other.profile),
            "a job took a GPU that an earlier one waits for");
  }
}

}  // namespace

void check_fcfs(const core::Scheduler& scheduler, const core::Actions& actions) {
  const Node& node = scheduler.node();
  const bool pools = node.tuning().queue == "fcfs-pools";
  if (!pools && node.tuning().queue != "fcfs") return;
  if (node.queue_head() == core::kNoJob) return;
  const std::vector<core::JobId> waiting = scheduler.waiting();
  for (const core::Action& action : actions) {
    const auto* report = std::get_if<core::JobReport>(&action);
    if (report == nullptr || report->news != core::JobNews::kPlaced) continue;
    const JobSlot s = node.find_job(report->job);
    if (s == core::kNoJob) continue;
    if (pools) {
      if (node.job(s).phase != JobPhase::kQueued) check_pass(node, s, waiting);
      continue;
    }
    require(node.job(s).order < node.job(node.queue_head()).order, "a job overtook an earlier one");
  }
}

void check_destroyed(const Node& node, const core::Actions& actions) {
  for (const core::Action& action : actions) {
    const auto* destroy = std::get_if<core::DestroyInstance>(&action);
    if (destroy == nullptr) continue;
    const Entry* gone = node.find(destroy->gpu, destroy->instance);
    require(gone != nullptr, "an unknown instance is destroyed");
    if (gone->state == EntryState::kQuarantined) continue;  // tried again
    const mig::Model& model = node.model(destroy->gpu);
    const auto needs = [&](const Entry& e) {
      if (e.state != EntryState::kReserved) return false;
      const std::array alone{gone->placement.profile};
      return (model.range(e.placement) & model.range(gone->placement)) != 0 ||
             e.placement.profile == gone->placement.profile ||
             !mig::within_limits(model, alone, e.placement.profile);
    };
    require(std::ranges::any_of(node.entries(destroy->gpu), needs),
            "an idle instance is destroyed for nothing");
  }
}

void check_truth(const Node& node, const Truth& truth) {
  for (const JobSlot s : node.cooling()) require(node.alive(s), "a job that has ended cools down");
  for (std::uint32_t g = 0; g < node.gpu_count(); ++g) {
    const GpuId gpu(g);
    for (const Instance& i : truth.gpu(gpu).instances) {
      if (i.foreign() || !i.made) continue;
      require(node.find(gpu, i.id) != nullptr, "an instance was forgotten");
    }
    for (const Entry& e : node.entries(gpu)) {
      if (e.state != EntryState::kIdle && e.state != EntryState::kHeld) continue;
      require(std::ranges::find(truth.gpu(gpu).instances, e.id, &Instance::id) !=
                  truth.gpu(gpu).instances.end(),
              "an instance is believed in that does not exist");
    }
  }
  for (const Run& r : truth.runs) {
    const JobSlot s = node.find_job(r.job);
    require(s != core::kNoJob, "a process of a job that has ended");
    require(node.job(s).main.run == r.run || node.job(s).replica.run == r.run,
            "a process was forgotten");
  }
}

void check_index(const Node& node, GpuId gpu) {
  static const core::PlacementPolicy& paper = **policies::find_placement("paper");
  for (std::size_t i = 0; i < node.name_count(); ++i) {
    const core::Request request{.profile = core::ProfileName(static_cast<std::uint16_t>(i))};
    require(core::choose(node, paper, request) == core::choose_plainly(node, paper, request),
            "the index and the plain scan place differently");
  }
  const core::Answer fast = policies::both_next_move(node, gpu);
  const core::Answer plain = policies::both_next_move_plain(node, gpu);
  require(fast.move == plain.move, "the index and the plain scan move differently");
  require(fast.restrained == plain.restrained, "the index and the plain scan restrain differently");
  require(fast.retry == plain.retry, "the index and the plain scan retry at different times");
}

}  // namespace tangram::properties
