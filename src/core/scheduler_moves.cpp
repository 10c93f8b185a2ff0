// The life of a move, replica first (§IV-D), and the planning of moves. Until traffic has been
// switched, any failure leaves the job where it was; after that, the move goes forward.
#include <algorithm>

#include "base/check.hpp"
#include "core/candidates.hpp"
#include "core/requested_move.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

// Calls the migration policy for every GPU that awaits planning and has no move into it.
void Scheduler::plan() {
  if (!draining_.empty()) plan_drains();
  int questions = 0;
  for (std::uint32_t g = to_plan_.first(); g != GpuSet::kNone; g = to_plan_.next(g + 1)) {
    if (!moves_may_begin()) return;
    if (node_.gpu(GpuId(g)).incoming) continue;  // planned again when that move has ended
    if (questions++ == kMaxQuestionsPerStep) {
      timers_.add({.when = node_.now(), .kind = TimerKind::kWindow});  // go on at once
      return;
    }
    const Answer answer = policies_.migration->next_move(node_, GpuId(g));
    if (answer.move) {
      begin_move(*answer.move);
      continue;
    }
    to_plan_.erase(g);
    if (answer.restrained) plan_later(GpuId(g), answer.retry);
  }
}

bool Scheduler::moves_may_begin() {
  const Restraint& restraint = node_.tuning().restraint;
  if (node_.moves_under_way() >= restraint.most_moves) return false;
  const Instant opens = window_opens(restraint.window, node_.now());
  if (opens == node_.now()) return true;
  if (!woken_at_ || *woken_at_ > opens) {
    timers_.add({.when = opens, .kind = TimerKind::kWindow});
    woken_at_.reset();
  }
  return false;
}

void Scheduler::plan_later(GpuId gpu, Instant retry) {
  restrained_.insert(gpu.value(), node_.gpu_count());
  if (retry != Instant::max()) {
    timers_.add({.when = retry, .kind = TimerKind::kPlan, .gpu = gpu});
  }
}

// Restraint may have ended for any of them.
void Scheduler::replan_restrained() {
  if (to_plan_.empty()) {
    std::swap(to_plan_, restrained_);
    return;
  }
  for (std::uint32_t g = restrained_.first(); g != GpuSet::kNone; g = restrained_.next(g + 1)) {
    to_plan_.insert(g, node_.gpu_count());
    restrained_.erase(g);
  }
}

// Drain: each movable job goes to its arrival choice elsewhere, the lowest id first; the rest are
// awaited.
void Scheduler::plan_drains() {
  for (std::uint32_t g = draining_.first(); g != GpuSet::kNone; g = draining_.next(g + 1)) {
    const auto held = [&](const Entry& e) {
      return e.occupies() && e.state != EntryState::kForeign;
    };
    if (std::ranges::none_of(node_.entries(GpuId(g)), held)) {
      draining_.erase(g);
      Node::Edit(node_, GpuId(g)).gpu().draining = false;  // cordoned it stays
      out_->emplace_back(GpuReport{GpuId(g), GpuNews::kDrained, {}});
      continue;
    }
    while (moves_may_begin() && drain_one(GpuId(g))) {
    }
  }
}

bool Scheduler::drain_one(GpuId gpu) {
  if (node_.gpu(gpu).health != Health::kOk) return false;  // its jobs cannot be stopped
  std::vector<JobSlot> jobs;
  for (const Entry& e : node_.entries(gpu)) {
    if (e.movable) jobs.push_back(e.job);
  }
  std::ranges::sort(jobs, {}, [&](JobSlot s) { return node_.job(s).id; });
  for (const JobSlot s : jobs) {
    const Job& job = node_.job(s);
    const auto slot = choose(node_, *policies_.placement, node_.request_of(job));
    if (!slot || node_.gpu(slot->gpu).incoming) continue;
    const Gpu& to = node_.gpu(slot->gpu);
    const mig::Placement place{*node_.profile_on(to.model, job.profile), slot->start};
    const mig::Occupancy after = node_.model(to.model).with(to.projected, place);
    if (takes_place_of_head(node_, to.model, to.projected, after)) continue;
    begin_move({job.id, gpu, *slot, MoveKind::kDrain, s});
    return true;
  }
  return false;
}

