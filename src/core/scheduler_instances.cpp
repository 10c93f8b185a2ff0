// Instances: reserved, created, reused, destroyed, quarantined, foreign. A slot is reserved at
// once; the driver is asked to create it when nothing that overlaps it is left; only idle
// instances that overlap (or alone stand in the way of an instance limit) are destroyed, and only
// then. One rule: an instance that a job holds is never destroyed.
#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "core/scheduler.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

bool overlap(const mig::Model& model, mig::Placement a, mig::Placement b) {
  return (model.range(a) & model.range(b)) != 0;
}

}  // namespace

// Reserves the slot for the job and starts what is needed to have an instance there.
InstanceId Scheduler::reserve(JobSlot s, GpuId gpu, std::uint8_t start) {
  Node::Edit edit(node_, gpu);
  const mig::Placement place{*node_.profile_on(edit.gpu().model, node_.job(s).profile), start};
  for (Entry& e : edit.entries()) {
    if (e.placement != place || e.job != kNoJob) continue;
    if (e.state != EntryState::kIdle && e.state != EntryState::kCreating) continue;
    e.job = s;
    if (e.state == EntryState::kIdle) e.state = EntryState::kHeld;
    return e.id;
  }
  CHECK(node_.partitioning() == Partitioning::kDynamic);
  const InstanceId id(next_instance_++);
  clear_way(edit, place);
  edit.push({.placement = place, .state = EntryState::kReserved, .id = id, .job = s});
  create_ready(edit);
  return id;
}

// Destroys the idle instances that overlap, and those that alone break an instance limit.
void Scheduler::clear_way(Node::Edit& edit, mig::Placement placement) {
  const mig::Model& model = node_.model(edit.gpu().model);
  const auto destroy = [&](Entry& e) {
    e.state = EntryState::kDestroying;
    out_->emplace_back(DestroyInstance{edit.id(), e.id});
  };
  std::array<mig::ProfileIndex, 4 * mig::kMaxMemorySlices> present{};
  std::size_t count = 0;
  for (Entry& e : edit.entries()) {
    if (e.state == EntryState::kIdle && overlap(model, e.placement, placement)) destroy(e);
    if (e.state != EntryState::kDestroying) present[count++] = e.placement.profile;
  }
  while (!mig::within_limits(model, std::span(present).first(count), placement.profile)) {
    Entry* lowest = nullptr;
    for (Entry& e : edit.entries()) {
      if (e.state != EntryState::kIdle) continue;
      const std::array alone{e.placement.profile};
      const bool in_the_way = e.placement.profile == placement.profile ||
                              !mig::within_limits(model, alone, placement.profile);
      if (!in_the_way) continue;
      if (lowest == nullptr || e.placement.start < lowest->placement.start) lowest = &e;
    }
    if (lowest == nullptr) break;  // the rest holds its place: an orphan that is being created
    destroy(*lowest);
    const auto gone = std::ranges::find(present, lowest->placement.profile);
    std::swap(*gone, present[--count]);
  }
}

// Asks the driver for every reserved instance that nothing physical stands in the way of.
void Scheduler::create_ready(Node::Edit& edit) {
  const mig::Model& model = node_.model(edit.gpu().model);
  if (edit.gpu().health != Health::kOk) return;
  for (Entry& e : edit.entries()) {
    if (e.state != EntryState::kReserved) continue;
    std::array<mig::ProfileIndex, 4 * mig::kMaxMemorySlices> present{};
    std::size_t count = 0;
    bool clear = true;
    for (const Entry& other : edit.entries()) {
      if (&other == &e || !other.physical()) continue;
      clear = clear && !overlap(model, other.placement, e.placement);
      present[count++] = other.placement.profile;
    }
    if (!clear) continue;
    if (!mig::within_limits(model, std::span(present).first(count), e.placement.profile)) continue;
    e.state = EntryState::kCreating;
    out_->emplace_back(CreateInstance{edit.id(), e.id, e.placement});
  }
}

// The instance of a placed job or of a move exists: start what is to run there.
void Scheduler::instance_ready(JobSlot s, InstanceId instance) {
  Job& job = node_.job(s);
  const bool is_main = job.phase == JobPhase::kPlaced && job.main.instance == instance;
  Replica& replica = is_main ? job.main : job.replica;
  const Entry* entry = node_.find(replica.gpu, instance);
  CHECK(entry != nullptr);
  if (entry->state != EntryState::kHeld) return;
  if (is_main) {
    job.phase = JobPhase::kStarting;
  } else {
    CHECK(job.move == MovePhase::kCreating);
    job.move = MovePhase::kStarting;
  }
  start(s, replica);
}

