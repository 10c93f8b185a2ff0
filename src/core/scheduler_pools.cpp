// Queues with a first job per GPU model: a waiting job may start on a GPU only if no earlier
// waiting job's profile exists on the GPU's model. So no job is delayed by a later one, and jobs
// for different models do not wait for each other. Walks of the queue end as soon as every model
// that some job waits for has its first job.
#include <algorithm>

#include "core/candidates.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

// Any job that comes or goes may be a head or make one.
void Scheduler::count_waiting(const Job& job, int change) {
  pools_changed_ = true;
  try_queue_ = true;
  waiting_for_.resize(node_.model_count());
  const ModelSet models = node_.models_of(job);
  for (std::size_t m = 0; m < waiting_for_.size(); ++m) {
    if (!models.contains(ModelId(static_cast<std::uint8_t>(m)))) continue;
    waiting_for_[m] = static_cast<std::uint32_t>(static_cast<int>(waiting_for_[m]) + change);
  }
}

// After a GPU of a new model was added: the models of waiting jobs may be more than before.
void Scheduler::recount_waiting() {
  if (waiting_for_.size() == node_.model_count()) return;
  pools_changed_ = true;
  waiting_for_.assign(node_.model_count(), 0);
  for (JobSlot s = node_.queue_head(); s != kNoJob; s = look(s).queue_after) {
    count_waiting(look(s), 1);
  }
}

// The queue is empty, because its policy changes.
void Scheduler::forget_pools() {
  waiting_for_.clear();
  pool_head_orders_.clear();
  pools_changed_ = false;
  node_.set_pool_heads({});
}

ModelSet Scheduler::wanted_models() const {
  ModelSet models;
  for (std::size_t m = 0; m < waiting_for_.size(); ++m) {
    if (waiting_for_[m] > 0) models.insert(ModelId(static_cast<std::uint8_t>(m)));
  }
  return models;
}

void Scheduler::try_pools() {
  ModelSet taken;  // models of earlier jobs
  JobSlot s = node_.queue_head();
  while (s != kNoJob && !wanted_models().without(taken).empty()) {
    const Job& job = look(s);
    const JobSlot next = job.queue_after;
    const ModelSet mine = node_.models_of(job);
    Request request = node_.request_of(job);
    request.models = mine.without(taken);
    const auto slot =
        request.models.empty() ? std::nullopt : choose(node_, *policies_.placement, request);
    if (slot) {
      place(s, *slot);
    } else {
      taken.insert_all(mine);
    }
    s = next;
  }
}

// Restrained moves are planned again when protect_head protects other jobs than before, or other
// places are reserved.
void Scheduler::find_pool_heads() {
  pools_changed_ = false;
  std::vector<JobSlot> heads(node_.model_count(), kNoJob);
  std::vector<std::pair<std::size_t, std::uint64_t>> orders;
  ModelSet open = wanted_models();
  for (JobSlot s = node_.queue_head(); s != kNoJob && !open.empty(); s = look(s).queue_after) {
    const ModelSet mine = node_.models_of(look(s));
    for (std::size_t m = 0; m < heads.size(); ++m) {
      const ModelId model(static_cast<std::uint8_t>(m));
      if (!open.contains(model) || !mine.contains(model)) continue;
      heads[m] = s;
      orders.emplace_back(m, look(s).order);
    }
    open = open.without(mine);
  }
  for (const Reserved& r : node_.reserved()) {
    orders.emplace_back(heads.size() + r.gpu.value() * mig::kMaxMemorySlices + r.placement.start,
                        look(node_.find_job(r.job)).order);
  }
  node_.set_pool_heads(heads);
  if (orders != pool_head_orders_) replan_restrained();
  pool_head_orders_ = std::move(orders);
}

// As enqueue() finds its place: from the tail.
Scheduler::QueuePlace Scheduler::place_in_queue(const Job& job) const {
  const Waiting mine = waiting_view(job);
  JobSlot last = queue_tail_;
  while (last != kNoJob && !policies_.queue->before(waiting_view(look(last)), mine)) {
    last = look(last).queue_before;
  }
  const ModelSet models = node_.models_of(job);
  const bool strict = policies_.queue->passing == Passing::kNone;
  QueuePlace place{.ahead = {}, .models = models, .queued = {}};
  for (JobSlot s = last; s != kNoJob; s = look(s).queue_before) {
    const ModelSet others = node_.models_of(look(s));
    if (!strict && models.without(others) == models) continue;  // none in common
    place.ahead.push_back(look(s).id);
    place.models = strict ? ModelSet{} : place.models.without(others);
  }
  std::ranges::reverse(place.ahead);
  if (!place.models.empty()) place.ahead.clear();
  if (backfills()) place.models = models.without(closed_before(last));
  if (job.reservation) place.models = models;
  place.queued = models.without(place.models);
  return place;
}

Scheduler::QueuePlace Scheduler::place_in_queue(ProfileName profile, std::uint32_t user) const {
  Job job;
  job.profile = profile;
  job.order = node_.next_order();
  job.user = user;
  job.submitted = ordered_at_;
  return place_in_queue(job);
}

std::vector<Scheduler::QueuedJob> Scheduler::queued_jobs() const {
  const bool strict = policies_.queue->passing == Passing::kNone;
  std::vector<QueuedJob> jobs;
  std::vector<std::pair<ModelSet, std::size_t>> earlier;  // how many jobs have these models
  for (JobSlot s = node_.queue_head(); s != kNoJob; s = look(s).queue_after) {
    const ModelSet mine = strict ? ModelSet::all() : node_.models_of(look(s));
    ModelSet open = mine;
    std::size_t ahead = 0;
    for (const auto& [models, count] : earlier) {
      if (mine.without(models) == mine) continue;
      open = open.without(models);
      ahead += count;
    }
    jobs.push_back({look(s).id, open.empty() ? ahead : 0});
    const auto same = std::ranges::find(earlier, mine, &std::pair<ModelSet, std::size_t>::first);
    if (same == earlier.end()) {
      earlier.emplace_back(mine, 1);
    } else {
      ++same->second;
    }
  }
  return jobs;
}

}  // namespace tangram::core
