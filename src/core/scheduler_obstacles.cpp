// Instances on a GPU that cannot be used: those whose destruction failed, those with an unknown
// process, foreign ones. Reservations in their place are withdrawn. The only action on them is to
// retry a failed destruction.
#include <algorithm>
#include <array>
#include <span>

#include "core/scheduler.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

// Returns whether the reservation is still possible beside the instances that hold their slices, if
// `by` stays too.
bool keeps(const mig::Model& model, std::span<const Entry> entries, const Entry& promise,
           mig::Placement by) {
  if (model.overlap(promise.placement, by)) return false;
  std::array<mig::ProfileIndex, kMaxEntriesPerGpu + 1> present{};
  std::size_t count = 0;
  present[count++] = by.profile;
  for (const Entry& e : entries) {
    if (e.id != promise.id && e.occupies()) present[count++] = e.placement.profile;
  }
  return mig::within_limits(model, std::span(present).first(count), promise.placement.profile);
}

}  // namespace

// Withdraws reservations on the GPU: those that `by` blocks, or all if there is none.
void Scheduler::evict(GpuId gpu, std::optional<mig::Placement> by) {
  std::array<Entry, kMaxEntriesPerGpu> evicted{};
  std::size_t count = 0;
  {
    Node::Edit edit(node_, gpu);
    const mig::Model& model = node_.model(edit.gpu().model);
    for (const Entry& e : edit.entries()) {
      if (e.state != EntryState::kReserved) continue;
      if (!by || !keeps(model, edit.entries(), e, *by)) evicted[count++] = e;
    }
    for (std::size_t i = 0; i < count; ++i) edit.erase(evicted[i].id);
  }
  if (count > 0) try_queue_ = true;  // their slices are free for others
  for (std::size_t i = 0; i < count; ++i) {
    const JobSlot s = evicted[i].job;
    if (node_.job(s).moving() && node_.job(s).replica.instance == evicted[i].id) {
      replica_gone(s);
    } else {
      if (by) back_off(node_.job(s), gpu, evicted[i].placement.start);
      requeue(s);
    }
  }
}

Scheduler::Quarantine* Scheduler::find_quarantine(GpuId gpu, InstanceId instance) {
  const auto known = std::ranges::find_if(
      quarantines_, [&](const Quarantine& q) { return q.gpu == gpu && q.instance == instance; });
  return known == quarantines_.end() ? nullptr : &*known;
}

void Scheduler::forget_quarantine(GpuId gpu, InstanceId instance) {
  std::erase_if(quarantines_,
                [&](const Quarantine& q) { return q.gpu == gpu && q.instance == instance; });
}

// A destruction failed: for the first time, or again.
void Scheduler::quarantine(GpuId gpu, InstanceId instance) {
  const Entry* entry = node_.find(gpu, instance);
  if (entry == nullptr) return;
  if (entry->state == EntryState::kDestroying) {
    evict(gpu, mig::Placement(entry->placement));
    Node::Edit edit(node_, gpu);
    edit.entry(instance).state = EntryState::kQuarantined;
    out_->emplace_back(GpuReport{gpu, GpuNews::kQuarantined, edit.entry(instance).placement});
    quarantines_.push_back({.gpu = gpu, .instance = instance, .failures = 0, .attempting = true});
  } else if (entry->state != EntryState::kQuarantined) {
    return;
  }
  Quarantine* known = find_quarantine(gpu, instance);
  if (known == nullptr || !known->attempting)
    return;  // no attempt is running: a late or double answer
  known->attempting = false;
  const Duration wait = kFirstBackOff * (1 << std::min(known->failures, 7));
  ++known->failures;
  timers_.add({.when = node_.now() + std::min(kLongestBackOff, wait),
               .kind = TimerKind::kQuarantine,
               .gpu = gpu,
               .instance = instance});
}

void Scheduler::retry_destroy(const Timer& timer) {
  const Entry* entry = node_.find(timer.gpu, timer.instance);
  if (entry == nullptr || entry->state != EntryState::kQuarantined) return;
  Quarantine* known = find_quarantine(timer.gpu, timer.instance);
  if (known == nullptr || known->attempting) return;
  if (node_.gpu(timer.gpu).health != Health::kOk) {
    Timer later = timer;
    later.when = node_.now() + kFirstBackOff;
    timers_.add(later);
    return;
  }
  known->attempting = true;
  out_->emplace_back(DestroyInstance{timer.gpu, timer.instance});
}

void Scheduler::on(const InstanceQuarantined& e) {
  if (!known(e.gpu)) return;
  const Entry* entry = node_.find(e.gpu, e.instance);
  if (entry == nullptr || entry->state != EntryState::kIdle) return;
  Node::Edit edit(node_, e.gpu);
  edit.entry(e.instance).state = EntryState::kQuarantined;
  out_->emplace_back(GpuReport{e.gpu, GpuNews::kQuarantined, edit.entry(e.instance).placement});
}

void Scheduler::on(const QuarantineEnded& e) {
  if (!known(e.gpu)) return;
  const Entry* entry = node_.find(e.gpu, e.instance);
  if (entry == nullptr || entry->state != EntryState::kQuarantined) return;
  const Quarantine* known = find_quarantine(e.gpu, e.instance);
  if (known != nullptr && known->attempting) return;  // the result of its destruction decides
  forget_quarantine(e.gpu, e.instance);
  Node::Edit edit(node_, e.gpu);
  edit.entry(e.instance).state = EntryState::kIdle;
  out_->emplace_back(GpuReport{e.gpu, GpuNews::kQuarantineEnded, edit.entry(e.instance).placement});
  make_way(edit);
  to_plan_.insert(e.gpu.value(), node_.gpu_count());
  try_queue_ = true;
}

void Scheduler::on(const ForeignSeen& e) {
  if (!known(e.gpu) || node_.gpu(e.gpu).health == Health::kLost) return;
  const mig::Model& model = node_.model(e.gpu);
  std::array<InstanceId, kMaxEntriesPerGpu> stale{};
  std::size_t count = 0;
  for (const Entry& entry : node_.entries(e.gpu)) {
    if (!model.overlap(entry.placement, e.placement)) continue;
    if (entry.state == EntryState::kReserved) continue;  // only a promise: withdrawn below
    // An instance that a job holds exists: the report is older. One that is being created may not:
    // the driver's answer decides, and the report will come again.
    if (entry.occupies() || entry.state == EntryState::kCreating) return;
    stale[count++] = entry.id;
  }
  evict(e.gpu, e.placement);
  {
    Node::Edit edit(node_, e.gpu);
    for (std::size_t i = 0; i < count; ++i) edit.erase(stale[i]);
    edit.push({.placement = e.placement,
               .state = EntryState::kForeign,
               .id = InstanceId(next_instance_++)});
    make_way(edit);  // what was in the way of others is gone
  }
  if (node_.partitioning() == Partitioning::kStatic) review_servable();
}

void Scheduler::on(const ForeignGone& e) {
  if (!known(e.gpu)) return;
  for (const Entry& entry : node_.entries(e.gpu)) {
    if (entry.state != EntryState::kForeign || entry.placement != e.placement) continue;
    {
      Node::Edit edit(node_, e.gpu);
      edit.erase(entry.id);
      make_way(edit);
    }
    repair_layout(e.gpu);
    try_queue_ = true;
    return;
  }
}

}  // namespace tangram::core