void Scheduler::on(const InstanceCreated& e) {
  if (!known(e.gpu)) return;
  const Entry* entry = node_.find(e.gpu, e.instance);
  if (entry == nullptr || entry->state != EntryState::kCreating) return;
  const JobSlot owner = entry->job;
  {
    Node::Edit edit(node_, e.gpu);
    const mig::Model& model = node_.model(edit.gpu().model);
    Entry& created = edit.entry(e.instance);
    created.state = owner == kNoJob ? EntryState::kIdle : EntryState::kHeld;
    // Nobody wants it any more, but somebody may want its slices.
    for (const Entry& other : edit.entries()) {
      if (owner != kNoJob || other.state != EntryState::kReserved) continue;
      const std::array alone{created.placement.profile};
      if (overlap(model, other.placement, created.placement) ||
          !mig::within_limits(model, alone, other.placement.profile)) {
        created.state = EntryState::kDestroying;
      }
    }
    if (created.state == EntryState::kDestroying) {
      out_->emplace_back(DestroyInstance{e.gpu, e.instance});
    }
  }
  if (owner != kNoJob) {
    instance_ready(owner, e.instance);
  } else {
    try_queue_ = true;
  }
}

void Scheduler::on(const InstanceDestroyed& e) {
  if (!known(e.gpu)) return;
  const Entry* entry = node_.find(e.gpu, e.instance);
  if (entry == nullptr) return;
  const bool quarantined = entry->state == EntryState::kQuarantined;
  if (entry->state != EntryState::kDestroying && !quarantined) return;
  if (quarantined) {
    out_->emplace_back(GpuReport{e.gpu, GpuNews::kQuarantineEnded, entry->placement});
    ask_.insert(e.gpu.value(), node_.gpu_count());  // a move may have failed on it
    std::erase_if(quarantines_,
                  [&](const Quarantine& q) { return q.gpu == e.gpu && q.instance == e.instance; });
  }
  Node::Edit edit(node_, e.gpu);
  edit.erase(e.instance);
  create_ready(edit);
  try_queue_ = true;
}

void Scheduler::on(const ActionFailed& e) {
  const JobSlot s = node_.find_job(e.job);
  switch (e.kind) {
    case ActionKind::kCreateInstance:
      if (known(e.gpu)) create_failed(e);
      return;
    case ActionKind::kDestroyInstance:
      if (known(e.gpu)) quarantine(e.gpu, e.instance);
      return;
    case ActionKind::kStartJob:
      on(JobExited{e.job, e.run, false});
      return;
    case ActionKind::kSwitchTraffic:
      if (s == kNoJob) return;
      if (node_.job(s).move == MovePhase::kSwitching && node_.job(s).replica.run == e.run) {
        roll_back(s);
      } else if (node_.job(s).main.run == e.run) {
        report(node_.job(s), JobNews::kSwitchStuck);
      }
      return;
    case ActionKind::kStopJob:
      if (s == kNoJob || e.run == kNoRun) return;
      if (node_.job(s).main.run == e.run || node_.job(s).replica.run == e.run) {
        report(node_.job(s), JobNews::kStopStuck);
      }
      return;
  }
}

void Scheduler::create_failed(const ActionFailed& e) {
  const Entry* entry = node_.find(e.gpu, e.instance);
  if (entry == nullptr || entry->state != EntryState::kCreating) return;
  const JobSlot owner = entry->job;
  const mig::Placement placement = entry->placement;
  {
    Node::Edit edit(node_, e.gpu);
    edit.erase(e.instance);
    create_ready(edit);
  }
  try_queue_ = true;
  if (owner == kNoJob) {
    if (node_.partitioning() == Partitioning::kStatic) {
      out_->emplace_back(GpuReport{e.gpu, GpuNews::kLayoutIncomplete, placement});
      review_servable();
    }
  } else if (node_.job(owner).replica.instance == e.instance && node_.job(owner).moving()) {
    replica_gone(owner);
  } else {
    create_failed_for(owner, e.gpu, placement.start);
  }
}

// Gives up an instance that is not there yet; if the driver is at it, it will be idle.
void Scheduler::abandon(const Replica& replica) {
  const Entry* entry = node_.find(replica.gpu, replica.instance);
  if (entry == nullptr) return;
  Node::Edit edit(node_, replica.gpu);
  Entry& e = edit.entry(replica.instance);
  if (e.state == EntryState::kReserved) {
    edit.erase(replica.instance);
  } else {
    e.job = kNoJob;
    e.leaving = false;
    if (e.state == EntryState::kHeld) e.state = EntryState::kIdle;
  }
  create_ready(edit);
  try_queue_ = true;
}

