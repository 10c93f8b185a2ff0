// See supervisor.hpp: handles what shims report, probes services, stops runs.
#include <csignal>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/engine/run_end.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/runs/supervisor.hpp"
#include "daemon/runs/supervisor_threads.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kReconnectDelay{100};
// How much longer than its grace period a stop may take before it counts as failed.
constexpr std::chrono::milliseconds kStopMargin{15'000};

// Why a replica that ended before its move did has failed. Every user may read the reason of a
// move, so it contains nothing that the job printed, nor its name.
std::string why_rolled_back(const Run& run, const store::RunRow& outcome) {
  if (!run.prepare_error.empty()) return run.prepare_error;
  if (run.is_port_taken) return cat("its replica: ", outcome.reason);
  if (!run.stop_reason.empty()) return "its replica was not ready in time";
  if (run.is_stop_requested) return "";  // the caller of the stop gives the reason
  if (outcome.exit_signal) return cat("its replica was ended by signal ", *outcome.exit_signal);
  if (outcome.exit_code) return cat("its replica exited with ", *outcome.exit_code);
  return "its replica could not be started";
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? cat("signal ", signal) : cat("SIG", name);
}

}  // namespace

void Supervisor::open_link(const RunPtr& run) {
  run->phase = Run::Phase::kLinked;
  run->pid.reset();  // set again by the first line on the new connection
  const std::weak_ptr<Run> weak = run;
  ControlLink::Callbacks callbacks;
  callbacks.on_line = [this, weak](const boost::json::object& line) {
    if (const RunPtr self = weak.lock()) on_line(self, line);
  };
  callbacks.on_closed = [this, weak] {
    if (const RunPtr self = weak.lock()) on_link_closed(self);
  };
  run->link = std::make_unique<ControlLink>(loop_, run->folder, std::move(callbacks));
  if (run->is_stop_requested) send_stop(run, run->stop_grace);
}

void Supervisor::on_line(const RunPtr& run, const boost::json::object& line) {
  if (line.contains("done")) {
    on_response(run, line);
    return;
  }
  if (const auto* number = line.if_contains("probe")) {
    const auto* ok = line.if_contains("ok");
    const auto* detail = line.if_contains("detail");
    if (*number == run->probe_number) {
      on_probed(run, {.is_ready = ok != nullptr && ok->is_bool() && ok->get_bool(),
                      .detail = detail != nullptr && detail->is_string()
                                    ? std::string(detail->get_string())
                                    : ""});
    }
    return;
  }
  const auto* state = line.if_contains("state");
  if (state == nullptr || !state->is_string()) return;
  const auto* pid = line.if_contains("pid");
  const auto* takes_checkpoint = line.if_contains("takes_checkpoint");
  run->takes_checkpoint = takes_checkpoint != nullptr && *takes_checkpoint == true;
  const auto* started = line.if_contains("started_us");
  if (started != nullptr && started->is_int64()) {
    run->started = store::WallTime(std::chrono::microseconds(started->get_int64()));
  }
  if (*state == "over") {
    const auto* exit = line.if_contains("exit");
    const auto record = exit == nullptr ? Result<api::ExitRecord>(invalid("no exit record"))
                                        : api::read_exit_record(*exit);
    if (record) on_exit_record(run, *record);
    return;
  }
  if (*state == "starting") {
    if (run->job != core::JobId()) await_exec(run);
    return;
  }
  if (pid != nullptr && pid->is_int64() && !run->pid) {
    on_running(run, static_cast<int>(pid->get_int64()));
  }
}

// The job's process runs. The run is ready at once unless a probe decides that.
void Supervisor::on_running(const RunPtr& run, int pid) {
  run->pid = pid;
  hardware_.register_process(run->mig_uuid, pid);
  if (run->job == core::JobId()) return;
  if (!run->has_request) {
    retry_load_request(run);
    return;
  }
  reconcile_freeze(run);
  if (run->is_ready) return;
  if (run->is_replica && !run->checkpoint.empty()) {
    poll_resumed(run);
    return;
  }
  if (run->kind == api::JobKind::kBatch || run->probe.kind == api::Probe::Kind::kNone) {
    on_ready(run);
    return;
  }
  if (!run->probe_until) {
    run->probe_until = std::chrono::steady_clock::now() + run->probe.deadline;
  }
  engine_.post(
      Input{.event = core::WakeUp{},
            .edit_rows = [id = run->run.value(), job = run->job.value()](JobTable& records) {
              const auto now = Clock::wall();
              store::RunRow* row = records.edit_run(id);
              if (row == nullptr || row->started) return;
              row->started = now;
              store::JobRow* job_row = records.edit_job(job);
              if (job_row != nullptr && job_row->run == id) job_row->started = now;
            }});
  probe(run);
}

