// Supervisor: the runs of jobs. Each run has a shim, a parent process that outlives the daemon. The
// Supervisor starts a shim for every StartJob, reconnects to the shims of an earlier daemon,
// requests stops, probes services for readiness, and turns what shims report into scheduler events.
// A run has at most one shim ever. It has ended when its exit record says so, or when its shim is
// gone and every process of it was verified to be gone. All functions run on the event loop; what
// blocks runs on the thread pools of supervisor_threads.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/job.hpp"
#include "api/run_spec.hpp"
#include "base/error.hpp"
#include "core/action.hpp"
#include "daemon/engine/engine.hpp"
#include "daemon/runs/readiness_probe.hpp"
#include "daemon/runs/run.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::shim {
struct KillResult;
}

namespace tangram::daemon {

class CheckpointFiles;
class Hardware;
class Mover;
class SystemdScope;

struct SupervisorOptions {
  std::string runs;         // parent of the run folders
  std::string checkpoints;  // parent of the checkpoint folders
  std::string lost_found;   // where folders without a job in the store go; see lost_found.hpp
  std::string shim;         // path of tangram-shim
  std::string node;         // this node's name, the first part of tags of older versions
  std::chrono::milliseconds grace{10'000};
  std::chrono::milliseconds start_time{
      30'000};  // timeouts: the shim's start, then its job's exec()
  std::uint64_t log_bytes = 64ULL << 20U;
  std::uint32_t log_files = 4;
  std::uint16_t first_port = 20'000;
  std::uint16_t last_port = 29'999;
  std::string cgroup;  // cgroup v2 folder in which runs get their own; empty: none
  std::shared_ptr<SystemdScope> scope = {};      // which has it, and gets the shims; null: none
  std::optional<std::uint64_t> pids_limit = {};  // of a run; nullopt: none
  bool pam = false;                              // open PAM sessions; only root can
  // Environment variables of jobs on an emulated node.
  std::map<std::string, std::string> emulated;
  // Limit of open files for jobs that request none; nullopt: they inherit the daemon's.
  std::optional<api::ResourceLimit> descriptors = {};
};

class Supervisor {
 public:
  Supervisor(boost::asio::io_context& loop, Engine& engine, Hardware& hardware,
             SupervisorOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;
  Supervisor(Supervisor&&) = delete;
  Supervisor& operator=(Supervisor&&) = delete;

  // A live run without a job in the store: that of a store that was moved away, or one that is
  // newer than the backup from which the store was restored.
  struct Orphan {
    std::uint64_t run = 0;  // numbers are those of the other store
    std::uint64_t job = 0;
    std::uint32_t uid = 0;
    std::string mig_uuid;
    std::string gpu_uuid;
    std::string folder;
    std::optional<int> pid;
    bool is_ending = false;
  };
  // Adopts the orphans and protects their instances. Called once, before Hardware::reconcile() and
  // recover_runs(). Fails if the store cannot be read.
  [[nodiscard]] Result<void> find_orphans();
  // Recovers the runs of an earlier daemon: reconnects to live shims, records the end of runs that
  // ended meanwhile, starts runs that were never started, ends live runs that no job needs any
  // more. Moves folders without a job in the store to lost+found. `rebooted`: no process of the
  // store's runs has survived, only exit records are read.
  void recover_runs(bool rebooted);

  [[nodiscard]] std::vector<Orphan> orphans() const;  // by run
  [[nodiscard]] std::size_t orphan_count() const;
  [[nodiscard]] bool has_orphan_of(std::uint64_t job) const;
  // Begins to stop the orphan with this number, the oldest if there are several; nullopt: there is
  // none. When it has ended, its instance is free and its folder goes to lost+found.
  std::optional<Orphan> end_orphan(std::uint64_t number);
  // Called when an orphan has ended.
  std::function<void()> on_orphans_changed;

  // The movers of services and of batch jobs; both outlive this. Called before start() and
  // recover_runs().
  void set_movers(Mover& replica, Mover& checkpoint);

  // Execute the scheduler's actions; return at once. Outcomes are posted to the engine: JobReady,
  // JobExited, TrafficSwitched, TrafficDrained or ActionFailed.
  void start(const core::StartJob& action);
  void stop(const core::StopJob& action);
  void switch_traffic(const core::SwitchTraffic& action);
  void on_move_report(const core::MoveReport& report);
  // Kill the runs on a GPU or an instance that is gone.
  void end_runs_on(core::GpuId gpu);
  void end_runs_in(core::InstanceId instance);

  // Sends the signal to the process group of the job.
  [[nodiscard]] Result<void> signal(std::uint64_t job, int signal);

  // For movers: how a run can be moved; nullopt if it is not alive or its request is unreadable.
  struct MoveInfo {
    api::MoveOptions options;
    std::string checkpoint;
    std::uint32_t uid = 0;
  };
  [[nodiscard]] std::optional<MoveInfo> find_move_info(core::RunId run) const;
  // Sends the signal to the main process only, and only if that has a handler for it: without one,
  // it would be killed. Calls `done` once the signal was sent, or with the reason why not, later
  // and never within the call.
  void request_checkpoint(core::RunId run, int signal, std::function<void(Result<void>)> done);
  // Freezes or thaws all its processes. `done` is called later, never within the call.
  void freeze(core::RunId run, bool frozen, std::function<void(Result<void>)> done);
  // Freezes or thaws the run as the state of its job requires; retries until that succeeds.
  void reconcile_freeze(core::RunId run);
  [[nodiscard]] CheckpointFiles& checkpoint_files();

  // Called when a run of a job has ended and writes no more logs. May be empty.
  std::function<void(const store::EndedRun& run)> on_run_ended;

  [[nodiscard]] std::optional<int> pid_of(std::uint32_t run) const;
  [[nodiscard]] std::string folder_of(const store::RunRow& row) const;
  [[nodiscard]] std::string folder_of(const store::EndedRun& run) const;
  // Removes the folders of runs and jobs that were trimmed from the history.
  void remove_folders(const store::RetentionResult& gone);
  // Removes what was moved to lost+found before `oldest`.
  void remove_old_lost_found(store::WallTime oldest);
  // Takes over what a reloaded configuration may change (times, log sizes, ports), for runs that
  // start from now on.
  void set_defaults(const SupervisorOptions& options);
  // Between SIGTERM and SIGKILL, of jobs that do not set it.
  [[nodiscard]] std::chrono::milliseconds default_grace() const { return options_.grace; }

 private:
  struct Threads;
  using RunPtr = std::shared_ptr<Run>;

  // supervisor.cpp: starts runs
  void look_up_user(const RunPtr& run);
  void prepare_checkpoint(const RunPtr& run);
  void spawn(const RunPtr& run);
  void begin_start(const RunPtr& run, const store::RunRow& row);
  void set_reason(const RunPtr& run, const std::string& why);
  void clear_reason(const RunPtr& run, const std::string& why);
  void report_never_started(const RunPtr& run, const std::string& why);
  struct SealResult;
  void on_sealed(const RunPtr& run, const std::string& why, const SealResult& result);
  void seal_later(const RunPtr& run, const std::string& why);
  void on_spawned(const RunPtr& run, const Result<void>& result);
  void await_exec(const RunPtr& run);
  void retry_start(const RunPtr& run, const std::string& why);
  [[nodiscard]] RunPtr make_run(const core::StartJob& action, const store::RunRow& row);
  // The tag that the version before random tags gave to the run in `folder`.
  [[nodiscard]] std::string tag_of(const std::string& folder) const;
  [[nodiscard]] std::string cgroup_of(const store::RunRow& row) const;
  [[nodiscard]] Result<void> load_request(Run& run, const store::RunRow& row);
  [[nodiscard]] Result<std::chrono::milliseconds> time_spent(core::JobId id) const;
  [[nodiscard]] std::string checkpoint_of(const store::JobRow& row) const;

  // supervisor_watch.cpp: handles what shims report
  void open_link(const RunPtr& run);
  void on_line(const RunPtr& run, const boost::json::object& line);
  void on_running(const RunPtr& run, int pid);
  void on_link_closed(const RunPtr& run);
  void on_exit_record(const RunPtr& run, const api::ExitRecord& record);
  // `node_fault`: it failed through no fault of the job.
  void finish_run(const RunPtr& run, store::RunRow outcome, bool success, bool node_fault = false);
  void record_end(const Run& run, const store::RunRow& outcome, bool success,
                  JobTable& records) const;
  void report_run_ended(const Run& run);
  void probe(const RunPtr& run);
  void on_probed(const RunPtr& run, const ProbeResult& result);
  void on_ready(const RunPtr& run);
  void send_stop(const RunPtr& run, std::optional<std::chrono::milliseconds> grace);

  // supervisor_lost.cpp: ends runs whose shim is gone
  void on_shim_lost(const RunPtr& run);
  void on_killed(const RunPtr& run, const shim::KillResult& killed);

  // supervisor_ports.cpp: ports that other programs have taken
  [[nodiscard]] ProbeTarget probe_target(const Run& run) const;
  void end_for_port(const RunPtr& run, uid_t user);
  void check_port_after_exit(Run& run);

  // supervisor_moves.cpp: runs that are moved
  [[nodiscard]] Mover& mover_of(core::JobId job) const;
  void prepare(const RunPtr& run, const core::StartJob& action);
  [[nodiscard]] bool is_successor(const Run& run) const;
  static void on_response(const RunPtr& run, const boost::json::object& line);
  void fail_requests(const RunPtr& run, const std::string& why);
  void start_request_timeout(const RunPtr& run, std::int64_t id);
  void poll_resumed(const RunPtr& run);
  [[nodiscard]] std::optional<std::chrono::milliseconds> kill_grace(const Run& run) const;
  void reconcile_freeze(const RunPtr& run);
  void on_freeze_reconciled(const RunPtr& run, const Result<void>& result);
  void retry_freeze(const RunPtr& run, std::chrono::milliseconds wait);
  [[nodiscard]] bool has_other_run(const Run& run) const;
  [[nodiscard]] bool successor_started(const core::Job& job) const;
  [[nodiscard]] bool is_replaced(const Run& run) const;
  [[nodiscard]] bool is_main(const Run& run) const;
  [[nodiscard]] bool is_replica_the_job(const Run& run, bool success) const;
  void on_looked_for_resumed(const RunPtr& run, bool is_announced);
  void report_if_resumed(const RunPtr& run, std::function<void()> then);
  [[nodiscard]] bool may_thaw(const Run& run) const;
  void post_result(std::function<void(Result<void>)> done, Result<void> result);
  [[nodiscard]] bool is_current_replica(const Run& run) const;

  // supervisor_recovery.cpp: runs of an earlier daemon
  void recover_run(const core::StartJob& action, const store::RunRow& row, bool is_ready,
                   bool rebooted);
  [[nodiscard]] bool may_still_start(const core::StartJob& action, const std::string& folder) const;
  void retry_load_request(const RunPtr& run);
  void end_leftover_runs();

  // supervisor_orphans.cpp: runs and folders without a job in the store
  [[nodiscard]] RunPtr make_jobless_run(const std::string& folder);
  void adopt_orphan(const std::string& folder);
  void on_orphan_ended(const RunPtr& run);
  void keep_orphaned_instances();
  void move_unknown_folders();
  [[nodiscard]] static Orphan orphan_of(const Run& run);

  boost::asio::io_context& loop_;
  Engine& engine_;
  Hardware& hardware_;
  SupervisorOptions options_;
  std::map<std::uint32_t, RunPtr> runs_;
  Mover* replica_mover_ = nullptr;
  Mover* checkpoint_mover_ = nullptr;
  std::unique_ptr<Threads> threads_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace tangram::daemon
