// See supervisor.hpp: runs that are moved. Freezes, thaws and signals them, and watches successors
// resume from a checkpoint.
#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/runs/checkpoint_files.hpp"
#include "daemon/runs/mover.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/runs/supervisor_threads.hpp"
#include "shim/process_table.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kPollInterval{20};
constexpr std::chrono::milliseconds kRequestTimeout{10'000};  // longer than the shim's own
constexpr std::chrono::milliseconds kFreezeRetry{1'000};

std::string without_period(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

void Supervisor::set_movers(Mover& replica, Mover& checkpoint) {
  replica_mover_ = &replica;
  checkpoint_mover_ = &checkpoint;
}

// Only batch jobs save checkpoints, and only services have replicas.
Mover& Supervisor::mover_of(core::JobId job) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(job);
  const bool is_batch = slot != core::kNoJob && node.job(slot).kind == core::JobKind::kBatch;
  return is_batch ? *checkpoint_mover_ : *replica_mover_;
}

void Supervisor::prepare(const RunPtr& run, const core::StartJob& action) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(action.job);
  const core::RunId original = slot == core::kNoJob ? core::kNoRun : node.job(slot).main.run;
  mover_of(action.job)
      .prepare(action, original, [this, alive = alive_, run](const Result<void>& prepared) {
        if (!*alive || run->phase != Run::Phase::kWaiting) return;
        const store::RunRow* row = engine_.records().run(run->run.value());
        if (!prepared || row == nullptr) {
          if (!prepared) run->prepare_error = without_period(prepared.error().message);
          report_never_started(run,
                               prepared ? "the run is not in the store" : prepared.error().message);
          return;
        }
        run->wanted_since = std::chrono::steady_clock::now();
        begin_start(run, *row);
      });
}

// Whether the run is a replica that resumes from a checkpoint. Its original is frozen until it has
// resumed or is given up.
bool Supervisor::is_successor(const Run& run) const {
  return run.is_replica && &mover_of(run.job) == checkpoint_mover_;
}

void Supervisor::switch_traffic(const core::SwitchTraffic& action) {
  mover_of(action.job).switch_traffic(action);
}

void Supervisor::on_move_report(const core::MoveReport& report) {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(report.job);
  if (slot == core::kNoJob || report.news != core::MoveNews::kRolledBack) return;
  mover_of(report.job).roll_back(report.job, node.job(slot).main.run);
}

std::optional<Supervisor::MoveInfo> Supervisor::find_move_info(core::RunId run) const {
  const auto at = runs_.find(run.value());
  if (at == runs_.end() || at->second->phase != Run::Phase::kLinked) return std::nullopt;
  if (!at->second->has_request) return std::nullopt;  // not known how
  return MoveInfo{
      .options = at->second->move, .checkpoint = at->second->checkpoint, .uid = at->second->uid};
}

void Supervisor::post_result(std::function<void(Result<void>)> done, Result<void> result) {
  boost::asio::post(loop_, [alive = alive_, done = std::move(done), result = std::move(result)] {
    if (*alive) done(result);
  });
}

// Only the main process: child processes of the job may not handle this signal and would be killed
// by it.
void Supervisor::request_checkpoint(core::RunId run, int signal,
                                    std::function<void(Result<void>)> done) {
  const auto at = runs_.find(run.value());
  if (at == runs_.end() || !at->second->link || !at->second->pid) {
    post_result(std::move(done),
                failed(cat("run ", run.value(), " has no process that could be signalled.")));
    return;
  }
  const RunPtr& target = at->second;
  if (target->takes_checkpoint) {
    const std::int64_t id = ++target->last_request_id;
    target->pending_requests[id] = std::move(done);
    target->link->send({{"do", "checkpoint"}, {"id", id}, {"signal", signal}});
    start_request_timeout(target, id);
  } else if (shim::has_handler(*target->pid, signal)) {  // an older shim does not look itself
    target->link->send({{"do", "signal"}, {"signal", signal}, {"to", "main"}});
    post_result(std::move(done), {});
  } else {
    post_result(std::move(done), failed(api::no_handler_text(signal)));
  }
}

void Supervisor::freeze(core::RunId run, bool frozen, std::function<void(Result<void>)> done) {
  const auto at = runs_.find(run.value());
  const bool is_connected = at != runs_.end() && at->second->link;
  if (!is_connected || (!frozen && has_other_run(*at->second))) {
    const std::string why = is_connected
                                ? "another run of its job has not ended yet."
                                : cat("the shim of run ", run.value(), " is not connected.");
    post_result(std::move(done), failed(why));
    return;
  }
  const RunPtr& target = at->second;
  const std::int64_t id = ++target->last_request_id;
  if (frozen) target->is_frozen = true;
  target->pending_requests[id] = [weak = std::weak_ptr<Run>(target), id, frozen,
                                  done = std::move(done)](const Result<void>& result) {
    const auto self = weak.lock();
    if (self && result && !frozen && id == self->last_request_id) self->is_frozen = false;
    done(result);
  };
  target->link->send({{"do", frozen ? "freeze" : "thaw"}, {"id", id}});
  start_request_timeout(target, id);
}

// A shim that is stopped or a connection that stalls must not delay a move indefinitely.
void Supervisor::start_request_timeout(const RunPtr& run, std::int64_t id) {
  auto timer = std::make_shared<boost::asio::steady_timer>(loop_, kRequestTimeout);
  timer->async_wait([alive = alive_, timer, id,
                     weak = std::weak_ptr<Run>(run)](const boost::system::error_code& stopped) {
    const RunPtr self = weak.lock();
    if (stopped || !*alive || !self) return;
    const auto request = self->pending_requests.extract(id);
    if (request.empty()) return;
    request.mapped()(
        failed(cat("its shim did not respond within ", api::duration_text(kRequestTimeout), ".")));
  });
}

void Supervisor::on_response(const RunPtr& run, const boost::json::object& line) {
  const auto* id = line.if_contains("done");
  const auto* ok = line.if_contains("ok");
  const auto* detail = line.if_contains("detail");
  const auto at = id != nullptr && id->is_int64() ? run->pending_requests.find(id->get_int64())
                                                  : run->pending_requests.end();
  if (at == run->pending_requests.end()) return;
  const auto done = std::move(at->second);
  run->pending_requests.erase(at);
  if (ok != nullptr && ok->is_bool() && ok->get_bool()) {
    done({});
  } else {
    done(failed(detail != nullptr && detail->is_string() ? std::string(detail->get_string())
                                                         : "its shim refused the request."));
  }
}

void Supervisor::fail_requests(const RunPtr& run, const std::string& why) {
  for (auto& [id, done] : std::exchange(run->pending_requests, {})) {
    post_result(std::move(done), failed(why));
  }
}

CheckpointFiles& Supervisor::checkpoint_files() { return threads_->checkpoint_files; }

// A successor is ready once it has announced that it resumed from the checkpoint.
void Supervisor::poll_resumed(const RunPtr& run) {
  if (run->phase != Run::Phase::kLinked || run->is_ready || run->is_stop_requested) return;
  if (!run->probe_until) {
    run->probe_until = std::chrono::steady_clock::now() + run->move.deadline;
  }
  if (std::exchange(run->is_looking_for_resumed, true)) return;
  checkpoint_files().look_for(run->uid, run->checkpoint, kResumedFile,
                              [this, alive = alive_, run](const Result<bool>& found) {
                                if (*alive) on_looked_for_resumed(run, found.value_or(false));
                              });
}

void Supervisor::on_looked_for_resumed(const RunPtr& run, bool is_announced) {
  run->is_looking_for_resumed = false;
  if (run->phase != Run::Phase::kLinked || run->is_ready || run->is_stop_requested) return;
  if (is_announced) {
    on_ready(run);
    return;
  }
  if (std::chrono::steady_clock::now() >= *run->probe_until) {
    run->stop_reason = cat("it did not resume within ", api::duration_text(run->move.deadline),
                           " (no file \"resumed\" in $TANGRAM_CHECKPOINT)");
    send_stop(run, std::chrono::milliseconds(0));
    return;
  }
  run->timer.expires_after(kPollInterval);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive) poll_resumed(run);
  });
}

