// See saved.hpp: the scheduler's state as plain data, all of it or what changed.
#include "core/saved.hpp"

#include <algorithm>

#include "core/scheduler.hpp"

namespace tangram::core {
namespace {

std::vector<GpuId> members(const GpuSet& set) {
  std::vector<GpuId> gpus;
  for (std::uint32_t g = set.first(); g != GpuSet::kNone; g = set.next(g + 1)) gpus.emplace_back(g);
  return gpus;
}

SavedJob saved_job(const Node& node, JobSlot s) {
  SavedJob saved{.job = node.job(s), .profile = node.name(node.job(s).profile)};
  saved.job.profile = {};
  saved.job.queue_before = kNoJob;
  saved.job.queue_after = kNoJob;
  return saved;
}

SavedEntry saved_entry(const Node& node, const Entry& e) {
  return {.placement = e.placement,
          .state = e.state,
          .movable = e.movable,
          .leaving = e.leaving,
          .id = e.id,
          .job = e.job == kNoJob ? std::nullopt : std::optional(node.job(e.job).id)};
}

SavedGpu saved_gpu(const Node& node, GpuId g) {
  const Gpu& gpu = node.gpu(g);
  const auto layout = node.layout(g);
  SavedGpu saved{.id = g,
                 .model = node.shared_model(gpu.model),
                 .layout = {layout.begin(), layout.end()},
                 .health = gpu.health,
                 .cordoned = gpu.cordoned,
                 .draining = gpu.draining,
                 .incoming = gpu.incoming,
                 .entries = {}};
  for (const Entry& e : node.entries(g)) saved.entries.push_back(saved_entry(node, e));
  return saved;
}

}  // namespace

SavedRest Scheduler::saved_rest() const {
  SavedRest rest{.partitioning = node_.partitioning(),
                 .tuning = node_.tuning(),
                 .now = node_.now(),
                 .woken_at = woken_at_,
                 .next_order = node_.next_order(),
                 .next_instance = next_instance_,
                 .next_run = next_run_,
                 .try_queue = try_queue_,
                 .head_order = {},
                 .to_plan = members(to_plan_),
                 .restrained = members(restrained_),
                 .timers = timers_.sorted(),
                 .quarantines = {},
                 .cooling = {},
                 .recent = {},
                 .ordered_at = ordered_at_,
                 .usage = usage_.users()};
  if (head_order_ != kNoHead) rest.head_order = head_order_;
  for (const Quarantine& q : quarantines_) {
    rest.quarantines.push_back({q.gpu, q.instance, q.failures, q.attempting});
  }
  for (const JobSlot s : node_.cooling()) rest.cooling.push_back(node_.job(s).id);
  for (const ProfileName p : node_.recent_requests()) rest.recent.push_back(node_.name(p));
  return rest;
}

Saved Scheduler::save() const {
  Saved saved{.gpus = {}, .jobs = {}, .rest = saved_rest()};
  for (std::uint32_t g = 0; g < node_.gpu_count(); ++g) {
    saved.gpus.push_back(saved_gpu(node_, GpuId(g)));
  }
  for (const JobSlot s : node_.jobs_by_id()) saved.jobs.push_back(saved_job(node_, s));
  return saved;
}

SavedChanges Scheduler::take_changes() {
  CHECK(node_.touched().on());
  SavedChanges changes{.gpus = {}, .jobs = {}, .jobs_gone = {}, .rest = saved_rest()};
  const Node& node = node_;
  for (const std::uint32_t g : node_.touched().take_gpus()) {
    changes.gpus.push_back(saved_gpu(node, GpuId(g)));
  }
  for (const std::uint32_t s : node_.touched().take_jobs()) {
    if (node.alive(JobSlot(s))) changes.jobs.push_back(saved_job(node, JobSlot(s)));
  }
  // An id may have been given again since.
  changes.jobs_gone = node_.touched().take_gone();
  std::erase_if(changes.jobs_gone, [&](JobId id) { return node.find_job(id) != kNoJob; });
  std::ranges::sort(changes.gpus, {}, &SavedGpu::id);
  std::ranges::sort(changes.jobs, {}, [](const SavedJob& j) { return j.job.id; });
  return changes;
}

}  // namespace tangram::core
