// Instances: reserved, created, reused, destroyed. A slot is reserved at once; its creation is
// requested when no overlapping instance is left. Only idle instances that overlap (or are the only
// cause of an instance limit) are destroyed, and only then; an instance that a job holds never is.
#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "core/scheduler.hpp"
#include "mig/limits.hpp"

namespace tangram::core {
namespace {

using Profiles = std::array<mig::ProfileIndex, kMaxEntriesPerGpu>;

// The profiles of the entries that `counts` selects, apart from one.
template <class Counts>
std::size_t gather(std::span<const Entry> entries, const Entry& apart, Profiles& out,
                   Counts counts) {
  std::size_t count = 0;
  for (const Entry& e : entries) {
    if (e.id != apart.id && counts(e)) out[count++] = e.placement.profile;
  }
  return count;
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
  edit.push({.placement = place, .state = EntryState::kReserved, .id = id, .job = s});
  make_way(edit);
  return id;
}

// Destroys the idle instances that overlap a reserved one, and those that alone break a limit for
// it, the lowest start first.
void Scheduler::clear_way(Node::Edit& edit, const Entry& promised) {
  const mig::Model& model = node_.model(edit.gpu().model);
  const mig::Placement place = promised.placement;
  const auto destroy = [&](Entry& e) {
    e.state = EntryState::kDestroying;
    out_->emplace_back(DestroyInstance{edit.id(), e.id});
  };
  for (Entry& e : edit.entries()) {
    if (e.state == EntryState::kIdle && model.overlap(e.placement, place)) destroy(e);
  }
  while (true) {
    Profiles present{};
    const std::size_t count = gather(edit.entries(), promised, present, [](const Entry& e) {
      return e.state != EntryState::kDestroying;
    });
    if (mig::within_limits(model, std::span(present).first(count), place.profile)) return;
    Entry* lowest = nullptr;
    for (Entry& e : edit.entries()) {
      if (e.state != EntryState::kIdle) continue;
      const std::array alone{e.placement.profile};
      const bool in_the_way =
          e.placement.profile == place.profile || !mig::within_limits(model, alone, place.profile);
      if (!in_the_way) continue;
      if (lowest == nullptr || e.placement.start < lowest->placement.start) lowest = &e;
    }
    if (lowest == nullptr) return;  // an orphan is still being created: its answer comes here too
    destroy(*lowest);
  }
}

// For every reserved instance: destroys idle instances in its way, and requests its creation once
// nothing physical is. Called whenever an instance on the GPU is created, destroyed or becomes
// idle.
void Scheduler::make_way(Node::Edit& edit) {
  const mig::Model& model = node_.model(edit.gpu().model);
  if (edit.gpu().health != Health::kOk) return;
  for (Entry& e : edit.entries()) {
    if (e.state != EntryState::kReserved) continue;
    clear_way(edit, e);
    Profiles present{};
    const std::size_t count =
        gather(edit.entries(), e, present, [](const Entry& other) { return other.physical(); });
    const bool clear = std::ranges::none_of(edit.entries(), [&](const Entry& other) {
      return other.id != e.id && other.physical() && model.overlap(other.placement, e.placement);
    });
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
    edit.entry(e.instance).state = owner == kNoJob ? EntryState::kIdle : EntryState::kHeld;
    make_way(edit);  // perhaps unwanted by now, but others may want its slices
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
  if (entry->state == EntryState::kHeld) {
    lose_instance(e.gpu, e.instance);
    return;
  }
  const bool quarantined = entry->state == EntryState::kQuarantined;
  if (entry->state != EntryState::kDestroying && !quarantined) return;
  if (quarantined) {
    out_->emplace_back(GpuReport{e.gpu, GpuNews::kQuarantineEnded, entry->placement});
    to_plan_.insert(e.gpu.value(), node_.gpu_count());  // a move may have failed on it
    forget_quarantine(e.gpu, e.instance);
  }
  Node::Edit edit(node_, e.gpu);
  edit.erase(e.instance);
  make_way(edit);
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
      start_failed(e);
      return;
    case ActionKind::kSwitchTraffic:
      if (s != kNoJob) switch_failed(s, e.run);
      return;
    case ActionKind::kStopJob:
      if (s == kNoJob || e.run == kNoRun) return;
      if (node_.job(s).main.run == e.run || node_.job(s).replica.run == e.run) {
        report(node_.job(s), JobNews::kStopStuck);
        timers_.add({.when = node_.now() + kFirstBackOff,
                     .kind = TimerKind::kStop,
                     .job = e.job,
                     .run = e.run});
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
    make_way(edit);
  }
  try_queue_ = true;
  if (owner == kNoJob) {
    if (node_.partitioning() == Partitioning::kStatic) {
      out_->emplace_back(GpuReport{e.gpu, GpuNews::kLayoutIncomplete, placement});
      timers_.add({.when = node_.now() + kFirstBackOff, .kind = TimerKind::kLayout, .gpu = e.gpu});
      review_servable();
    }
  } else if (node_.job(owner).replica.instance == e.instance && node_.job(owner).moving()) {
    replica_gone(owner);
  } else {
    create_failed_for(owner, e.gpu, placement.start);
  }
}

// Gives up an instance that does not exist yet; if the driver is creating it, it will be idle.
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
  make_way(edit);
  try_queue_ = true;
}

}  // namespace tangram::core