// The successor may have resumed and ended since the last poll: it has taken over all the same.
// Called when its processes are gone; calls `then`, now or later. A successor that was stopped on
// request does not count, nor does one whose folder does not respond.
void Supervisor::report_if_resumed(const RunPtr& run, std::function<void()> then) {
  const auto may_have_resumed = [this](const Run& ended) {
    return !ended.is_ready && !ended.is_stop_requested && !ended.checkpoint.empty() &&
           is_current_replica(ended);
  };
  if (run->phase == Run::Phase::kGone || !may_have_resumed(*run)) {
    then();
    return;
  }
  run->phase = Run::Phase::kEnding;
  checkpoint_files().look_for(
      run->uid, run->checkpoint, kResumedFile,
      [this, alive = alive_, run, may_have_resumed, then = std::move(then)](const auto& found) {
        if (!*alive) return;
        if (found.value_or(false) && may_have_resumed(*run)) on_ready(run);
        then();
      });
}

// The grace period of a stop; nullopt: the run's own. It is 0, so the run is killed at once, for an
// original that is frozen or whose successor has started, and for a successor that is given up:
// original and successor must never both run.
std::optional<std::chrono::milliseconds> Supervisor::kill_grace(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  if (slot == core::kNoJob || run.checkpoint.empty()) return std::nullopt;
  const core::Job& job = node.job(slot);
  const bool is_superseded = job.moving() && job.main.run == run.run &&
                             (job.replica.ready || run.is_frozen || successor_started(job));
  const bool is_given_up = job.moving() && job.replica.run == run.run;
  if (!is_superseded && !is_given_up) return std::nullopt;
  return std::chrono::milliseconds(0);
}

