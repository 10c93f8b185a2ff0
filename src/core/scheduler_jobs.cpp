// The life of a job outside of moves: submitted, started, exited, cancelled, restarted. A job is
// finished only when no replica of it holds an instance.
#include <algorithm>

#include "base/check.hpp"
#include "core/reservation.hpp"
#include "core/scheduler.hpp"

namespace tangram::core {

void Scheduler::on(const JobSubmitted& e) {
  if (node_.find_job(e.spec.id) != kNoJob) {
    out_->emplace_back(JobReport{e.spec.id, JobNews::kRefusedDuplicate});
    return;
  }
  const auto profile = node_.find_name(e.spec.profile);
  if (!profile || !node_.known_to_some_gpu(*profile, e.spec.gpu_model)) {
    out_->emplace_back(JobReport{e.spec.id, JobNews::kRefusedProfile});
    return;
  }
  node_.note_request(*profile);
  const JobSlot s = node_.add_job(e.spec, *profile);
  if (backfills()) node_.job(s).submitted = node_.now();
  enqueue(s);
  report(node_.job(s), JobNews::kQueued);
  if (!node_.servable(*profile, e.spec.gpu_model)) hold(s, kHoldUnservable);
  if (e.spec.held) hold(s, kHoldUser);
  if (e.spec.over_limit) hold(s, kHoldLimit);
  if (e.spec.dependent) hold(s, kHoldDependency);
  if (e.spec.array_full) hold(s, kHoldArray);
}

void Scheduler::on(const JobHeld& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s != kNoJob) hold(s, e.cause);
}

void Scheduler::on(const JobReleased& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s != kNoJob) unhold(s, e.cause);
}

void Scheduler::on(const JobCancelled& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob) return;
  Job& job = node_.job(s);
  if (job.cancelled) {
    stop_again(e.job, job.main.run);
    stop_again(e.job, job.replica.run);
    return;
  }
  job.cancelled = true;
  job.ending = true;
  switch (job.phase) {
    case JobPhase::kQueued:
      dequeue(s);
      [[fallthrough]];
    case JobPhase::kHeld:
      finish(s, JobNews::kCancelled);
      return;
    case JobPhase::kPlaced:
      abandon(job.main);
      finish(s, JobNews::kCancelled);
      return;
    case JobPhase::kStarting:
    case JobPhase::kRunning:
    case JobPhase::kStopping:
      break;
  }
  if (job.moving()) roll_back(s);
  if (job.main.run == kNoRun) return;  // only a replica was left, and it has been seen to
  stop(s, job.main);
  job.phase = JobPhase::kStopping;
  if (backfills()) {
    const Instant killed = node_.now() + job.stop_grace + kEndMargin;
    job.ends = std::min(job.ends.value_or(killed), killed);
  }
  update_flags(s);
}

void Scheduler::on(const JobRequeued& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob) return;
  const Job& now = look(s);
  const bool has_run = now.phase == JobPhase::kStarting || now.phase == JobPhase::kRunning;
  if (!has_run || now.kind != JobKind::kBatch || now.moving() || now.ending) return;
  Job& job = node_.job(s);
  job.requeued = true;
  stop(s, job.main);
  job.phase = JobPhase::kStopping;
  update_flags(s);
}

void Scheduler::start(JobSlot s, Replica& replica) {
  const Job& job = node_.job(s);
  replica.run = RunId(next_run_++);
  replica.ready = false;
  replica.stopping = false;
  out_->emplace_back(
      StartJob{job.id, replica.run, replica.gpu, replica.instance, &replica == &job.replica});
}

void Scheduler::stop(JobSlot s, Replica& replica) {
  if (replica.run == kNoRun || replica.stopping) return;
  replica.stopping = true;
  out_->emplace_back(StopJob{node_.job(s).id, replica.run});
}

// A run that could not be stopped is stopped again: after a while, or when the job is cancelled
// again.
void Scheduler::stop_again(JobId id, RunId run) {
  const JobSlot s = node_.find_job(id);
  if (s == kNoJob || run == kNoRun) return;
  const Job& job = node_.job(s);
  for (const Replica* replica : {&job.main, &job.replica}) {
    if (replica->run == run && replica->stopping) out_->emplace_back(StopJob{id, run});
  }
}

void Scheduler::on(const JobReady& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob) return;
  Job& job = node_.job(s);
  if (job.main.run == e.run && job.phase == JobPhase::kStarting) {
    job.phase = JobPhase::kRunning;
    job.main.ready = true;
    job.create_failures = 0;
    if (job.ends) job.ends = std::min(*job.ends, *end_of(job, node_.now()));
    // A batch job is moved by its checkpoint, for which its program must have been loaded.
    if (job.kind == JobKind::kBatch && job.allowed_to_move) begin_cooldown(s);
    report(job, JobNews::kRunning);
    update_flags(s);
  } else if (job.replica.run == e.run && job.move == MovePhase::kStarting) {
    job.replica.ready = true;
    replica_ready(s);
  }
}

void Scheduler::on(const JobExited& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob || e.run == kNoRun) return;
  Job& job = node_.job(s);
  if (job.main.run == e.run) {
    const Replica gone = job.main;
    job.main = {.gpu = gone.gpu};
    release(gone);
    main_gone(s, e.success, e.node_fault);
  } else if (job.replica.run == e.run) {
    release(job.replica);
    replica_gone(s, e.success);
  }
}

