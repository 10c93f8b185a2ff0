// See engine.hpp: how a step of the scheduler changes the rows of the JobTable.
#include <algorithm>
#include <utility>

#include "api/job.hpp"
#include "base/check.hpp"
#include "base/text.hpp"
#include "core/transcript.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/engine/run_end.hpp"

namespace tangram::daemon {
namespace {

api::JobState state_of(core::JobPhase phase) {
  switch (phase) {
    case core::JobPhase::kHeld:
      return api::JobState::kHeld;
    case core::JobPhase::kQueued:
      return api::JobState::kQueued;
    case core::JobPhase::kPlaced:
      return api::JobState::kPlaced;
    case core::JobPhase::kStarting:
      return api::JobState::kStarting;
    case core::JobPhase::kRunning:
      return api::JobState::kRunning;
    case core::JobPhase::kStopping:
      return api::JobState::kStopping;
  }
  CHECK(false);
  return api::JobState::kQueued;
}

bool is_end(core::JobNews news) {
  switch (news) {
    case core::JobNews::kRefusedProfile:
    case core::JobNews::kRefusedDuplicate:
    case core::JobNews::kFinished:
    case core::JobNews::kFailed:
    case core::JobNews::kCancelled:
    case core::JobNews::kCreateFailed:
      return true;
    default:
      return false;
  }
}

std::string_view result_name(core::MoveNews news) {
  switch (news) {
    case core::MoveNews::kBegun:
      return "";
    case core::MoveNews::kDone:
      return "done";
    case core::MoveNews::kRolledBack:
      return "rolled-back";
    case core::MoveNews::kTakenOver:
      return "taken-over";
  }
  return "";
}

}  // namespace

// A run records the boot in which it was started: it does not survive a reboot.
void Engine::record_run(const core::StartJob& start) {
  const core::Entry* entry = scheduler_->node().find(start.gpu, start.instance);
  const store::InstanceRow* instance = records_.instance(start.instance.value());
  store::RunRow row;
  row.run = start.run.value();
  row.job = start.job.value();
  row.gpu = start.gpu.value();
  row.instance = start.instance.value();
  row.start = entry == nullptr ? 0U : entry->placement.start;
  if (instance != nullptr) {
    row.profile = instance->profile;
    row.mig_uuid = instance->mig_uuid;
  }
  const store::ClockReading now = read_clocks();
  row.boot = now.boot;
  row.asked = now.wall;
  row.asked_since_boot = now.since_boot;
  records_.put(std::move(row));
  store::MoveRow* move = start.replica ? records_.edit_move(start.job.value()) : nullptr;
  if (move != nullptr) {
    move->run = start.run.value();
    move->started = Clock::wall();
  }
  if (store::JobRow* job = records_.edit_job(start.job.value()); job != nullptr && !start.replica) {
    job->run = start.run.value();
    job->exit_code.reset();
    job->exit_signal.reset();
    job->started.reset();
    job->reason.clear();
  }
}

void Engine::record(Batch& batch, const core::Action& action) {
  if (const auto* start = std::get_if<core::StartJob>(&action)) record_run(*start);
  if (const auto* stop = std::get_if<core::StopJob>(&action)) {
    if (store::RunRow* run = records_.edit_run(stop->run.value())) run->stop_asked = true;
  }
  if (const auto* report = std::get_if<core::JobReport>(&action)) record(batch, *report);
  if (const auto* report = std::get_if<core::MoveReport>(&action)) record(batch, *report);
}

void Engine::record(Batch& batch, const core::JobReport& report) {
  store::JobRow* job = records_.edit_job(report.job.value());
  if (job == nullptr) return;
  if (report.news == core::JobNews::kPlaced) {
    job->placed = store_.last_step() + batch.changes.steps.size() + 1;
  }
  if (is_end(report.news)) batch.ends[report.job.value()] = report.news;
  if (report.news == core::JobNews::kLost && job->reason.empty()) job->reason = "its GPU was lost";
  if (report.news == core::JobNews::kRequeued && job->run) {  // without a run it never started
    ++job->restarts;
    job->run.reset();
  }
  if (report.news == core::JobNews::kStopStuck) {
    job->reason = "cannot be stopped: the signal is repeated every 30 s; it keeps its slices";
  }
}

void Engine::record(Batch& batch, const core::MoveReport& report) {
  const std::uint64_t id = report.job.value();
  const store::WallTime now = Clock::wall();
  if (report.news != core::MoveNews::kBegun) {
    const core::JobSlot slot = scheduler_->node().find_job(report.job);
    // A job that is ending ended with its replica, whose outcome is recorded.
    const bool is_ending = slot != core::kNoJob && scheduler_->node().job(slot).ending;
    if (report.news != core::MoveNews::kRolledBack && !is_ending) clear_original_outcome(id);
    auto ended = records_.end_move(id, result_name(report.news), now);
    if (ended) batch.ended_moves.push_back(*std::move(ended));
    return;
  }
  const store::JobRow* job = records_.job(id);
  records_.begin_move({.job = id,
                       .kind = std::string(core::name_of(report.kind)),
                       .from_gpu = report.from.value(),
                       .from_start = job == nullptr ? 0U : job->start.value_or(0),
                       .to_gpu = report.to.value(),
                       .to_start = report.start,
                       .begun = now,
                       .ended = std::nullopt,
                       .result = ""});
}

// The job continues in its replica, so the exit of its original is not the job's.
void Engine::clear_original_outcome(std::uint64_t id) {
  store::JobRow* job = records_.edit_job(id);
  if (job == nullptr) return;
  job->exit_code.reset();
  job->exit_signal.reset();
  if (!job->reason.starts_with("its endpoint ")) job->reason.clear();
}

// Notes why a move will be rolled back, unless a more specific reason is recorded already.
void Engine::record_rollback_reason(const core::Event& event) {
  const auto set_reason = [&](std::uint64_t job, const char* why) {
    const store::MoveRow* move = records_.move(job);
    if (move == nullptr || !move->reason.empty()) return;
    records_.edit_move(job)->reason = why;
  };
  if (const auto* health = std::get_if<core::GpuHealth>(&event)) {
    if (health->health == core::Health::kOk) return;
    for (const auto& [job, row] : records_.moves()) {
      if (row.to_gpu == health->gpu.value())
        set_reason(job, "its target GPU is lost or unresponsive");
    }
  } else if (const auto* cancelled = std::get_if<core::JobCancelled>(&event)) {
    set_reason(cancelled->job.value(), "the job was cancelled");
  } else if (const auto* seen = std::get_if<core::ForeignSeen>(&event)) {
    for (const auto& [job, row] : records_.moves()) {
      if (row.to_gpu != seen->gpu.value() || row.run) continue;
      set_reason(job, "a foreign instance occupies its target placement");
    }
  } else if (const auto* exited = std::get_if<core::JobExited>(&event)) {
    const store::MoveRow* move = records_.move(exited->job.value());
    if (move != nullptr && move->run != exited->run.value() && exited->success) {
      set_reason(exited->job.value(), "the job ended");
    }
  }
}

// Records the time of a move's step, before the scheduler handles the event.
void Engine::record_move_progress(const core::Event& event) {
  record_rollback_reason(event);
  const auto job_of = [&](core::JobId id) {
    const core::JobSlot slot = scheduler_->node().find_job(id);
    return slot == core::kNoJob ? nullptr : &scheduler_->node().job(slot);
  };
  const auto reached = [&](core::JobId id, std::optional<store::WallTime> store::MoveRow::* step) {
    if (store::MoveRow* row = records_.edit_move(id.value())) row->*step = Clock::wall();
  };
  if (const auto* ready = std::get_if<core::JobReady>(&event)) {
    const core::Job* job = job_of(ready->job);
    if (job != nullptr && job->moving() && job->replica.run == ready->run) {
      reached(ready->job, &store::MoveRow::ready);
    }
  } else if (const auto* to = std::get_if<core::TrafficSwitched>(&event)) {
    const core::Job* job = job_of(to->job);
    if (job != nullptr && job->move == core::MovePhase::kSwitching && job->replica.run == to->run) {
      reached(to->job, &store::MoveRow::switched);
    }
  } else if (const auto* from = std::get_if<core::TrafficDrained>(&event)) {
    const core::Job* job = job_of(from->job);
    if (job != nullptr && job->move == core::MovePhase::kDraining && job->main.run == from->run) {
      reached(from->job, &store::MoveRow::drained);
    }
  }
}

void Engine::record_jobs(const Batch& batch, const core::SavedChanges& changes) {
  for (const core::SavedJob& saved : changes.jobs) record_job(saved);
  for (const auto& [id, news] : batch.ends) record_end(id, news);
}

void Engine::record_job(const core::SavedJob& saved) {
  store::JobRow* row = records_.edit_job(saved.job.id.value());
  if (row == nullptr) return;
  const bool was_held = row->state == api::name_of(api::JobState::kHeld);
  row->state = api::name_of(state_of(saved.job.phase));
  const core::Replica& main = saved.job.main;
  const core::Entry* entry = main.instance == core::kNoInstance
                                 ? nullptr
                                 : scheduler_->node().find(main.gpu, main.instance);
  row->gpu.reset();
  row->start.reset();
  row->mig_uuid.clear();
  if (entry != nullptr) {
    row->gpu = main.gpu.value();
    row->start = entry->placement.start;
    const store::InstanceRow* instance = records_.instance(main.instance.value());
    if (instance != nullptr) row->mig_uuid = instance->mig_uuid;
  }
  if (main.run != core::kNoRun) {
    row->run = main.run.value();
    if (const store::RunRow* run = records_.run(main.run.value())) {
      if (run->direct && run->port) row->port = run->port;  // else the port is its endpoint's
      row->started = run->started;
    }
  }
  if (saved.job.phase == core::JobPhase::kHeld) {
    row->reason = why_held(saved.job.holds, *row);
  } else if (saved.job.phase == core::JobPhase::kQueued && was_held) {
    row->reason.clear();
  }
}

void Engine::record_end(std::uint64_t id, core::JobNews news) {
  store::JobRow* row = records_.edit_job(id);
  if (row == nullptr || row->over) return;
  row->over = true;
  // The commit may come much later than the end of its last run.
  const store::RunRow* run = row->run ? records_.run(*row->run) : nullptr;
  const bool has_run_ended = run != nullptr && run->over && run->ended;
  row->ended = has_run_ended ? *run->ended : Clock::wall();
  const auto state = [&](api::JobState s) { row->state = api::name_of(s); };
  switch (news) {
    case core::JobNews::kFinished:
      state(api::JobState::kCompleted);
      break;
    case core::JobNews::kCancelled:
      // A lease that its holder released has completed.
      state(row->kind == "lease" && row->reason == "released" ? api::JobState::kCompleted
                                                              : api::JobState::kCancelled);
      break;
    case core::JobNews::kRefusedDuplicate:
    case core::JobNews::kRefusedProfile:
      state(api::JobState::kRefused);
      row->reason = cat("no GPU of this node has the profile ", row->profile);
      break;
    case core::JobNews::kCreateFailed:
      state(api::JobState::kFailed);
      if (row->reason.empty()) row->reason = "its instance could not be created";
      break;
    default:
      state(api::JobState::kFailed);
      if (row->reason.empty() && row->exit_code) row->reason = cat("exited with ", *row->exit_code);
  }
}

// Drops the rows of instances that the scheduler no longer has.
void Engine::record_instances(const core::SavedChanges& changes) {
  std::vector<std::uint32_t> dropped;
  for (const core::SavedGpu& gpu : changes.gpus) {
    for (const auto& [id, row] : records_.instances()) {
      if (row.gpu != gpu.id.value()) continue;
      const auto has_id = [&](const core::SavedEntry& e) { return e.id.value() == id; };
      if (std::ranges::none_of(gpu.entries, has_id)) dropped.push_back(id);
    }
  }
  for (const std::uint32_t id : dropped) records_.drop_instance(id);
}

}  // namespace tangram::daemon