// Whether the run is the replica of a move in progress. A run that was started as a replica may
// have replaced the original since.
bool Supervisor::is_current_replica(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  return slot != core::kNoJob && node.job(slot).moving() && node.job(slot).replica.run == run.run;
}

// Whether the replica has replaced this run already: how the run ends no longer concerns the job.
bool Supervisor::is_replaced(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  if (slot == core::kNoJob) return false;
  const core::Job& job = node.job(slot);
  if (job.main.run != run.run) return false;
  const bool ended_with_replica =
      !job.moving() && job.ending && !job.cancelled && job.main.stopping;
  return job.move == core::MovePhase::kStopping || ended_with_replica;
}

// Whether the run is the one that the job has, its move apart.
bool Supervisor::is_main(const Run& run) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  return slot != core::kNoJob && node.job(slot).main.run == run.run;
}

// Whether the run is a replica whose end is the job's: of a batch job, it has resumed; of a
// service, the original is being stopped, or it ends normally.
bool Supervisor::is_replica_the_job(const Run& run, bool success) const {
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  if (slot == core::kNoJob || node.job(slot).replica.run != run.run) return false;
  const core::Job& job = node.job(slot);
  return job.replica_is_job() || (job.move == core::MovePhase::kDraining && success);
}

// Whether the replica of a job that is being moved may have run.
bool Supervisor::successor_started(const core::Job& job) const {
  const store::RunRow* successor =
      job.moving() ? engine_.records().run(job.replica.run.value()) : nullptr;
  return successor != nullptr && shim::was_started(folder_of(*successor));
}

void Supervisor::reconcile_freeze(core::RunId run) {
  const auto at = runs_.find(run.value());
  if (at != runs_.end()) reconcile_freeze(at->second);
}

// A move, also one of an earlier daemon, may have left an original frozen. It stays frozen if its
// successor has started and is thawed otherwise.
void Supervisor::reconcile_freeze(const RunPtr& run) {
  if (run->checkpoint.empty() || run->is_stop_requested || run->phase == Run::Phase::kGone) return;
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run->job);
  if (slot == core::kNoJob) return;
  const core::Job& job = node.job(slot);
  if (job.replica.run == run->run) return;  // a successor is never frozen
  if (job.main.run == run->run && job.main.stopping) return;
  const bool has_successor = successor_started(job);
  if (job.moving() && !has_successor) return;  // the move is being prepared
  if (!has_successor && has_other_run(*run)) {
    retry_freeze(run, kPollInterval);
    return;
  }
  const auto on_done = [this, alive = alive_, weak = std::weak_ptr<Run>(run)](const auto& result) {
    const RunPtr self = weak.lock();
    if (*alive && self) on_freeze_reconciled(self, result);
  };
  if (has_successor) {
    freeze(run->run, true, on_done);
    return;
  }
  // The move was rolled back, so the job may continue: also if its folder does not respond.
  checkpoint_files().remove(
      run->uid, run->checkpoint, kSavedFile,
      [this, alive = alive_, weak = std::weak_ptr<Run>(run), on_done](const Result<void>& removed) {
        const RunPtr self = weak.lock();
        if (!*alive || !self || !may_thaw(*self)) return;
        if (!removed) spdlog::error("job {}: {}", self->job.value(), removed.error().message);
        freeze(self->run, false, on_done);
      });
}

// Whether the run may still be thawed. A move that has begun meanwhile does that itself.
bool Supervisor::may_thaw(const Run& run) const {
  if (run.is_stop_requested || run.phase == Run::Phase::kGone) return false;
  const core::Node& node = engine_.scheduler().node();
  const core::JobSlot slot = node.find_job(run.job);
  return slot != core::kNoJob && !node.job(slot).moving();
}

// Reports a failed freeze or thaw as the job's reason and retries it.
void Supervisor::on_freeze_reconciled(const RunPtr& run, const Result<void>& result) {
  if (run->phase == Run::Phase::kGone || run->is_stop_requested) return;
  const std::string error =
      result ? ""
             : cat("it cannot be frozen or thawed as its move requires: ", result.error().message,
                   " Retrying.");
  const std::string before = std::exchange(run->freeze_error, error);
  if (result) {
    if (!before.empty()) clear_reason(run, before);
    return;
  }
  if (error != before) set_reason(run, error);
  retry_freeze(run, kFreezeRetry);
}

void Supervisor::retry_freeze(const RunPtr& run, std::chrono::milliseconds wait) {
  run->freeze_timer.expires_after(wait);
  run->freeze_timer.async_wait(
      [this, alive = alive_, run](const boost::system::error_code& stopped) {
        if (!stopped && *alive) reconcile_freeze(run);
      });
}

// Whether another run of the job may still have processes: a successor whose GPU was lost is given
// up before its processes are gone.
bool Supervisor::has_other_run(const Run& run) const {
  return std::ranges::any_of(runs_, [&](const auto& each) {
    const Run& other = *each.second;
    return other.job == run.job && other.run != run.run && other.phase != Run::Phase::kWaiting;
  });
}

}  // namespace tangram::daemon
