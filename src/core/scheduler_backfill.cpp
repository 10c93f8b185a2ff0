// Queues with backfill. The walk of the queue is that of scheduler_pools.cpp, but it goes on behind
// the heads: a later job may pass where it delays no reservation (reservation.hpp). A head gets a
// reservation when it cannot start. A head without one, because something in its way has no time
// limit, lets a number of jobs pass, then none. The order depends on the time and on what users
// have used; it is found when the queue is tried, and stays until then.
#include <algorithm>

#include "base/check.hpp"
#include "core/candidates.hpp"
#include "core/reservation.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {
namespace {

bool is_under(const ModelSet& part, const ModelSet& whole) { return part.without(whole).empty(); }

}  // namespace

// Priority, and one more for each time span of waiting.
std::int64_t Scheduler::level_of(const Job& job, Instant when) const {
  const Duration ageing = node_.tuning().fairness.ageing;
  if (ageing <= Duration::zero()) return job.priority;
  return job.priority + (when - job.submitted) / ageing;
}

// The order as it is now.
void Scheduler::sort_queue() {
  ordered_at_ = node_.now();
  std::vector<std::pair<Waiting, JobSlot>> jobs;
  jobs.reserve(queue_length_);
  for (JobSlot s = node_.queue_head(); s != kNoJob; s = look(s).queue_after) {
    jobs.emplace_back(waiting_view(look(s)), s);
  }
  const auto before = [&](const auto& a, const auto& b) {
    return policies_.queue->before(a.first, b.first);
  };
  if (std::ranges::is_sorted(jobs, before)) return;
  pools_changed_ = true;
  std::ranges::sort(jobs, before);
  JobSlot last = kNoJob;
  for (const auto& [view, s] : jobs) {
    node_.queue_links(s).queue_before = last;
    if (last == kNoJob) {
      node_.set_queue_head(s);
    } else {
      node_.queue_links(last).queue_after = s;
    }
    last = s;
  }
  if (last != kNoJob) node_.queue_links(last).queue_after = kNoJob;
  queue_tail_ = last;
}

void Scheduler::try_backfill() {
  sort_queue();
  check_reservations();
  bool again = true;
  while (again) {
    BackfillWalk walk;
    JobSlot s = node_.queue_head();
    while (s != kNoJob && (!is_under(wanted_models(), walk.closed) || !node_.reserved().empty())) {
      const JobSlot next = look(s).queue_after;
      try_to_pass(s, walk);
      s = next;
    }
    again = walk.has_released;  // a reserved place: earlier jobs may use it
  }
}

// One waiting job: placed, or seen to wait.
void Scheduler::try_to_pass(JobSlot s, BackfillWalk& walk) {
  const ModelSet mine = node_.models_of(look(s));
  const ModelSet open = mine.without(walk.headed);
  const bool is_promised = look(s).reservation.has_value();
  Request request = node_.request_of(look(s));
  // Its reservation is kept, also if another job is first by now.
  request.models = is_promised ? mine : mine.without(walk.closed);
  if (!open.empty() || is_promised || !walk.has_failed(request)) {
    const auto slot =
        request.models.empty() ? std::nullopt : choose(node_, *policies_.placement, request);
    if (slot) {
      count_pass(node_.gpu(slot->gpu).model, walk);
      walk.has_released = walk.has_released || is_promised;
      place(s, *slot);
      return;
    }
    walk.note_failed(request);
  }
  if (!open.empty() || is_promised) {
    const bool changed = reserve_place(s, is_promised ? mine : open);
    walk.has_released = walk.has_released || (changed && is_promised);
  }
  if (open.empty()) return;
  walk.headed.insert_all(mine);
  if (look(s).reservation) return;
  walk.unlimited.emplace_back(s, open);
  if (look(s).passed >= node_.tuning().fairness.max_passes) walk.closed.insert_all(open);
}

// A job starts on a GPU of this model, before the heads without reservation that wait for it.
void Scheduler::count_pass(ModelId model, BackfillWalk& walk) {
  for (const auto& [head, models] : walk.unlimited) {
    if (!models.contains(model)) continue;
    Job& job = node_.job(head);
    ++job.passed;
    if (job.passed >= node_.tuning().fairness.max_passes) walk.closed.insert_all(models);
  }
}

