// See supervisor.hpp: what the shims say, and what follows from it.
#include <csignal>
#include <cstring>
#include <utility>

#include <boost/asio/post.hpp>
#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/probe.hpp"
#include "daemon/supervisor.hpp"
#include "daemon/supervisor_threads.hpp"
#include "shim/processes.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kRelink{100};
constexpr std::chrono::milliseconds kKillPatience{10'000};
constexpr std::chrono::milliseconds kKillAgain{30'000};
constexpr std::chrono::milliseconds kBeyondGrace{15'000};

// Of a replica that ends before its move does, in words that everybody may read: nothing of what
// the job said or is called.
std::string why_taken_back(const Run& run, const store::RunRow& how) {
  if (!run.stop_reason.empty()) return "its replica was not ready in time";
  if (run.stop_wanted) return "";  // whoever wanted it knows why
  if (how.exit_signal) return cat("its replica was ended by signal ", *how.exit_signal);
  if (how.exit_code) return cat("its replica exited with ", *how.exit_code);
  return "its replica could not be started";
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? cat("signal ", signal) : cat("SIG", name);
}

}  // namespace

void Supervisor::link(const RunPtr& run) {
  run->phase = Run::Phase::kLinked;
  run->pid.reset();  // its greeting tells, and goes on where the last link ended
  const std::weak_ptr<Run> weak = run;
  ControlLink::Told tell;
  tell.line = [this, weak](const boost::json::object& line) {
    if (const RunPtr self = weak.lock()) told(self, line);
  };
  tell.end = [this, weak] {
    if (const RunPtr self = weak.lock()) link_ended(self);
  };
  run->link = std::make_unique<ControlLink>(loop_, run->folder, std::move(tell));
  if (run->stop_wanted) send_stop(run, run->stop_grace);
}

void Supervisor::told(const RunPtr& run, const boost::json::object& line) {
  if (line.contains("done")) return answered(run, line);
  if (const auto* number = line.if_contains("probe")) {
    const auto* ok = line.if_contains("ok");
    const auto* detail = line.if_contains("detail");
    if (*number == run->probe_number) {
      probed(run, ok != nullptr && ok->is_bool() && ok->get_bool(),
             detail != nullptr && detail->is_string() ? std::string(detail->get_string()) : "");
    }
    return;
  }
  const auto* state = line.if_contains("state");
  if (state == nullptr || !state->is_string()) return;
  const auto* pid = line.if_contains("pid");
  const auto* started = line.if_contains("started_us");
  if (started != nullptr && started->is_int64()) {
    run->started = store::WallTime(std::chrono::microseconds(started->get_int64()));
  }
  if (*state == "over") {
    const auto* exit = line.if_contains("exit");
    const auto record = exit == nullptr ? Result<api::ExitRecord>(invalid("no exit record"))
                                        : api::read_exit_record(*exit);
    if (record) ended(run, *record);
    return;
  }
  if (pid != nullptr && pid->is_int64() && !run->pid && *state != "starting") {
    running(run, static_cast<int>(pid->get_int64()));
  }
}

// Its process is there. Ready, unless it is to prove that.
void Supervisor::running(const RunPtr& run, int pid) {
  run->pid = pid;
  hardware_.register_process(run->mig_uuid, pid);
  if (run->job == core::JobId()) return;
  if (!run->is_complete) return complete_later(run);
  agree_on_freeze(run);
  if (run->is_ready) return;
  if (run->is_replica && !run->checkpoint.empty()) return look_for_resumed(run);
  if (run->kind == api::JobKind::kBatch || run->probe.kind == api::Probe::Kind::kNone) {
    ready(run);
    return;
  }
  if (!run->probe_until) {
    run->probe_until = std::chrono::steady_clock::now() + run->probe.deadline;
  }
  engine_.post(Input{.event = core::WakeUp{},
                     .note = [id = run->run.value(), job = run->job.value()](Records& records) {
                       const auto now = Clock::wall();
                       store::RunRow* row = records.edit_run(id);
                       if (row == nullptr || row->started) return;
                       row->started = now;
                       store::JobRow* mine = records.edit_job(job);
                       if (mine != nullptr && mine->run == id) mine->started = now;
                     }});
  probe(run);
}

void Supervisor::ready(const RunPtr& run) {
  run->is_ready = true;
  engine_.post(Input{.event = core::JobReady{run->job, run->run},
                     .note = [id = run->run.value(), job = run->job.value()](Records& records) {
                       store::RunRow* row = records.edit_run(id);
                       if (row != nullptr && !row->started) row->started = Clock::wall();
                       store::JobRow* mine = records.edit_job(job);
                       if (row != nullptr && mine != nullptr && mine->run == id) {
                         mine->started = row->started;
                         if (row->direct) mine->port = row->port;
                       }
                     }});
}

void Supervisor::probe(const RunPtr& run) {
  const auto answer = [this, alive = alive_, weak = std::weak_ptr<Run>(run)](
                          bool is_ready, const std::string& detail) {
    const RunPtr self = weak.lock();
    if (*alive && self) probed(self, is_ready, detail);
  };
  const std::uint16_t port = run->port.value_or(0);
  switch (run->probe.kind) {
    case api::Probe::Kind::kNone:
      ready(run);
      return;
    case api::Probe::Kind::kTcp:
      probe_tcp(loop_, port, run->probe.timeout, answer);
      return;
    case api::Probe::Kind::kHttp:
      probe_http(loop_, port, run->probe.path, run->probe.timeout, answer);
      return;
    case api::Probe::Kind::kCommand:
      if (run->link) run->link->send({{"do", "probe"}, {"id", ++run->probe_number}});
      return;
  }
}

void Supervisor::probed(const RunPtr& run, bool is_ready, const std::string& detail) {
  if (run->phase != Run::Phase::kLinked || run->is_ready || run->stop_wanted) return;
  if (is_ready) {
    ready(run);
    return;
  }
  if (run->probe_until && std::chrono::steady_clock::now() >= *run->probe_until) {
    run->stop_reason = cat("it was not ready within ", api::duration_text(run->probe.deadline),
                           detail.empty() ? "" : "; the last probe: ", detail);
    send_stop(run, std::nullopt);
    return;
  }
  run->timer.expires_after(run->probe.interval);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive && run->phase == Run::Phase::kLinked) probe(run);
  });
}

