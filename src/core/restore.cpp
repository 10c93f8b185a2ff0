// Scheduler::restore(): a scheduler from saved state. The input is checked twice: before anything
// is built (saved_checks.cpp), so that building cannot fail a CHECK, and afterwards, when jobs and
// instances can be compared (restored_checks.cpp). What follows from the rest is computed and not
// read: the queue, occupancies, the index, the number of moves.
#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "core/saved.hpp"
#include "core/saved_checks.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

Result<Scheduler> Scheduler::restore(const Saved& saved, const Policies& policies) {
  if (const auto sound = check_saved(saved); !sound) return std::unexpected(sound.error());
  const Tuning& tuning = saved.rest.tuning;
  if (policies.placement->name != tuning.placement || policies.queue->name != tuning.queue ||
      policies.migration->name != tuning.migration) {
    return invalid("the policies are not those that the saved tuning names.");
  }
  Scheduler scheduler(tuning, policies, saved.rest.partitioning);
  scheduler.node_.set_now(saved.rest.now);
  scheduler.restore_gpus(saved);
  if (const auto done = scheduler.restore_jobs(saved); !done) return std::unexpected(done.error());
  if (const auto done = scheduler.restore_entries(saved); !done) {
    return std::unexpected(done.error());
  }
  if (const auto done = check_restored(scheduler.node_); !done) {
    return std::unexpected(done.error());
  }
  if (const auto done = scheduler.restore_queue(saved.rest); !done) {
    return std::unexpected(done.error());
  }
  if (const auto done = scheduler.restore_rest(saved.rest); !done) {
    return std::unexpected(done.error());
  }
  return scheduler;
}

// In the order of their numbers: models and profile names get theirs as they first did.
void Scheduler::restore_gpus(const Saved& saved) {
  node_.reserve_gpus(static_cast<std::uint32_t>(saved.gpus.size()));
  for (const SavedGpu& gpu : saved.gpus) {
    const GpuId id = node_.add_gpu(node_.add_model(gpu.model));
    if (node_.partitioning() == Partitioning::kStatic) node_.set_layout(id, gpu.layout);
    if (gpu.draining) draining_.insert(id.value(), node_.gpu_count());
  }
}

Result<void> Scheduler::restore_jobs(const Saved& saved) {
  for (const SavedJob& each : saved.jobs) {
    const auto profile = node_.find_name(each.profile);
    if (!profile) {
      return unsound(cat("job ", each.job.id.value(), " requests ", tangram::quoted(each.profile),
                         ", which no GPU has"));
    }
    Job job = each.job;
    job.profile = *profile;
    job.queue_before = kNoJob;
    job.queue_after = kNoJob;
    node_.restore_job(job);
    if (job.moving()) node_.add_moves(1);
  }
  return {};
}

Result<void> Scheduler::restore_entries(const Saved& saved) {
  for (const SavedGpu& gpu : saved.gpus) {
    Node::Edit edit(node_, gpu.id);
    edit.gpu().health = gpu.health;
    edit.gpu().cordoned = gpu.cordoned;
    edit.gpu().draining = gpu.draining;
    edit.gpu().incoming = gpu.incoming;
    for (const SavedEntry& e : gpu.entries) {
      const JobSlot owner = e.job ? node_.find_job(*e.job) : kNoJob;
      if (e.job && owner == kNoJob) {
        return unsound(cat("an instance of gpu ", gpu.id.value(), " belongs to job ",
                           e.job->value(), ", which is not there"));
      }
      edit.push({.placement = e.placement,
                 .state = e.state,
                 .movable = e.movable,
                 .leaving = e.leaving,
                 .id = e.id,
                 .job = owner});
    }
  }
  return {};
}

Result<void> Scheduler::restore_queue(const SavedRest& rest) {
  ordered_at_ = rest.ordered_at;
  usage_.restore(rest.usage);
  std::vector<JobSlot> queued = node_.jobs_by_id();
  std::erase_if(queued, [&](JobSlot s) { return look(s).phase != JobPhase::kQueued; });
  std::ranges::sort(queued, [&](JobSlot a, JobSlot b) {
    return policies_.queue->before(waiting_view(look(a)), waiting_view(look(b)));
  });
  for (const JobSlot s : queued) enqueue(s);
  for (const JobSlot s : queued) {
    const auto& reservation = look(s).reservation;
    if (!reservation) continue;
    if (!node_.profile_on(node_.gpu(reservation->gpu).model, look(s).profile)) {
      return unsound(cat("job ", look(s).id.value(), " has a reservation where it cannot be"));
    }
    node_.add_reserved(look(s));
  }
  if (pools_changed_) find_pool_heads();
  return {};
}

Result<void> Scheduler::restore_rest(const SavedRest& rest) {
  for (const GpuId g : rest.to_plan) to_plan_.insert(g.value(), node_.gpu_count());
  for (const GpuId g : rest.restrained) restrained_.insert(g.value(), node_.gpu_count());
  for (const Timer& timer : rest.timers) timers_.add(timer);
  for (const SavedQuarantine& q : rest.quarantines) {
    quarantines_.push_back({q.gpu, q.instance, q.failures, q.attempting});
  }
  for (const JobId id : rest.cooling) {
    const JobSlot s = node_.find_job(id);
    if (s == kNoJob) return unsound(cat("job ", id.value(), " cools down, but is not there"));
    node_.add_cooling(s);
  }
  for (const std::string& profile : rest.recent) {
    const auto name = node_.find_name(profile);
    if (!name)
      return unsound(cat("the requested profile ", tangram::quoted(profile), " is on no GPU"));
    node_.note_request(*name);
  }
  node_.set_next_order(rest.next_order);
  next_instance_ = rest.next_instance;
  next_run_ = rest.next_run;
  woken_at_ = rest.woken_at;
  head_order_ = rest.head_order.value_or(kNoHead);
  try_queue_ = rest.try_queue;
  return {};
}

}  // namespace tangram::core
