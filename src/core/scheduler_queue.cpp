// The queue of the scheduler. Its order and who may start are the queue policy's; under the paper's
// only the head may (§IV-C step 5). A job that comes back (requeued, released) gets the position of
// its submission. Every change of the queue goes through enqueue() and dequeue(). Queues with a
// first job per GPU model: scheduler_pools.cpp.
#include "base/check.hpp"
#include "core/candidates.hpp"
#include "core/reservation.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

Waiting Scheduler::waiting_view(const Job& job) const {
  Waiting waiting{.order = job.order};
  if (backfills()) {
    waiting.level = level_of(job, ordered_at_);
    waiting.usage = usage_.at(job.user, ordered_at_, node_.tuning().fairness.half_life);
    return waiting;
  }
  for (std::size_t m = 0; m < node_.model_count(); ++m) {
    const ModelId model(static_cast<std::uint8_t>(m));
    if (const auto p = node_.profile_on(model, job.profile)) {
      waiting.memory_slices = node_.model(model).profile(*p).memory_slices;
      waiting.compute_slices = node_.model(model).profile(*p).compute_slices;
      break;
    }
  }
  return waiting;
}

// From the tail: a new job mostly belongs there. A queue with backfill is sorted when it is tried.
void Scheduler::enqueue(JobSlot s) {
  Job& job = node_.job(s);
  job.phase = JobPhase::kQueued;
  const Waiting mine = waiting_view(job);
  JobSlot before = queue_tail_;
  while (!backfills() && before != kNoJob &&
         policies_.queue->before(mine, waiting_view(look(before)))) {
    before = look(before).queue_before;
  }
  job.queue_before = before;
  job.queue_after = before == kNoJob ? node_.queue_head() : look(before).queue_after;
  if (before == kNoJob) {
    node_.set_queue_head(s);
    try_queue_ = true;
  } else {
    node_.queue_links(before).queue_after = s;
  }
  if (job.queue_after == kNoJob) {
    queue_tail_ = s;
  } else {
    node_.queue_links(job.queue_after).queue_before = s;
  }
  ++queue_length_;
  if (policies_.queue->passing != Passing::kNone) count_waiting(job, 1);
}

void Scheduler::dequeue(JobSlot s) {
  Job& job = node_.job(s);
  CHECK(job.phase == JobPhase::kQueued);
  if (job.queue_before == kNoJob) {
    node_.set_queue_head(job.queue_after);
    try_queue_ = true;
  } else {
    node_.queue_links(job.queue_before).queue_after = job.queue_after;
  }
  if (job.queue_after == kNoJob) {
    queue_tail_ = job.queue_before;
  } else {
    node_.queue_links(job.queue_after).queue_before = job.queue_before;
  }
  job.queue_before = kNoJob;
  job.queue_after = kNoJob;
  --queue_length_;
  if (job.reservation) set_reservation(s, std::nullopt);
  job.lost_reservation.reset();
  job.passed = 0;
  if (policies_.queue->passing != Passing::kNone) count_waiting(job, -1);
}

void Scheduler::try_queue() {
  try_queue_ = false;
  if (policies_.queue->passing == Passing::kNone) {
    try_first();
  } else if (backfills()) {
    try_backfill();
  } else {
    try_pools();
  }
  try_queue_ = false;
}

void Scheduler::try_first() {
  while (node_.queue_head() != kNoJob) {
    const JobSlot head = node_.queue_head();
    const Job& job = look(head);
    const auto slot = choose(node_, *policies_.placement, node_.request_of(job));
    if (!slot) break;
    place(head, *slot);
  }
}

void Scheduler::place(JobSlot s, const Slot& slot) {
  dequeue(s);
  Job& job = node_.job(s);
  job.phase = JobPhase::kPlaced;
  report(job, JobNews::kPlaced);
  job.main = {.gpu = slot.gpu};
  if (backfills()) {
    begin_usage(s);
    job.ends = end_of(job, node_.now() + kStartMargin);
  }
  job.main.instance = reserve(s, slot.gpu, slot.start);
  instance_ready(s, job.main.instance);
}

void Scheduler::hold(JobSlot s, HoldCause cause) {
  Job& job = node_.job(s);
  if (job.phase == JobPhase::kQueued) {
    dequeue(s);
    job.phase = JobPhase::kHeld;
    report(job, JobNews::kHeld);
  }
  if (job.phase == JobPhase::kHeld) job.holds = static_cast<std::uint8_t>(job.holds | cause);
}

void Scheduler::unhold(JobSlot s, HoldCause cause) {
  Job& job = node_.job(s);
  if (job.phase != JobPhase::kHeld) return;
  job.holds = static_cast<std::uint8_t>(job.holds & ~cause);
  if (job.holds != 0) return;
  enqueue(s);
  report(job, JobNews::kQueued);
}

// After GPUs came, went or were cordoned: a job that no GPU in service can take must not block
// the others, and comes back when one can.
void Scheduler::review_servable() {
  for (const JobSlot s : node_.jobs_by_id()) {
    const Job& job = look(s);
    if (job.phase != JobPhase::kQueued && job.phase != JobPhase::kHeld) continue;
    const bool held = (job.holds & kHoldUnservable) != 0;
    const bool servable = node_.servable(job.profile, job.gpu_model);
    if (servable && held) unhold(s, kHoldUnservable);
    if (!servable && !held) hold(s, kHoldUnservable);
  }
}

std::vector<JobId> Scheduler::waiting() const {
  std::vector<JobId> ids;
  for (JobSlot s = node_.queue_head(); s != kNoJob; s = node_.job(s).queue_after) {
    ids.push_back(node_.job(s).id);
  }
  return ids;
}

}  // namespace tangram::core
