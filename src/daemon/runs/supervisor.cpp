// See supervisor.hpp: starts runs.
#include "daemon/runs/supervisor.hpp"

#include <algorithm>
#include <filesystem>
#include <unistd.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/access/user_cache.hpp"
#include "daemon/gpus/hardware.hpp"
#include "daemon/runs/checkpoint_files.hpp"
#include "daemon/runs/spawn.hpp"
#include "daemon/runs/supervisor_threads.hpp"
#include "shim/claim.hpp"
#include "shim/run_folder.hpp"
#include "shim/run_mark.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{500};
constexpr std::chrono::milliseconds kLongestRetry{30'000};
constexpr std::chrono::minutes kStartTimeout{10};

}  // namespace

Supervisor::Supervisor(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
                       SupervisorOptions options)
    : loop_(loop),
      engine_(engine),
      hardware_(hardware),
      options_(std::move(options)),
      threads_(std::make_unique<Threads>(loop)) {}

// The runs continue without the daemon.
Supervisor::~Supervisor() {
  *alive_ = false;
  threads_->is_stopping = true;
  threads_->starting.join();
  threads_->killing.join();
  threads_->removing.join();
}

void Supervisor::set_defaults(const SupervisorOptions& options) {
  options_.grace = options.grace;
  options_.start_time = options.start_time;
  options_.log_bytes = options.log_bytes;
  options_.log_files = options.log_files;
  options_.first_port = options.first_port;
  options_.last_port = options.last_port;
  options_.pids_limit = options.pids_limit;
  options_.pam = options.pam;
}

// The time makes the name unique: run ids are reused after a store was restored from a backup.
std::string Supervisor::folder_of(const store::RunRow& row) const {
  return cat(options_.runs, "/", row.run, "-", row.asked.time_since_epoch().count());
}

std::string Supervisor::folder_of(const store::EndedRun& run) const {
  store::RunRow row;
  row.run = run.run;
  row.asked = run.asked;
  return folder_of(row);
}

std::string Supervisor::checkpoint_of(const store::JobRow& row) const {
  return cat(options_.checkpoints, "/", row.id, "-", row.submitted.time_since_epoch().count());
}

// Such tags were guessable. The tag of a run is in its folder: shim::read_mark().
std::string Supervisor::tag_of(const std::string& folder) const {
  return cat(options_.node, "/", folder.substr(options_.runs.size() + 1));
}

// A recovered run keeps its group. That of a new run must not be one of an orphan with its number.
std::string Supervisor::cgroup_of(const store::RunRow& row) const {
  const std::string folder = folder_of(row);
  if (const auto spec = shim::read_spec(folder)) return spec->cgroup;
  if (options_.cgroup.empty()) return "";
  return cat(options_.cgroup, "/run-", folder.substr(options_.runs.size() + 1));
}

Supervisor::RunPtr Supervisor::make_run(const core::StartJob& action, const store::RunRow& row) {
  auto run = std::make_shared<Run>(loop_);
  run->job = action.job;
  run->run = action.run;
  run->gpu = action.gpu;
  run->instance = action.instance;
  run->folder = folder_of(row);
  run->mig_uuid = row.mig_uuid;
  run->spec.cgroup = cgroup_of(row);
  run->is_replica = action.replica;
  runs_.insert_or_assign(action.run.value(), run);
  return run;
}

void Supervisor::start(const core::StartJob& action) {
  const store::RunRow* row = engine_.records().run(action.run.value());
  CHECK(row != nullptr);  // recorded with the decision
  const RunPtr run = make_run(action, *row);
  if (action.replica) {
    prepare(run, action);
  } else {
    begin_start(run, *row);
  }
}

