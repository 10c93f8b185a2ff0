// See supervisor.hpp: recovers the runs of an earlier daemon.
#include <set>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/runs/run_folder_gc.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/runs/supervisor_threads.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kLoadRetry{5'000};
constexpr const char* kUnread = "its request cannot be read";

// Clears the reason that the job's request could not be read.
void clear_unread_reason(Engine& engine, std::uint64_t job) {
  const store::JobRow* row = engine.records().job(job);
  if (row == nullptr || !row->reason.starts_with(kUnread)) return;
  engine.post(Input{.event = core::WakeUp{}, .edit_rows = [job](JobTable& records) {
                      if (store::JobRow* stored = records.edit_job(job)) stored->reason.clear();
                    }});
}

}  // namespace

void Supervisor::recover_runs(bool rebooted) {
  const core::Node& node = engine_.scheduler().node();
  for (const core::JobSlot slot : node.jobs_by_id()) {
    const core::Job& job = node.job(slot);
    if (job.kind == core::JobKind::kLease) continue;  // a lease has no shim
    for (const core::Replica* replica : {&job.main, &job.replica}) {
      if (replica->run == core::kNoRun) continue;
      const store::RunRow* row = engine_.records().run(replica->run.value());
      if (row == nullptr) {
        spdlog::error("job {}: no record of its run {}", job.id.value(), replica->run.value());
        engine_.post(core::JobExited{job.id, replica->run, false});
        continue;
      }
      recover_run({.job = job.id,
                   .run = replica->run,
                   .gpu = replica->gpu,
                   .instance = replica->instance,
                   .replica = replica == &job.replica},
                  *row, replica->ready, rebooted);
    }
    // Repeats a switch that was in progress; the scheduler ignores events it has had already.
    if (job.move == core::MovePhase::kSwitching || job.move == core::MovePhase::kDraining) {
      switch_traffic({.job = job.id, .from = job.main.run, .to = job.replica.run});
    }
  }
  if (!rebooted) end_leftover_runs();
  move_unknown_folders();
}

void Supervisor::recover_run(const core::StartJob& action, const store::RunRow& row, bool is_ready,
                             bool rebooted) {
  const std::string folder = folder_of(row);
  const bool is_running = !rebooted && shim::is_shim_running(folder);
  const auto record = shim::read_exit(folder);
  const bool has_ended = record && *record;
  if (rebooted && !has_ended) return;  // ends with its GPU; see Daemon
  const bool was_started = shim::was_started(folder);
  if (!is_running && !has_ended && !was_started && !row.stop_asked &&
      !may_still_start(action, folder)) {
    start(action);
    return;
  }
  const RunPtr run = make_run(action, row);
  if (const auto loaded = load_request(*run, row); !loaded) {
    set_reason(run, cat(kUnread, ", so it is only watched: ", loaded.error().message));
  } else {
    clear_unread_reason(engine_, action.job.value());
  }
  run->is_ready = is_ready;
  run->is_stop_requested = row.stop_asked;
  run->stop_grace = kill_grace(*run);
  if (is_running) {
    open_link(run);
  } else if (has_ended) {
    on_exit_record(run, **record);
  } else if (was_started) {
    on_shim_lost(run);
  } else {
    report_never_started(run, row.stop_asked ? "stopped before it started"
                                             : "tangramd was restarted while the run was starting");
  }
}

// Whether a shim that the last daemon spawned may still start the run. Preparing the move again
// would thaw the original, and the successor would then run beside it.
bool Supervisor::may_still_start(const core::StartJob& action, const std::string& folder) const {
  return action.replica && &mover_of(action.job) == checkpoint_mover_ &&
         ::access(folder.c_str(), F_OK) == 0;
}

// A run whose request could not be read is only watched: whether it is ready and how it is moved
// are decided once the store can be read again.
void Supervisor::retry_load_request(const RunPtr& run) {
  run->timer.expires_after(kLoadRetry);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (stopped || !*alive || run->phase != Run::Phase::kLinked || !run->pid) return;
    const store::RunRow* row = engine_.records().run(run->run.value());
    if (row == nullptr || !load_request(*run, *row)) {
      retry_load_request(run);
      return;
    }
    clear_unread_reason(engine_, run->job.value());
    on_running(run, *run->pid);
  });
}

// Ends runs that the store knows and no job accounts for: the daemon was killed before it ended
// them.
void Supervisor::end_leftover_runs() {
  std::set<std::string> recovered;
  for (const auto& [id, run] : runs_) recovered.insert(run->folder);  // and orphans
  for (const std::string& folder : list_folders(options_.runs)) {
    if (recovered.contains(folder) || !name_of_folder(folder)) continue;
    if (!shim::is_shim_running(folder)) continue;
    spdlog::warn("ending the run in {}: its job no longer needs it", folder);
    const RunPtr run = make_jobless_run(folder);
    run->is_stop_requested = true;
    run->stop_grace = std::chrono::milliseconds(0);
    open_link(run);
  }
}

void Supervisor::remove_folders(const store::RetentionResult& gone) {
  boost::asio::post(
      threads_->removing,
      [gone, runs = options_.runs, checkpoints = options_.checkpoints,
       &stopping = threads_->is_stopping] { remove_trimmed(runs, checkpoints, gone, stopping); });
}

}  // namespace tangram::daemon