// Withdraws what was only promised, because `by` stands in its way.
void Scheduler::evict(GpuId gpu, mig::Placement by) {
  std::array<Entry, 2 * mig::kMaxMemorySlices> evicted{};
  std::size_t count = 0;
  {
    Node::Edit edit(node_, gpu);
    const mig::Model& model = node_.model(edit.gpu().model);
    for (const Entry& e : edit.entries()) {
      if (e.state != EntryState::kReserved) continue;
      const std::array alone{by.profile};
      if (overlap(model, e.placement, by) ||
          !mig::within_limits(model, alone, e.placement.profile)) {
        evicted[count++] = e;
      }
    }
    for (std::size_t i = 0; i < count; ++i) edit.erase(evicted[i].id);
  }
  if (count > 0) try_queue_ = true;  // what they do not take others may
  for (std::size_t i = 0; i < count; ++i) {
    const JobSlot s = evicted[i].job;
    if (node_.job(s).moving() && node_.job(s).replica.instance == evicted[i].id) {
      replica_gone(s);
    } else {
      back_off(node_.job(s), gpu, evicted[i].placement.start);
      requeue(s);
    }
  }
}

void Scheduler::quarantine(GpuId gpu, InstanceId instance) {
  const Entry* entry = node_.find(gpu, instance);
  if (entry == nullptr) return;
  const bool again = entry->state == EntryState::kQuarantined;
  if (!again && entry->state != EntryState::kDestroying) return;
  const auto same = [&](const Quarantine& q) { return q.gpu == gpu && q.instance == instance; };
  if (!again) {
    evict(gpu, mig::Placement(entry->placement));
    Node::Edit edit(node_, gpu);
    edit.entry(instance).state = EntryState::kQuarantined;
    out_->emplace_back(GpuReport{gpu, GpuNews::kQuarantined, edit.entry(instance).placement});
    quarantines_.push_back({gpu, instance});
  }
  auto known = std::ranges::find_if(quarantines_, same);
  if (known == quarantines_.end()) return;  // an unknown process keeps it: nothing was asked
  known->asked = false;
  const Duration wait =
      std::min(kLongestBackOff, kFirstBackOff * (1 << std::min(known->failures, 7)));
  ++known->failures;
  timers_.add({.when = node_.now() + wait,
               .kind = TimerKind::kQuarantine,
               .gpu = gpu,
               .instance = instance});
}

void Scheduler::retry_destroy(const Timer& timer) {
  const Entry* entry = node_.find(timer.gpu, timer.instance);
  if (entry == nullptr || entry->state != EntryState::kQuarantined) return;
  const auto known = std::ranges::find_if(quarantines_, [&](const Quarantine& q) {
    return q.gpu == timer.gpu && q.instance == timer.instance;
  });
  if (known == quarantines_.end() || known->asked) return;
  if (node_.gpu(timer.gpu).health != Health::kOk) {
    Timer later = timer;
    later.when = node_.now() + kFirstBackOff;
    timers_.add(later);
    return;
  }
  known->asked = true;
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
  const auto known = std::ranges::find_if(quarantines_, [&](const Quarantine& q) {
    return q.gpu == e.gpu && q.instance == e.instance;
  });
  if (known != quarantines_.end()) {
    if (known->asked) return;  // it is being destroyed: the answer to that decides
    quarantines_.erase(known);
  }
  Node::Edit edit(node_, e.gpu);
  edit.entry(e.instance).state = EntryState::kIdle;
  out_->emplace_back(GpuReport{e.gpu, GpuNews::kQuarantineEnded, edit.entry(e.instance).placement});
  ask_.insert(e.gpu.value(), node_.gpu_count());
  try_queue_ = true;
}

void Scheduler::on(const ForeignSeen& e) {
  if (!known(e.gpu) || node_.gpu(e.gpu).health == Health::kLost) return;
  const mig::Model& model = node_.model(e.gpu);
  const mig::SliceMask range = model.range(e.placement);
  std::array<InstanceId, 2 * mig::kMaxMemorySlices> stale{};
  std::size_t count = 0;
  for (const Entry& entry : node_.entries(e.gpu)) {
    if ((model.range(entry.placement) & range) == 0) continue;
    if (entry.state == EntryState::kReserved) continue;  // only a promise: withdrawn below
    // What we hold is there: the report is older than that. What is being made cannot be, but
    // only the driver's answer tells when its place is free; the report will come again.
    if (entry.occupies() || entry.state == EntryState::kCreating) return;
    stale[count++] = entry.id;
  }
  evict(e.gpu, e.placement);
  Node::Edit edit(node_, e.gpu);
  for (std::size_t i = 0; i < count; ++i) edit.erase(stale[i]);
  edit.push({.placement = e.placement,
             .state = EntryState::kForeign,
             .id = InstanceId(next_instance_++)});
  create_ready(edit);  // what was in the way of others is gone
}

void Scheduler::on(const ForeignGone& e) {
  if (!known(e.gpu)) return;
  for (const Entry& entry : node_.entries(e.gpu)) {
    if (entry.state != EntryState::kForeign || entry.placement != e.placement) continue;
    Node::Edit edit(node_, e.gpu);
    edit.erase(entry.id);
    create_ready(edit);
    try_queue_ = true;
    return;
  }
}

}  // namespace tangram::core