// The original's process is gone; its instance is idle (or its GPU lost).
void Scheduler::main_gone(JobSlot s, bool success, bool node_fault) {
  Job& job = node_.job(s);
  switch (job.move) {
    case MovePhase::kNone:
      to_plan_.insert(job.main.gpu.value(), node_.gpu_count());
      end_or_restart(s, job.ending ? !job.failed : success, node_fault);
      return;
    case MovePhase::kStopping:  // as it should be
      take_over(s, MoveNews::kDone);
      return;
    case MovePhase::kSwitching:
    case MovePhase::kDraining:
      if (!success && !job.ending) {  // a ready replica takes over
        take_over(s, MoveNews::kTakenOver);
        return;
      }
      break;
    case MovePhase::kCreating:
    case MovePhase::kStarting:
      if (!success && !job.ending) {  // the replica has until its deadline
        job.failed = true;
        return;
      }
      break;
    case MovePhase::kRollingBack:
      break;
  }
  // A normal exit (or the end after a cancel) ends both.
  to_plan_.insert(job.main.gpu.value(), node_.gpu_count());
  job.ending = true;
  job.failed = !success;
  if (job.move != MovePhase::kRollingBack) roll_back(s);
}

void Scheduler::end_or_restart(JobSlot s, bool success, bool node_fault) {
  Job& job = node_.job(s);
  const bool wanted = job.restart == Restart::kAlways ||
                      (job.restart == Restart::kOnFailure && !success) ||
                      (job.restart == Restart::kOnNodeFault && !success && node_fault);
  if (job.cancelled) {
    finish(s, JobNews::kCancelled);
  } else if (job.requeued) {
    requeue(s);
  } else if (wanted && (success || job.restarts < job.max_restarts)) {
    job.restarts = success ? std::uint16_t{0} : static_cast<std::uint16_t>(job.restarts + 1);
    requeue(s);
  } else {
    finish(s, success ? JobNews::kFinished : JobNews::kFailed);
  }
}

void Scheduler::requeue(JobSlot s) {
  Job& job = node_.job(s);
  CHECK(!job.moving());
  end_usage(s);
  job.ends.reset();
  // Also when its cooldown has run out: the timer that says so may come after this event.
  if (node_.job(s).cooldown_until > Instant{}) node_.drop_cooling(s);
  job.main = {};
  job.ending = false;
  job.failed = false;
  job.requeued = false;
  job.cooldown_until = {};  // starts over
  enqueue(s);
  report(job, JobNews::kRequeued);
  if (!node_.servable(job.profile, job.gpu_model)) hold(s, kHoldUnservable);
}

void Scheduler::finish(JobSlot s, JobNews news) {
  CHECK(!node_.job(s).moving());
  report(node_.job(s), news);
  end_usage(s);
  // Also when its cooldown has run out: the timer that says so may come after this event.
  if (node_.job(s).cooldown_until > Instant{}) node_.drop_cooling(s);
  node_.remove_job(s);
}

// Its instance could not be created there: tries elsewhere, and finally gives up.
void Scheduler::create_failed_for(JobSlot s, GpuId gpu, std::uint8_t start) {
  Job& job = node_.job(s);
  ++job.create_failures;
  if (job.create_failures >= kMaxCreateFailures) {
    finish(s, JobNews::kCreateFailed);
    return;
  }
  back_off(job, gpu, start);
  requeue(s);
}

// Its run could not start, through no fault of the job, and is gone: it is tried again, whatever
// its restart policy, which decides only about the last failure.
void Scheduler::start_failed(const ActionFailed& e) {
  const JobSlot s = node_.find_job(e.job);
  if (s == kNoJob || e.run == kNoRun) return;
  Job& job = node_.job(s);
  const bool is_starting = job.main.run == e.run && job.phase == JobPhase::kStarting &&
                           !job.moving() && !job.ending && !job.cancelled;
  if (!is_starting || job.create_failures + 1 >= kMaxCreateFailures) {
    on(JobExited{e.job, e.run, false});
    return;
  }
  ++job.create_failures;
  const Replica gone = job.main;
  job.main = {.gpu = gone.gpu};
  release(gone);
  to_plan_.insert(gone.gpu.value(), node_.gpu_count());
  requeue(s);
}

void Scheduler::release(const Replica& replica) {
  if (node_.find(replica.gpu, replica.instance) == nullptr) return;  // the GPU was lost
  Node::Edit edit(node_, replica.gpu);
  Entry& entry = edit.entry(replica.instance);
  entry.state = EntryState::kIdle;
  entry.job = kNoJob;
  entry.movable = false;
  entry.leaving = false;
  try_queue_ = true;
}

void Scheduler::update_flags(JobSlot s) {
  const Job& job = node_.job(s);
  const auto set = [&](const Replica& replica, bool movable, bool leaving) {
    const Entry* entry = node_.find(replica.gpu, replica.instance);
    if (entry == nullptr) return;
    if (entry->leaving == leaving) {
      node_.set_movable(replica.gpu, replica.instance, movable);
      return;
    }
    Node::Edit edit(node_, replica.gpu);
    edit.entry(replica.instance).movable = movable;
    edit.entry(replica.instance).leaving = leaving;
  };
  const bool rolling_back = job.move == MovePhase::kRollingBack;
  if (job.main.instance != kNoInstance) {
    set(job.main, could_move(job) && job.cooldown_until <= node_.now(),
        job.moving() && !rolling_back);
  }
  if (job.replica.instance != kNoInstance) set(job.replica, false, rolling_back);
}

}  // namespace tangram::core