void Supervisor::stop(const core::StopJob& wanted) {
  const auto at = runs_.find(wanted.run.value());
  if (at == runs_.end()) {  // gone already: said again, because its end may not have been heard
    engine_.post(core::JobExited{wanted.job, wanted.run, false});
    return;
  }
  send_stop(at->second, grace_of(*at->second));
}

void Supervisor::send_stop(const RunPtr& run, std::optional<std::chrono::milliseconds> grace) {
  run->stop_wanted = true;
  run->stop_grace = grace;
  if (run->phase == Run::Phase::kWaiting) {
    run->timer.cancel();
    never_began(run, "ended before it began");
    return;
  }
  if (run->phase != Run::Phase::kLinked || !run->link) return;  // told as soon as it can be
  boost::json::object request{{"do", "stop"}};
  if (grace) request["grace_ms"] = grace->count();
  run->link->send(request);
  run->stop_timer.expires_after(grace.value_or(run->spec.grace) + kBeyondGrace);
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

// The stream has ended: the exit record tells how, or there is none and the shim lives or not.
void Supervisor::link_ended(const RunPtr& run) {
  if (run->phase != Run::Phase::kLinked) return;
  run->link.reset();
  forget_questions(run, "the connection to its supervisor broke off.");
  const auto record = shim::read_exit(run->folder);
  if (record && *record) {
    ended(run, **record);
    return;
  }
  if (!record) spdlog::error("job {}: {}", run->job.value(), record.error().message);
  if (!shim::shim_lives(run->folder)) {
    // It may have ended between the two looks.
    const auto again = shim::read_exit(run->folder);
    if (again && *again) {
      ended(run, **again);
    } else {
      lost(run);
    }
    return;
  }
  run->timer.expires_after(kRelink);
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (!stopped && *alive && run->phase == Run::Phase::kLinked) link(run);
  });
}