// A requested move. The requester was answered whether it can be made; if it has become impossible
// since, it is ignored.
void Scheduler::on(const MoveRequested& e) {
  const auto move = requested_move(node_, policies_, e);
  if (move) begin_move(*move);
}

void Scheduler::begin_move(const Move& move) {
  Job& job = node_.job(move.slot);
  CHECK(!job.moving() && job.main.gpu == move.from && job.phase == JobPhase::kRunning);
  job.move_kind = move.kind;
  job.move = MovePhase::kCreating;
  job.replica = {.gpu = move.to.gpu};
  job.replica_start = move.to.start;
  node_.add_moves(1);
  out_->emplace_back(
      MoveReport{job.id, move.kind, MoveNews::kBegun, move.from, move.to.gpu, move.to.start});
  update_flags(move.slot);
  Node::Edit(node_, move.to.gpu).gpu().incoming = true;
  job.replica.instance = reserve(move.slot, move.to.gpu, move.to.start);
  instance_ready(move.slot, job.replica.instance);
}

void Scheduler::replica_ready(JobSlot s) {
  Job& job = node_.job(s);
  if (job.main.run == kNoRun) {  // the original crashed meanwhile: traffic has nowhere else to go
    out_->emplace_back(SwitchTraffic{job.id, kNoRun, job.replica.run});
    take_over(s, MoveNews::kTakenOver);
    return;
  }
  job.move = MovePhase::kSwitching;
  out_->emplace_back(SwitchTraffic{job.id, job.main.run, job.replica.run});
}

void Scheduler::on(const TrafficSwitched& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob || node_.job(s).replica.run != e.run) return;
  if (node_.job(s).move == MovePhase::kSwitching) node_.job(s).move = MovePhase::kDraining;
}

void Scheduler::on(const TrafficDrained& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob || node_.job(s).main.run != e.run) return;
  Job& job = node_.job(s);
  if (job.move != MovePhase::kDraining || job.replica.run != e.to) return;
  job.move = MovePhase::kStopping;
  stop(s, job.main);
}

// Traffic could not be switched to the run. Before the switch this rolls the move back. A restarted
// body may request a switch again that was made already; a failure then cannot undo it, so the
// original, whose draining will not be reported, is stopped.
void Scheduler::switch_failed(JobSlot s, RunId run) {
  Job& job = node_.job(s);
  if (job.replica.run == run && job.move == MovePhase::kSwitching) {
    roll_back(s);
  } else if (job.replica.run == run && job.move == MovePhase::kDraining) {
    job.move = MovePhase::kStopping;
    stop(s, job.main);
  } else if (job.main.run == run) {
    report(job, JobNews::kSwitchStuck);
  }
}

// Handles the end of the replica, depending on how far the move was.
void Scheduler::replica_gone(JobSlot s, bool success) {
  Job& job = node_.job(s);
  if (job.replica_is_job() && job.move != MovePhase::kStopping) {
    end_with_replica(s, success);
    return;
  }
  switch (job.move) {
    case MovePhase::kNone:
      return;
    case MovePhase::kDraining:
      if (success) {  // it was the job already: its normal exit ends both
        end_with_replica(s, true);
        return;
      }
      [[fallthrough]];
    case MovePhase::kSwitching:  // the original is not being stopped yet: back to it
      out_->emplace_back(SwitchTraffic{job.id, job.replica.run, job.main.run});
      [[fallthrough]];
    case MovePhase::kCreating:
    case MovePhase::kStarting:
      back_off(job, job.replica.gpu, job.replica_start);
      close_move(s, MoveNews::kRolledBack);
      if (job.main.run == kNoRun) end_or_restart(s, false);  // the original had crashed before
      return;
    case MovePhase::kStopping:  // being stopped: then the restart policy decides
      job.ending = true;
      job.failed = !success;  // it was the job already: its normal exit is the job's
      if (!success) back_off(job, job.replica.gpu, job.replica_start);
      close_move(s, success ? MoveNews::kDone : MoveNews::kRolledBack);
      return;
    case MovePhase::kRollingBack:
      close_move(s, MoveNews::kRolledBack);
      if (job.main.run == kNoRun) end_or_restart(s, !job.failed);
      return;
  }
}