void Supervisor::on_ready(const RunPtr& run) {
  run->is_ready = true;
  engine_.post(
      Input{.event = core::JobReady{run->job, run->run},
            .edit_rows = [id = run->run.value(), job = run->job.value()](JobTable& records) {
              store::RunRow* row = records.edit_run(id);
              if (row != nullptr && !row->started) row->started = Clock::wall();
              store::JobRow* job_row = records.edit_job(job);
              if (row != nullptr && job_row != nullptr && job_row->run == id) {
                job_row->started = row->started;
                if (row->direct) job_row->port = row->port;
              }
            }});
}

void Supervisor::probe(const RunPtr& run) {
  const auto answer = [this, alive = alive_,
                       weak = std::weak_ptr<Run>(run)](const ProbeResult& result) {
    const RunPtr self = weak.lock();
    if (*alive && self) on_probed(self, result);
  };
  switch (run->probe.kind) {
    case api::Probe::Kind::kNone:
      on_ready(run);
      return;
    case api::Probe::Kind::kTcp:
      probe_tcp(loop_, probe_target(*run), run->probe.timeout, answer);
      return;
    case api::Probe::Kind::kHttp:
      probe_http(loop_, probe_target(*run), run->probe.path, run->probe.timeout, answer);
      return;
    case api::Probe::Kind::kCommand:
      if (run->link) run->link->send({{"do", "probe"}, {"id", ++run->probe_number}});
      return;
  }
}

void Supervisor::on_probed(const RunPtr& run, const ProbeResult& result) {
  if (run->phase != Run::Phase::kLinked || run->is_ready || run->is_stop_requested) return;
  run->has_listened = run->has_listened || result.was_answered;
  if (result.is_ready) {
    on_ready(run);
    return;
  }
  if (result.foreign_user) {
    end_for_port(run, *result.foreign_user);
    return;
  }
  if (run->probe_until && std::chrono::steady_clock::now() >= *run->probe_until) {
    run->stop_reason = cat("it was not ready within ", api::duration_text(run->probe.deadline),
                           result.detail.empty() ? "" : "; the last probe: ", result.detail);
    send_stop(run, std::nullopt);
    return;
  }
  run->timer.expires_after(run->probe.interval);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive && run->phase == Run::Phase::kLinked) probe(run);
  });
}

void Supervisor::stop(const core::StopJob& action) {
  const auto at = runs_.find(action.run.value());
  if (at == runs_.end()) {  // gone already: repeated, in case the event was not committed
    engine_.post(core::JobExited{action.job, action.run, false});
    return;
  }
  send_stop(at->second, kill_grace(*at->second));
}

void Supervisor::send_stop(const RunPtr& run, std::optional<std::chrono::milliseconds> grace) {
  run->is_stop_requested = true;
  run->stop_grace = grace;
  if (run->phase == Run::Phase::kWaiting) {
    run->timer.cancel();
    report_never_started(run, "stopped before it started");
    return;
  }
  if (run->phase != Run::Phase::kLinked || !run->link) return;  // sent once connected
  boost::json::object request{{"do", "stop"}};
  if (grace) request["grace_ms"] = grace->count();
  run->link->send(request);
  run->stop_timer.expires_after(grace.value_or(run->spec.grace) + kStopMargin);
  run->stop_timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (stopped || !*alive || run->phase == Run::Phase::kGone || run->job == core::JobId()) return;
    core::ActionFailed event;
    event.kind = core::ActionKind::kStopJob;
    event.job = run->job;
    event.run = run->run;
    event.gpu = run->gpu;
    engine_.post(event);
  });
}

// The connection ended. Either the run has an exit record, or its shim is running and is connected
// again, or the shim is lost.
void Supervisor::on_link_closed(const RunPtr& run) {
  if (run->phase != Run::Phase::kLinked) return;
  run->link.reset();
  fail_requests(run, "the connection to its shim was lost.");
  const auto record = shim::read_exit(run->folder);
  if (record && *record) {
    on_exit_record(run, **record);
    return;
  }
  if (!record) spdlog::error("job {}: {}", run->job.value(), record.error().message);
  if (!shim::is_shim_running(run->folder)) {
    // It may have ended between the two checks.
    const auto again = shim::read_exit(run->folder);
    if (again && *again) {
      on_exit_record(run, **again);
    } else {
      on_shim_lost(run);
    }
    return;
  }
  run->timer.expires_after(kReconnectDelay);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive && run->phase == Run::Phase::kLinked) open_link(run);
  });
}

void Supervisor::on_exit_record(const RunPtr& run, const api::ExitRecord& record) {
  if (record.code != 0) check_port_after_exit(*run);
  store::RunRow outcome;
  outcome.exit_code = record.code;
  outcome.exit_signal = record.signal;
  outcome.started = record.started;
  outcome.ended = record.ended;
  outcome.reason = !run->stop_reason.empty() ? run->stop_reason : record.reason;
  if (outcome.reason.empty() && record.signal)
    outcome.reason = cat("ended by ", signal_text(*record.signal));
  if (record.lost_output > 0) {
    outcome.reason += cat(outcome.reason.empty() ? "" : "; ", record.lost_output,
                          " bytes of its output were lost: the logs could not be written");
  }
  const bool success = record.code == 0 && !record.time_limit && run->stop_reason.empty();
  report_if_resumed(run, [this, run, outcome = std::move(outcome), success] {
    finish_run(run, outcome, success);
  });
}