void Supervisor::begin_start(const RunPtr& run, const store::RunRow& row) {
  if (const auto loaded = load_request(*run, row); !loaded) {
    retry_start(run, loaded.error().message);
    return;
  }
  if (run->port == row.port) {
    look_up_user(run);
    return;
  }
  // Stored before it is used: the next daemon must probe the same port.
  engine_.post(
      Input{.event = core::WakeUp{},
            .edit_rows =
                [id = row.run, port = run->port, direct = run->is_direct](JobTable& records) {
                  store::RunRow* stored = records.edit_run(id);
                  if (stored == nullptr) return;
                  stored->port = port;
                  stored->direct = direct;
                },
            .done =
                [this, alive = alive_, run](const Result<void>& result) {
                  if (!*alive || !result || run->phase != Run::Phase::kWaiting) return;
                  look_up_user(run);
                }});
}

// Fills in everything of the run that follows from the job's request, which only the store has.
Result<void> Supervisor::load_request(Run& run, const store::RunRow& row) {
  const auto job = engine_.store().job(run.job.value());
  if (!job) return std::unexpected(job.error());
  if (!*job) return not_found(cat("job ", run.job.value(), " is not in the store."));
  boost::system::error_code bad;
  const auto request = api::read_job_request(boost::json::parse((*job)->request, bad));
  if (bad) return failed(cat("its request in the store is damaged: ", bad.message(), "."));
  if (!request) return std::unexpected(request.error());
  run.kind = request->kind;
  run.probe = request->probe;
  run.uid = (*job)->uid;
  run.port = row.port;
  run.move_method = api::move_method(*request);
  run.move = request->move;
  run.is_direct = api::endpoint_mode(*request) == api::EndpointMode::kNone;
  run.has_chosen_port = !run.is_direct || !request->port;
  if (run.kind == api::JobKind::kService && !run.port) {
    // The requested port belongs to the endpoint, if the service has one.
    run.port = run.is_direct && request->port
                   ? request->port
                   : threads_->ports.find_free({options_.first_port, options_.last_port},
                                               engine_.records());
    if (!run.port) return failed("no free port between jobs.first_port and jobs.last_port.");
  }
  const std::string tag = run.spec.tag;  // the same in every attempt
  run.spec = make_spec(**job, *request, row, run.port);
  run.spec.tag = tag;
  run.spec.grace = request->grace.value_or(options_.grace);
  run.spec.log_bytes = options_.log_bytes;
  run.spec.log_files = options_.log_files;
  const bool has_session = options_.pam && ::geteuid() == 0;
  if (options_.descriptors && !has_session) {  // else a limit of the session may be lower
    run.spec.resource_limits.try_emplace("nofile", *options_.descriptors);
  }
  run.spec.environment["TANGRAM_GPU_UUID"] = hardware_.uuid_of(run.gpu);
  for (const auto& [name, value] : options_.emulated) run.spec.environment[name] = value;
  // A job submitted from within another job inherits these variables.
  run.spec.environment.erase("TANGRAM_CHECKPOINT");
  run.spec.environment.erase("TANGRAM_RESUME");
  if (run.move_method == api::MoveMethod::kCheckpoint) {
    run.checkpoint = checkpoint_of(**job);
    run.spec.environment["TANGRAM_CHECKPOINT"] = run.checkpoint;
    if (run.is_replica) run.spec.environment["TANGRAM_RESUME"] = "1";
  }
  if (run.is_replica && run.spec.time_limit) {
    const auto spent = time_spent(run.job);
    if (!spent) return std::unexpected(spent.error());
    run.spec.time_spent = *spent;
  }
  run.spec.cgroup = cgroup_of(row);
  run.spec.pids_limit = options_.pids_limit;
  run.has_request = true;
  return {};
}

// How much of the time limit the original and its predecessors have used: a move does not reset it.
Result<std::chrono::milliseconds> Supervisor::time_spent(core::JobId id) const {
  using std::chrono::milliseconds;
  const store::JobRow* job = engine_.records().job(id.value());
  const store::RunRow* left =
      job == nullptr || !job->run ? nullptr : engine_.records().run(*job->run);
  if (left == nullptr) return milliseconds(0);
  const auto spec = shim::read_spec(folder_of(*left));
  if (!spec) return std::unexpected(spec.error());
  const auto live = runs_.find(left->run);
  const bool is_reported = live != runs_.end() && live->second->started;
  const auto started = is_reported ? live->second->started : left->started;
  if (!started) return spec->time_spent;
  const auto ran = std::chrono::duration_cast<milliseconds>(Clock::wall() - *started);
  return spec->time_spent + std::max(ran, milliseconds(0));
}