// The replica was the job and has ended. The original is stopped: that of a batch job would repeat
// what the replica has done. Then the restart policy decides.
void Scheduler::end_with_replica(JobSlot s, bool success) {
  Job& job = node_.job(s);
  job.ending = true;
  job.failed = !success;
  close_move(s, MoveNews::kDone);
  stop(s, job.main);
  job.phase = JobPhase::kStopping;
  update_flags(s);
}

// Removes the replica; the job stays where it is (or ends, if it is ending).
void Scheduler::roll_back(JobSlot s) {
  Job& job = node_.job(s);
  CHECK(job.moving());
  if (job.move == MovePhase::kStopping && job.main.run != kNoRun) {
    // Cancelled after the original was stopped: the replica is stopped too.
    stop(s, job.replica);
    job.move = MovePhase::kRollingBack;
    update_flags(s);
    return;
  }
  if (!job.ending) back_off(job, job.replica.gpu, job.replica_start);
  if (job.replica.run == kNoRun) {
    abandon(job.replica);
    close_move(s, MoveNews::kRolledBack);
    if (job.ending && job.main.run == kNoRun) end_or_restart(s, !job.failed);
    return;
  }
  if (job.move == MovePhase::kSwitching || job.move == MovePhase::kDraining) {
    if (!job.ending) out_->emplace_back(SwitchTraffic{job.id, job.replica.run, job.main.run});
  }
  job.move = MovePhase::kRollingBack;
  stop(s, job.replica);
  update_flags(s);
}

// Makes the replica the job.
void Scheduler::take_over(JobSlot s, MoveNews news) {
  Job& job = node_.job(s);
  const Replica replica = job.replica;
  close_move(s, news);
  job.main = replica;
  job.failed = false;
  job.phase = JobPhase::kRunning;
  begin_cooldown(s);
  update_flags(s);
}

// Ends a move, however it went. The GPU it went into is planned again.
void Scheduler::close_move(JobSlot s, MoveNews news) {
  Job& job = node_.job(s);
  const GpuId to = job.replica.gpu;
  out_->emplace_back(MoveReport{job.id, job.move_kind, news, job.main.gpu, to, job.replica_start});
  job.move = MovePhase::kNone;
  job.replica = {};
  node_.add_moves(-1);
  if (node_.gpu(to).incoming) Node::Edit(node_, to).gpu().incoming = false;
  if (job.move_kind == MoveKind::kIntra || job.move_kind == MoveKind::kInter) {
    to_plan_.insert(to.value(), node_.gpu_count());
  }
  update_flags(s);
  try_queue_ = true;
}

void Scheduler::begin_cooldown(JobSlot s) {
  Job& job = node_.job(s);
  const Duration cooldown = node_.tuning().restraint.cooldown;
  if (cooldown <= Duration::zero()) return;
  job.cooldown_until = node_.now() + cooldown;
  node_.add_cooling(s);
  timers_.add({.when = job.cooldown_until, .kind = TimerKind::kCooldown, .job = job.id});
}

// Backs off this slot for this job: 30 s, doubling to an hour.
void Scheduler::back_off(Job& job, GpuId gpu, std::uint8_t start) {
  auto known = std::ranges::find_if(
      job.back_offs, [&](const BackOff& b) { return b.gpu == gpu && b.start == start; });
  BackOff entry{.gpu = gpu, .start = start};
  if (known != job.back_offs.end()) {
    entry = *known;
    job.back_offs.erase(known);
  }
  const int doublings = std::min<int>(entry.failures, 7);
  entry.until = node_.now() + std::min(kLongestBackOff, kFirstBackOff * (1 << doublings));
  entry.failures = static_cast<std::uint8_t>(doublings + 1);
  job.back_offs.push_back(entry);  // the latest last
  // The job may wait when it ends (then the queue is tried), or be on a GPU to be drained.
  timers_.add({.when = entry.until, .kind = TimerKind::kQueue});
}

}  // namespace tangram::core
