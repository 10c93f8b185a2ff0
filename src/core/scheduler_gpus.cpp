// GPUs: added, lost, unresponsive, cordoned, drained; and changes of tuning. No action is issued
// for a lost GPU, and every job on it is handled.
#include <algorithm>

#include "base/check.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

void Scheduler::on(const GpuAdded& e) {
  const GpuId gpu = node_.add_gpu(node_.add_model(e.model));
  if (policies_.queue->passing != Passing::kNone) recount_waiting();
  if (node_.partitioning() == Partitioning::kStatic) {
    node_.set_layout(gpu, e.layout);
    repair_layout(gpu);
  }
  try_queue_ = true;
  review_servable();
}

// Static partitioning: creates the instances of the layout that are missing and not blocked.
void Scheduler::repair_layout(GpuId gpu) {
  if (node_.gpu(gpu).health != Health::kOk || node_.layout(gpu).empty()) return;
  const mig::Model& model = node_.model(gpu);
  {
    Node::Edit edit(node_, gpu);
    for (const mig::Placement& placement : node_.layout(gpu)) {
      const bool taken = std::ranges::any_of(
          edit.entries(), [&](const Entry& e) { return model.overlap(e.placement, placement); });
      if (taken) continue;
      const InstanceId id(next_instance_++);
      edit.push({.placement = placement, .state = EntryState::kCreating, .id = id});
      out_->emplace_back(CreateInstance{gpu, id, placement});
    }
  }
  review_servable();
}

void Scheduler::on(const GpuHealth& e) {
  if (!known(e.gpu) || node_.gpu(e.gpu).health == e.health) return;
  Node::Edit(node_, e.gpu).gpu().health = e.health;
  if (e.health == Health::kLost) lose(e.gpu);
  if (e.health == Health::kUnresponsive) evict(e.gpu, std::nullopt);  // others can serve them
  if (e.health == Health::kOk) {
    {
      Node::Edit edit(node_, e.gpu);
      make_way(edit);
    }
    repair_layout(e.gpu);
    try_queue_ = true;
  }
  review_servable();
}

// Everything on it is gone: instances, promises, replicas.
void Scheduler::lose(GpuId gpu) {
  std::vector<JobSlot> jobs;
  for (const Entry& e : node_.entries(gpu)) {
    if (e.job != kNoJob && std::ranges::find(jobs, e.job) == jobs.end()) jobs.push_back(e.job);
  }
  Node::Edit(node_, gpu).clear();
  std::erase_if(quarantines_, [&](const Quarantine& q) { return q.gpu == gpu; });
  if (restrained_.contains(gpu.value())) restrained_.erase(gpu.value());
  if (to_plan_.contains(gpu.value())) to_plan_.erase(gpu.value());
  if (draining_.contains(gpu.value())) {
    draining_.erase(gpu.value());
    Node::Edit(node_, gpu).gpu().draining = false;  // cordoned it stays
    out_->emplace_back(GpuReport{gpu, GpuNews::kDrained, {}});
  }
  std::ranges::sort(jobs, {}, [&](JobSlot s) { return node_.job(s).id; });
  for (const JobSlot s : jobs) lose_replica_of(s, gpu);
  if (to_plan_.contains(gpu.value())) to_plan_.erase(gpu.value());
}

// Another program removed the instance of a job: for that job as if the GPU were lost.
void Scheduler::lose_instance(GpuId gpu, InstanceId instance) {
  const JobSlot s = node_.find(gpu, instance)->job;
  {
    Node::Edit edit(node_, gpu);
    edit.erase(instance);
    make_way(edit);
  }
  lose_replica_of(s, gpu);
  repair_layout(gpu);
  try_queue_ = true;
}

// Its original, its replica or both are not on the GPU any more.
void Scheduler::lose_replica_of(JobSlot s, GpuId gpu) {
  Job& job = node_.job(s);
  const auto is_lost = [&](const Replica& r) {
    return r.gpu == gpu && r.instance != kNoInstance && node_.find(gpu, r.instance) == nullptr;
  };
  const bool main_lost = is_lost(job.main);
  const bool replica_lost = job.moving() && is_lost(job.replica);
  if (main_lost && job.phase == JobPhase::kPlaced) {
    requeue(s);  // it had not begun
    return;
  }
  const bool alone = !job.moving() || job.move == MovePhase::kRollingBack;
  // Only the replica is left, or it is the job already because the original is being stopped.
  const bool all_in_replica = main_lost || job.main.run == kNoRun || job.replica_is_job();
  if ((main_lost && alone) || (replica_lost && all_in_replica)) report(job, JobNews::kLost);
  if (main_lost) {
    job.main = {.gpu = gpu};
    if (!replica_lost) {
      main_gone(s, false, true);
      return;
    }
  }
  if (!replica_lost) return;
  // As a dead replica; when both are gone, the restart policy decides.
  if (job.main.run == kNoRun) {
    job.failed = job.failed || !job.ending;
    close_move(s, MoveNews::kRolledBack);
    end_or_restart(s, !job.failed, true);
    return;
  }
  replica_gone(s);
}

void Scheduler::on(const GpuCordoned& e) {
  if (!known(e.gpu) || node_.gpu(e.gpu).cordoned) return;
  Node::Edit(node_, e.gpu).gpu().cordoned = true;
  review_servable();
}

void Scheduler::on(const GpuUncordoned& e) {
  if (!known(e.gpu) || !node_.gpu(e.gpu).cordoned) return;
  {
    Node::Edit edit(node_, e.gpu);
    edit.gpu().cordoned = false;
    edit.gpu().draining = false;
  }
  if (draining_.contains(e.gpu.value())) draining_.erase(e.gpu.value());
  try_queue_ = true;
  review_servable();
}

void Scheduler::on(const GpuDrained& e) {
  if (!known(e.gpu)) return;
  on(GpuCordoned{e.gpu});
  Node::Edit(node_, e.gpu).gpu().draining = true;
  draining_.insert(e.gpu.value(), node_.gpu_count());
}

void Scheduler::on(const TuningChanged& e) {
  const bool reorder = e.policies.queue->name != policies_.queue->name;
  const Duration half_life = node_.tuning().fairness.half_life;
  if (half_life != e.tuning.fairness.half_life) usage_.settle(node_.now(), half_life);
  node_.set_tuning(e.tuning);
  std::vector<JobSlot> waiting;
  if (reorder) {
    while (node_.queue_head() != kNoJob) {
      waiting.push_back(node_.queue_head());
      dequeue(node_.queue_head());
    }
    forget_pools();
  }
  if (reorder && backfills()) end_backfill();
  policies_ = e.policies;
  if (reorder && backfills()) begin_backfill();
  if (reorder) {
    std::ranges::sort(waiting, [&](JobSlot a, JobSlot b) {
      return policies_.queue->before(waiting_view(node_.job(a)), waiting_view(node_.job(b)));
    });
    for (const JobSlot s : waiting) enqueue(s);
  }
  try_queue_ = true;
  replan_restrained();
}

void Scheduler::on(const WakeUp&) {}  // the timers have run

}  // namespace tangram::core
