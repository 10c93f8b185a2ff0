// See supervisor.hpp: from the wish to the process.
#include "daemon/supervisor.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/json/parse.hpp>
#include <spdlog/spdlog.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "daemon/checkpoint_folder.hpp"
#include "daemon/hardware.hpp"
#include "daemon/spawn.hpp"
#include "daemon/supervisor_threads.hpp"
#include "daemon/users.hpp"
#include "shim/claim.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {
namespace {

constexpr std::chrono::milliseconds kFirstRetry{500};
constexpr std::chrono::milliseconds kLongestRetry{30'000};
constexpr std::chrono::minutes kGiveUp{10};  // on starting a run

}  // namespace

Supervisor::Supervisor(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
                       SupervisorOptions options)
    : loop_(loop),
      engine_(engine),
      hardware_(hardware),
      options_(std::move(options)),
      threads_(std::make_unique<Threads>(loop)) {}

// The runs go on without us.
Supervisor::~Supervisor() {
  *alive_ = false;
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
}

// Run numbers could come back when a store is restored from a backup; with the time they cannot.
std::string Supervisor::folder_of(const store::RunRow& row) const {
  return cat(options_.runs, "/", row.run, "-", row.asked.time_since_epoch().count());
}

// The same of jobs.
std::string Supervisor::checkpoint_of(const store::JobRow& row) const {
  return cat(options_.checkpoints, "/", row.id, "-", row.submitted.time_since_epoch().count());
}

std::string Supervisor::tag_of(const std::string& folder) const {
  return cat(options_.node, "/", folder.substr(options_.runs.size() + 1));
}

std::string Supervisor::cgroup_of(const store::RunRow& row) const {
  return options_.cgroup.empty() ? "" : cat(options_.cgroup, "/run-", row.run);
}

Supervisor::RunPtr Supervisor::make_run(const core::StartJob& wanted, const store::RunRow& row) {
  auto run = std::make_shared<Run>(loop_);
  run->job = wanted.job;
  run->run = wanted.run;
  run->gpu = wanted.gpu;
  run->instance = wanted.instance;
  run->folder = folder_of(row);
  run->mig_uuid = row.mig_uuid;
  run->spec.tag = tag_of(run->folder);
  run->spec.cgroup = cgroup_of(row);
  run->is_replica = wanted.replica;
  runs_.insert_or_assign(wanted.run.value(), run);
  return run;
}

void Supervisor::start(const core::StartJob& wanted) {
  const store::RunRow* row = engine_.records().run(wanted.run.value());
  CHECK(row != nullptr);  // recorded with the decision
  const RunPtr run = make_run(wanted, *row);
  if (wanted.replica) {
    prepare(run, wanted);
  } else {
    begin(run, *row);
  }
}

void Supervisor::begin(const RunPtr& run, const store::RunRow& row) {
  if (const auto completed = complete(*run, row); !completed) {
    retry_start(run, completed.error().message);
    return;
  }
  if (run->port == row.port) {
    identify(run);
    return;
  }
  // Remembered before it is used: the next daemon must probe the same one.
  engine_.post(
      Input{.event = core::WakeUp{},
            .note =
                [id = row.run, port = run->port, direct = run->is_direct](Records& records) {
                  store::RunRow* mine = records.edit_run(id);
                  if (mine == nullptr) return;
                  mine->port = port;
                  mine->direct = direct;
                },
            .done =
                [this, alive = alive_, run](const Result<void>& result) {
                  if (!*alive || !result || run->phase != Run::Phase::kWaiting) return;
                  identify(run);
                }});
}

// Everything of the run that its request says; the request itself is in the store only.
Result<void> Supervisor::complete(Run& run, const store::RunRow& row) {
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
  run.way = api::move_way(*request);
  run.move = request->move;
  run.is_direct = api::endpoint_mode(*request) == api::EndpointMode::kNone;
  if (run.kind == api::JobKind::kService && !run.port) {
    // With an endpoint, that one has the port which was asked for.
    run.port = run.is_direct && request->port
                   ? request->port
                   : threads_->ports.find_free({options_.first_port, options_.last_port},
                                               engine_.records());
    if (!run.port) return failed("no port from jobs.first_port to jobs.last_port is free.");
  }
  run.spec = make_spec(**job, *request, row, run.port);
  run.spec.tag = tag_of(run.folder);
  run.spec.grace = request->grace.value_or(options_.grace);
  run.spec.log_bytes = options_.log_bytes;
  run.spec.log_files = options_.log_files;
  if (options_.descriptors) run.spec.resource_limits.try_emplace("nofile", *options_.descriptors);
  run.spec.environment["TANGRAM_GPU_UUID"] = hardware_.uuid_of(run.gpu);
  for (const auto& [name, value] : options_.emulated) run.spec.environment[name] = value;
  // A job that was submitted from within another has that one's.
  run.spec.environment.erase("TANGRAM_CHECKPOINT");
  run.spec.environment.erase("TANGRAM_RESUME");
  if (run.way == api::MoveWay::kCheckpoint) {
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
  run.is_complete = true;
  return {};
}

// Of its time limit, by the run that is left and those it followed: a move is no new beginning.
Result<std::chrono::milliseconds> Supervisor::time_spent(core::JobId id) const {
  using std::chrono::milliseconds;
  const store::JobRow* job = engine_.records().job(id.value());
  const store::RunRow* left =
      job == nullptr || !job->run ? nullptr : engine_.records().run(*job->run);
  if (left == nullptr) return milliseconds(0);
  const auto spec = shim::read_spec(folder_of(*left));
  if (!spec) return std::unexpected(spec.error());
  const auto live = runs_.find(left->run);
  const bool is_told = live != runs_.end() && live->second->started;
  const auto started = is_told ? live->second->started : left->started;
  if (!started) return spec->time_spent;
  const auto ran = std::chrono::duration_cast<milliseconds>(Clock::wall() - *started);
  return spec->time_spent + std::max(ran, milliseconds(0));
}

// Before it has a thread: a user database that hangs would keep them all. Meanwhile it can be ended
// as one that waits.
void Supervisor::identify(const RunPtr& run) {
  if (run->stop_wanted) return;  // and is seen to
  threads_->directory.ask(run->uid, [this, alive = alive_, run](const Result<Identity>& who) {
    if (!*alive || run->phase != Run::Phase::kWaiting || run->stop_wanted) return;
    const Result<void> known =
        who ? add_user(run->spec, *who) : Result<void>(std::unexpected(who.error()));
    if (known) {
      spawn(run);
    } else {
      retry_start(run, known.error().message);
    }
  });
}

void Supervisor::spawn(const RunPtr& run) {
  run->phase = Run::Phase::kSpawning;
  auto work = [run_folder = run->folder, spec = run->spec, uid = run->uid, shim = options_.shim,
               time = options_.start_time, checkpoint = run->checkpoint]() mutable -> Result<void> {
    if (!checkpoint.empty()) {
      const std::uint32_t gid = spec.user ? spec.user->gid : 0;
      if (auto made = make_checkpoint_folder(checkpoint, uid, gid); !made) return made;
      // Also after a crash the job goes on from what it has saved.
      const auto has_one = has_checkpoint(checkpoint);
      if (!has_one) return std::unexpected(has_one.error());
      if (*has_one) spec.environment["TANGRAM_RESUME"] = "1";
    }
    if (auto made = shim::prepare_folder(run_folder, spec); !made) return made;
    return start_shim(shim, run_folder, time);
  };
  boost::asio::post(threads_->starting, [this, alive = alive_, run, work]() mutable {
    Result<void> result = work();
    boost::asio::post(loop_, [this, alive, run, result = std::move(result)] {
      if (*alive) spawned(run, result);
    });
  });
}

void Supervisor::spawned(const RunPtr& run, const Result<void>& result) {
  if (!result) {
    retry_start(run, result.error().message);
    return;
  }
  link(run);
}

// Nothing has run yet, so trying again runs nothing twice: the job waits where it is.
void Supervisor::retry_start(const RunPtr& run, const std::string& why) {
  run->phase = Run::Phase::kWaiting;
  ++run->attempts;
  const auto until = run->wanted_since + (is_successor(*run) ? run->move.deadline : kGiveUp);
  const auto now = std::chrono::steady_clock::now();
  if (run->stop_wanted || now >= until) {
    never_began(run, run->stop_wanted ? "ended before it began" : why);
    return;
  }
  say(run, why);
  const int doublings = std::min(run->attempts, 6);
  const auto wait = std::min(kLongestRetry, kFirstRetry * (1 << doublings));
  run->timer.expires_at(std::min(now + wait, until));
  run->timer.async_wait([this, alive = alive_, run](const boost::system::error_code& stopped) {
    if (stopped || !*alive || run->phase != Run::Phase::kWaiting) return;
    const store::RunRow* row = engine_.records().run(run->run.value());
    if (row != nullptr) begin(run, *row);
  });
}

// Why its job is not where it should be, for whoever asks.
void Supervisor::say(const RunPtr& run, const std::string& why) {
  spdlog::error("job {}: {}", run->job.value(), why);
  engine_.post(
      Input{.event = core::WakeUp{},
            .note = [id = run->job.value(), replica = is_replica_now(*run), why](Records& records) {
              if (replica)
                return;  // its job runs; if nothing comes of the replica, its move says why
              if (store::JobRow* row = records.edit_job(id)) row->reason = why;
            }});
}

void Supervisor::unsay(const RunPtr& run, const std::string& why) {
  engine_.post(
      Input{.event = core::WakeUp{}, .note = [id = run->job.value(), why](Records& records) {
              const store::JobRow* row = records.job(id);
              if (row != nullptr && row->reason == why) records.edit_job(id)->reason.clear();
            }});
}

struct Supervisor::Forbidden {
  Result<bool> is_done;
  bool has_folder = true;  // as far as can be seen
};

// Said only when it cannot become untrue: a shim on its way could still take the folder.
void Supervisor::never_began(const RunPtr& run, const std::string& why) {
  run->phase = Run::Phase::kForbidding;
  boost::asio::post(threads_->starting, [this, alive = alive_, run, folder = run->folder, why] {
    Result<bool> is_done = shim::forbid_start(folder);
    std::error_code unseen;
    const bool has_folder = std::filesystem::exists(folder, unseen) || unseen;
    const Forbidden how{.is_done = std::move(is_done), .has_folder = has_folder};
    boost::asio::post(loop_, [this, alive, run, why, how] {
      if (*alive) forbade(run, why, how);
    });
  });
}

void Supervisor::forbade(const RunPtr& run, const std::string& why, const Forbidden& tried) {
  if (tried.is_done && !*tried.is_done) {
    link(run);
    return;
  }
  if (!tried.is_done) {
    spdlog::error("job {}: {}", run->job.value(), tried.is_done.error().message);
    if (is_successor(*run) && tried.has_folder) return forbid_later(run, why);
  }
  store::RunRow how;
  how.reason = why;
  gone(run, how, false);
}

// Its original goes on only when it cannot begin any more.
void Supervisor::forbid_later(const RunPtr& run, const std::string& why) {
  run->phase = Run::Phase::kWaiting;
  run->timer.expires_after(kFirstRetry);
  run->timer.async_wait([this, alive = alive_, run, why](const boost::system::error_code& stopped) {
    if (!stopped && *alive && run->phase == Run::Phase::kWaiting) never_began(run, why);
  });
}

std::optional<int> Supervisor::pid_of(std::uint32_t run) const {
  const auto at = runs_.find(run);
  return at == runs_.end() ? std::nullopt : at->second->pid;
}

}  // namespace tangram::daemon