void Supervisor::finish_run(const RunPtr& run, store::RunRow outcome, bool success,
                            bool node_fault) {
  if (run->phase == Run::Phase::kGone) return;
  if (!outcome.ended) outcome.ended = Clock::wall();  // the note may be made again, later
  run->phase = Run::Phase::kGone;
  run->timer.cancel();
  run->stop_timer.cancel();
  run->freeze_timer.cancel();
  run->link.reset();
  runs_.erase(run->run.value());
  fail_requests(run, "the run has ended.");
  hardware_.on_run_ended(run->gpu);
  if (run->is_orphan) on_orphan_ended(run);
  if (run->job == core::JobId()) return;
  report_run_ended(*run);
  const auto note = [this, alive = alive_, run, outcome, success](JobTable& records) {
    if (*alive) record_end(*run, outcome, success, records);
  };
  core::Event event = core::JobExited{run->job, run->run, success, node_fault};
  if (run->is_port_taken && run->has_chosen_port) {
    event = core::ActionFailed{.kind = core::ActionKind::kStartJob,
                               .gpu = run->gpu,
                               .instance = run->instance,
                               .job = run->job,
                               .run = run->run};
  }
  engine_.post(Input{.event = std::move(event), .edit_rows = note});
}

// Called right before the scheduler handles the end: an earlier event of the same batch may have
// made the run the job's, which its row does not say yet.
void Supervisor::record_end(const Run& run, const store::RunRow& outcome, bool success,
                            JobTable& records) const {
  const std::uint32_t id = run.run.value();
  const std::uint64_t job = run.job.value();
  const bool is_job = is_replica_the_job(run, success) || is_main(run);
  const bool is_rolled_back = is_current_replica(run) && !is_job;
  store::MoveRow* move = is_rolled_back ? records.edit_move(job) : nullptr;
  if (move != nullptr && move->run == id && move->reason.empty()) {
    move->reason = why_rolled_back(run, outcome);
  }
  if (store::RunRow* row = records.edit_run(id)) {
    end_run(*row, outcome.ended, read_clocks());
    row->exit_code = outcome.exit_code;
    row->exit_signal = outcome.exit_signal;
    row->reason = outcome.reason;
    if (outcome.started) row->started = outcome.started;
  }
  store::JobRow* row = is_job && !is_replaced(run) ? records.edit_job(job) : nullptr;
  if (row == nullptr || row->over) return;
  row->run = id;
  row->exit_code = outcome.exit_code;
  row->exit_signal = outcome.exit_signal;
  row->reason = outcome.reason;
  if (outcome.started) row->started = outcome.started;
}

void Supervisor::report_run_ended(const Run& run) {
  const store::RunRow* row = engine_.records().run(run.run.value());
  const store::JobRow* job = engine_.records().job(run.job.value());
  if (!on_run_ended || row == nullptr || job == nullptr) return;
  on_run_ended({.run = row->run, .uid = job->uid, .asked = row->asked});
}

void Supervisor::end_runs_on(core::GpuId gpu) {
  std::vector<RunPtr> affected;
  for (const auto& [id, run] : runs_) {
    if (run->gpu == gpu && !run->is_orphan) affected.push_back(run);
  }
  for (const RunPtr& run : affected) send_stop(run, std::chrono::milliseconds(0));
}

void Supervisor::end_runs_in(core::InstanceId instance) {
  std::vector<RunPtr> affected;
  for (const auto& [id, run] : runs_) {
    if (run->instance == instance && run->job != core::JobId()) affected.push_back(run);
  }
  for (const RunPtr& run : affected) {
    run->stop_reason = "its instance is gone";
    send_stop(run, std::chrono::milliseconds(0));
  }
}

Result<void> Supervisor::signal(std::uint64_t job, int signal) {
  const store::JobRow* row = engine_.records().job(job);
  const auto at = row == nullptr || !row->run ? runs_.end() : runs_.find(*row->run);
  if (at == runs_.end() || !at->second->link || !at->second->pid) {
    return std::unexpected(Error{ErrorCode::kUnavailable,
                                 cat("job ", job, " has no process that could be signalled.")});
  }
  if (at->second->is_frozen) {  // the shim would refuse it, too, but its answer is not read
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              cat("job ", job,
                  " is frozen while it is moved and cannot be signalled. Try again "
                  "after the move, or cancel it.")});
  }
  at->second->link->send({{"do", "signal"}, {"signal", signal}});
  return {};
}

}  // namespace tangram::daemon