// Its shim is gone without a word: whatever it left behind must be gone before the run is over.
void Supervisor::lost(const RunPtr& run) {
  run->phase = Run::Phase::kKilling;
  spdlog::error("job {}: its supervisor (run {}) is gone; ending its processes", run->job.value(),
                run->run.value());
  boost::asio::post(threads_->killing, [this, alive = alive_, run, tag = run->spec.tag,
                                        cgroup = run->spec.cgroup] {
    const shim::Killed killed =
        shim::kill_all({.tag = tag, .cgroup = cgroup, .shim = 0}, kKillPatience);
    boost::asio::post(loop_, [this, alive, run, killed] {
      if (!*alive) return;
      if (killed.all_gone) {
        store::RunRow how;
        how.reason = "supervisor lost";
        gone(run, how, false);
        return;
      }
      std::string left;
      for (const shim::Unreachable& each : killed.left) {
        left += cat(left.empty() ? "" : ", ", each.pid, " (", each.reason, ")");
      }
      say(run, cat("supervisor lost; these processes cannot be ended: ", left,
                   ". Its instance stays held until they are gone."));
      run->timer.expires_after(kKillAgain);
      run->timer.async_wait([this, alive, run](const boost::system::error_code& stopped) {
        if (!stopped && *alive) lost(run);
      });
    });
  });
}

void Supervisor::ended(const RunPtr& run, const api::ExitRecord& record) {
  store::RunRow how;
  how.exit_code = record.code;
  how.exit_signal = record.signal;
  how.started = record.started;
  how.ended = record.ended;
  how.reason = !run->stop_reason.empty() ? run->stop_reason : record.reason;
  if (how.reason.empty() && record.signal)
    how.reason = cat("ended by ", signal_text(*record.signal));
  gone(run, how, record.code == 0 && !record.time_limit && run->stop_reason.empty());
}

void Supervisor::gone(const RunPtr& run, const store::RunRow& how, bool success) {
  if (run->phase == Run::Phase::kGone) return;
  run->phase = Run::Phase::kGone;
  run->timer.cancel();
  run->stop_timer.cancel();
  run->freeze_timer.cancel();
  run->link.reset();
  runs_.erase(run->run.value());
  forget_questions(run, "it is gone.");
  hardware_.run_ended(run->gpu);
  if (run->job == core::JobId()) return;
  const auto note = [how, id = run->run.value(), job = run->job.value(), is_left = was_left(*run),
                     why = is_replica_now(*run) ? why_taken_back(*run, how)
                                                : std::string()](Records& records) {
    store::MoveRow* move = why.empty() ? nullptr : records.edit_move(job);
    if (move != nullptr && move->run == id && move->reason.empty()) move->reason = why;
    store::RunRow* row = records.edit_run(id);
    if (row != nullptr) {
      row->over = true;
      row->exit_code = how.exit_code;
      row->exit_signal = how.exit_signal;
      row->reason = how.reason;
      if (how.started) row->started = how.started;
      row->ended = how.ended ? how.ended : std::optional(Clock::wall());
    }
    store::JobRow* mine = records.edit_job(job);
    if (mine == nullptr || mine->run != id || mine->over || is_left) return;
    mine->exit_code = how.exit_code;
    mine->exit_signal = how.exit_signal;
    mine->reason = how.reason;
    if (how.started) mine->started = how.started;
  };
  engine_.post(Input{.event = core::JobExited{run->job, run->run, success}, .note = note});
}

void Supervisor::end_runs_on(core::GpuId gpu) {
  std::vector<RunPtr> there;
  for (const auto& [id, run] : runs_) {
    if (run->gpu == gpu) there.push_back(run);
  }
  for (const RunPtr& run : there) send_stop(run, std::chrono::milliseconds(0));
}

void Supervisor::end_runs_in(core::InstanceId instance) {
  std::vector<RunPtr> there;
  for (const auto& [id, run] : runs_) {
    if (run->instance == instance && run->job != core::JobId()) there.push_back(run);
  }
  for (const RunPtr& run : there) {
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
  if (at->second->is_frozen) {  // its shim would refuse, but nobody listens to that
    return std::unexpected(
        Error{ErrorCode::kUnavailable,
              cat("job ", job,
                  " is frozen while it is moved: it gets no signals until that is "
                  "done. Try again, or cancel it.")});
  }
  at->second->link->send({{"do", "signal"}, {"signal", signal}});
  return {};
}

}  // namespace tangram::daemon