// Looks the user up before the start takes a thread: a hanging user database would block them all.
// The run is still kWaiting meanwhile, so it can be stopped.
void Supervisor::look_up_user(const RunPtr& run) {
  if (run->is_stop_requested) return;  // send_stop() reports its end
  threads_->user_lookup.look_up(run->uid, [this, alive = alive_, run](const Result<Identity>& who) {
    if (!*alive || run->phase != Run::Phase::kWaiting || run->is_stop_requested) return;
    const Result<void> known =
        who ? apply_identity(run->spec, *who) : Result<void>(std::unexpected(who.error()));
    if (known) {
      if (options_.pam && run->spec.user) {
        run->spec.pam =
            api::RunSpec::Pam{.user = who->account->name, .nofile = options_.descriptors};
      }
      prepare_checkpoint(run);
    } else {
      retry_start(run, known.error().message);
    }
  });
}

// Makes the folder before the start takes a thread: the user may have mounted a file system there
// that hangs. The run is still kWaiting meanwhile, so it can be stopped.
void Supervisor::prepare_checkpoint(const RunPtr& run) {
  if (run->checkpoint.empty()) {
    spawn(run);
    return;
  }
  const std::uint32_t gid = run->spec.user ? run->spec.user->gid : 0;
  checkpoint_files().prepare(
      run->uid, gid, run->checkpoint, [this, alive = alive_, run](const Result<bool>& has_one) {
        if (!*alive || run->phase != Run::Phase::kWaiting || run->is_stop_requested) return;
        if (!has_one) {
          retry_start(run, has_one.error().message);
          return;
        }
        // After a crash, too, the job resumes from its last checkpoint.
        if (*has_one) run->spec.environment["TANGRAM_RESUME"] = "1";
        spawn(run);
      });
}

void Supervisor::spawn(const RunPtr& run) {
  if (run->spec.tag.empty()) {
    const auto tag = shim::make_tag();
    if (!tag) {
      retry_start(run, tag.error().message);
      return;
    }
    run->spec.tag = *tag;
  }
  run->phase = Run::Phase::kSpawning;
  auto work = [run_folder = run->folder, spec = run->spec, shim = options_.shim,
               time = options_.start_time, scope = options_.scope]() -> Result<void> {
    if (auto made = shim::prepare_folder(run_folder, spec); !made) return made;
    return start_shim(shim, run_folder, time, scope.get());
  };
  boost::asio::post(threads_->starting, [this, alive = alive_, run, work]() mutable {
    Result<void> result = work();
    boost::asio::post(loop_, [this, alive, run, result = std::move(result)] {
      if (*alive) on_spawned(run, result);
    });
  });
}

void Supervisor::on_spawned(const RunPtr& run, const Result<void>& result) {
  if (!result) {
    retry_start(run, result.error().message);
    return;
  }
  open_link(run);
}

// The run is claimed by its shim, but its program was not executed yet: what the user named, e.g.
// a directory on a file system that hangs, may block that. The run is ended if it takes too long.
void Supervisor::await_exec(const RunPtr& run) {
  const auto time = options_.start_time;
  if (!run->exec_until) run->exec_until = std::chrono::steady_clock::now() + time;
  run->timer.expires_at(*run->exec_until);
  run->timer.async_wait([this, alive = alive_, run, time](const boost::system::error_code& ec) {
    if (ec || !*alive || run->phase != Run::Phase::kLinked) return;
    if (run->pid || run->is_stop_requested) return;
    run->stop_reason =
        cat("its program was not executed within ", api::duration_text(time),
            ": its directory, program or output file may be on a file system that hangs");
    send_stop(run, std::chrono::milliseconds(0));
  });
}