// A later job of the same models that ends no sooner fails as well.
bool Scheduler::BackfillWalk::has_failed(const Request& request) const {
  return std::ranges::any_of(failed, [&](const Failed& f) {
    return f.profile == request.profile && f.ends <= request.ends &&
           is_under(request.models, f.models);
  });
}

void Scheduler::BackfillWalk::note_failed(const Request& request) {
  if (!request.avoid.empty() || has_failed(request)) return;
  failed.push_back({request.profile, request.models, request.ends});
}

// The models on which jobs behind this one do not pass any more; kNoJob: behind none.
ModelSet Scheduler::closed_before(JobSlot last) const {
  ModelSet closed;
  ModelSet headed;
  if (last == kNoJob) return closed;
  for (JobSlot s = node_.queue_head(); s != kNoJob; s = look(s).queue_after) {
    const ModelSet mine = node_.models_of(look(s));
    const bool is_exhausted = look(s).passed >= node_.tuning().fairness.max_passes;
    if (!look(s).reservation && is_exhausted) closed.insert_all(mine.without(headed));
    headed.insert_all(mine);
    if (s == last) break;
  }
  return closed;
}

// Ends the reservations that something unforeseen has made impossible. Their jobs get others.
void Scheduler::check_reservations() {
  for (std::size_t i = node_.reserved().size(); i-- > 0;) {
    const JobSlot s = node_.find_job(node_.reserved()[i].job);
    const Job& job = look(s);
    if (is_kept(node_, job, *job.reservation, policies_.placement->only_idle)) continue;
    node_.job(s).lost_reservation = job.reservation->time;
    set_reservation(s, std::nullopt);
  }
}

// Returns whether it got another reservation than before.
bool Scheduler::reserve_place(JobSlot s, const ModelSet& models) {
  const auto found =
      policies_.queue->reserve(node_, look(s), models, policies_.placement->only_idle);
  const auto& kept = look(s).reservation;
  if (!found || (kept && kept->time <= found->time)) return false;
  set_reservation(s, found);
  return true;
}

void Scheduler::set_reservation(JobSlot s, const std::optional<Reservation>& reservation) {
  Job& job = node_.job(s);
  job.reservation = reservation;
  node_.drop_reserved(job.id);
  if (reservation) node_.add_reserved(job);
  pools_changed_ = true;
}

// The user of the job begins to use its place. Counted only for queues with fair share.
void Scheduler::begin_usage(JobSlot s) {
  Job& job = node_.job(s);
  const mig::Model& model = node_.model(job.main.gpu);
  const auto profile = *node_.profile_on(node_.gpu(job.main.gpu).model, job.profile);
  job.counted_slices = static_cast<std::uint8_t>(model.profile(profile).memory_slices);
  usage_.add(job.user, job.counted_slices, node_.now(), node_.tuning().fairness.half_life);
}

void Scheduler::end_usage(JobSlot s) {
  if (look(s).counted_slices == 0) return;
  Job& job = node_.job(s);
  usage_.remove(job.user, job.counted_slices, node_.now(), node_.tuning().fairness.half_life);
  job.counted_slices = 0;
  try_queue_ = true;
}

// The queue policy is changed to one with backfill, or from it.
void Scheduler::begin_backfill() {
  for (const JobSlot s : node_.jobs_by_id()) {
    Job& job = node_.job(s);
    job.submitted = node_.now();
    if (job.main.instance == kNoInstance) continue;
    begin_usage(s);
    // When they began is not known; not later than that.
    job.ends = end_of(job, node_.now() + kStartMargin);
  }
}

void Scheduler::end_backfill() {
  for (const JobSlot s : node_.jobs_by_id()) {
    Job& job = node_.job(s);
    job.counted_slices = 0;
    job.submitted = {};
    job.ends.reset();
  }
  usage_.clear();
  ordered_at_ = {};
}

}  // namespace tangram::core