// Nothing has run yet, so a retry runs nothing twice. The job keeps its instance meanwhile.
void Supervisor::retry_start(const RunPtr& run, const std::string& why) {
  run->phase = Run::Phase::kWaiting;
  ++run->attempts;
  const auto until = run->wanted_since + (is_successor(*run) ? run->move.deadline : kStartTimeout);
  const auto now = std::chrono::steady_clock::now();
  if (run->is_stop_requested || now >= until) {
    report_never_started(run, run->is_stop_requested ? "stopped before it started" : why);
    return;
  }
  set_reason(run, why);
  const int doublings = std::min(run->attempts, 6);
  const auto wait = std::min(kLongestRetry, kFirstRetry * (1 << doublings));
  run->timer.expires_at(std::min(now + wait, until));
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (stopped || !*alive || run->phase != Run::Phase::kWaiting) return;
    const store::RunRow* row = engine_.records().run(run->run.value());
    if (row != nullptr) begin_start(run, *row);
  });
}

// Logs `why` and stores it as the reason of the run's job. A replica's is only logged: its job
// runs, and if the move fails, the move has the reason.
void Supervisor::set_reason(const RunPtr& run, const std::string& why) {
  spdlog::error("job {}: {}", run->job.value(), why);
  engine_.post(Input{.event = core::WakeUp{},
                     .edit_rows = [id = run->job.value(), replica = is_current_replica(*run),
                                   why](JobTable& records) {
                       if (replica) return;
                       if (store::JobRow* row = records.edit_job(id)) row->reason = why;
                     }});
}

// Clears the job's reason if it is still `why`.
void Supervisor::clear_reason(const RunPtr& run, const std::string& why) {
  engine_.post(
      Input{.event = core::WakeUp{}, .edit_rows = [id = run->job.value(), why](JobTable& records) {
              const store::JobRow* row = records.job(id);
              if (row != nullptr && row->reason == why) records.edit_job(id)->reason.clear();
            }});
}

struct Supervisor::SealResult {
  Result<bool> is_sealed;
  bool has_folder = true;  // the run's folder exists, or that could not be checked
};

// Seals the run's folder first: a shim that is just starting could still run the job there.
void Supervisor::report_never_started(const RunPtr& run, const std::string& why) {
  run->phase = Run::Phase::kSealing;
  boost::asio::post(threads_->starting, [this, alive = alive_, run, folder = run->folder, why] {
    Result<bool> is_sealed = shim::seal_run_folder(folder);
    std::error_code error;
    const bool has_folder = std::filesystem::exists(folder, error) || error;
    const SealResult result{.is_sealed = std::move(is_sealed), .has_folder = has_folder};
    boost::asio::post(loop_, [this, alive, run, why, result] {
      if (*alive) on_sealed(run, why, result);
    });
  });
}

void Supervisor::on_sealed(const RunPtr& run, const std::string& why, const SealResult& result) {
  if (result.is_sealed && !*result.is_sealed) {
    open_link(run);
    return;
  }
  if (!result.is_sealed) {
    spdlog::error("job {}: {}", run->job.value(), result.is_sealed.error().message);
    if (is_successor(*run) && result.has_folder) {
      seal_later(run, why);
      return;
    }
  }
  store::RunRow outcome;
  outcome.reason = why;
  finish_run(run, outcome, false);
}

// The original of a successor is thawed only when the successor cannot start any more.
void Supervisor::seal_later(const RunPtr& run, const std::string& why) {
  run->phase = Run::Phase::kWaiting;
  run->timer.expires_after(kFirstRetry);
  run->timer.async_wait([this, alive = alive_, run, why](const boost::system::error_code& stopped) {
    if (!stopped && *alive && run->phase == Run::Phase::kWaiting) report_never_started(run, why);
  });
}

std::optional<int> Supervisor::pid_of(std::uint32_t run) const {
  const auto at = runs_.find(run);
  return at == runs_.end() ? std::nullopt : at->second->pid;
}

}  // namespace tangram::daemon
