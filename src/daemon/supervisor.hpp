// Supervisor: the runs of jobs, each in the care of a shim that outlives the daemon. It starts
// shims for StartJob, finds those of an earlier daemon again, tells them to stop, watches services
// become ready, and turns what the shims say into events. One rule: a run is started by one shim
// only, and it has ended only when its exit record says so, or when its shim is gone and every
// process of it was seen to be gone too.
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
#include "daemon/engine.hpp"
#include "daemon/run.hpp"

namespace boost::asio {
class io_context;
}

namespace tangram::daemon {

class Hardware;
class Mover;

struct SupervisorOptions {
  std::string runs;         // the folder of the runs' folders
  std::string checkpoints;  // and that of the jobs' checkpoints
  std::string shim;         // the program
  std::string node;         // this node's name, the first part of every run's tag
  std::chrono::milliseconds grace{10'000};
  std::chrono::milliseconds start_time{30'000};  // for a shim to say that its job runs
  std::uint64_t log_bytes = 64ULL << 20U;
  std::uint32_t log_files = 4;
  std::uint16_t first_port = 20'000;
  std::uint16_t last_port = 29'999;
  std::string cgroup;  // cgroup v2 folder for the runs' own; empty: none
  // For jobs on an emulated node: how they find it.
  std::map<std::string, std::string> emulated;
  // Of open files, where a job asks for none; none: the daemon's own.
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

  // Runs of an earlier daemon: linked again, recorded if they ended meanwhile, started if they
  // never were. With `rebooted`, only exit records are looked at: nothing of them can be alive.
  void adopt(bool rebooted);

  // Before anything is started or adopted: who moves jobs of each kind.
  void use(Mover& replica, Mover& checkpoint);

  void start(const core::StartJob& wanted);
  void stop(const core::StopJob& wanted);
  void switch_traffic(const core::SwitchTraffic& wanted);
  void move_over(const core::MoveReport& report);
  // Their GPU is gone: nobody will ask for their end.
  void end_runs_on(core::GpuId gpu);
  void end_runs_in(core::InstanceId instance);

  [[nodiscard]] Result<void> signal(std::uint64_t job, int signal);

  // For movers. How a run that lives can be moved; none if it does not live any more.
  struct Moving {
    api::MoveOptions options;
    std::string checkpoint;
  };
  [[nodiscard]] std::optional<Moving> moving_of(core::RunId run) const;
  // To its main process only.
  [[nodiscard]] Result<void> signal(core::RunId run, int signal);
  // Freezes all its processes or lets them go on; never answered within the call.
  void freeze(core::RunId run, bool frozen, std::function<void(Result<void>)> done);
  // Freezes it or lets it go on, as the state of its job demands; tried until it is done.
  void settle(core::RunId run);
  // Whether the job has put a file of this name there; whatever else it is, it is not followed.
  [[nodiscard]] static bool announced(const std::string& folder, const char* file);

  [[nodiscard]] std::optional<int> pid_of(std::uint32_t run) const;
  [[nodiscard]] std::string folder_of(const store::RunRow& row) const;
  // Of what history has forgotten.
  void remove_folders(const store::Trimmed& gone);
  void set_defaults(const SupervisorOptions& options);

 private:
  struct Threads;
  using RunPtr = std::shared_ptr<Run>;

  // supervisor.cpp: from the wish to the process
  void identify(const RunPtr& run);
  void spawn(const RunPtr& run);
  void begin(const RunPtr& run, const store::RunRow& row);
  void say(const RunPtr& run, const std::string& why);
  void unsay(const RunPtr& run, const std::string& why);
  void never_began(const RunPtr& run, const std::string& why);
  struct Forbidden;
  void forbade(const RunPtr& run, const std::string& why, const Forbidden& tried);
  void forbid_later(const RunPtr& run, const std::string& why);
  void spawned(const RunPtr& run, const Result<void>& result);
  void retry_start(const RunPtr& run, const std::string& why);
  [[nodiscard]] RunPtr make_run(const core::StartJob& wanted, const store::RunRow& row);
  [[nodiscard]] std::string tag_of(const std::string& folder) const;
  [[nodiscard]] std::string cgroup_of(const store::RunRow& row) const;
  [[nodiscard]] Result<void> complete(Run& run, const store::RunRow& row);
  [[nodiscard]] Result<std::chrono::milliseconds> time_spent(core::JobId id) const;
  [[nodiscard]] std::string checkpoint_of(const store::JobRow& row) const;

  // supervisor_watch.cpp: what shims say
  void link(const RunPtr& run);
  void told(const RunPtr& run, const boost::json::object& line);
  void running(const RunPtr& run, int pid);
  void link_ended(const RunPtr& run);
  void lost(const RunPtr& run);
  void ended(const RunPtr& run, const api::ExitRecord& record);
  void gone(const RunPtr& run, const store::RunRow& how, bool success);
  void probe(const RunPtr& run);
  void probed(const RunPtr& run, bool is_ready, const std::string& detail);
  void ready(const RunPtr& run);
  void send_stop(const RunPtr& run, std::optional<std::chrono::milliseconds> grace);

  // supervisor_moves.cpp
  [[nodiscard]] Mover& mover_of(core::JobId job) const;
  void prepare(const RunPtr& run, const core::StartJob& wanted);
  [[nodiscard]] bool is_successor(const Run& run) const;
  void answered(const RunPtr& run, const boost::json::object& line);
  void forget_questions(const RunPtr& run, const std::string& why);
  void await_answer(const RunPtr& run, std::int64_t id);
  void look_for_resumed(const RunPtr& run);
  [[nodiscard]] std::optional<std::chrono::milliseconds> grace_of(const Run& run) const;
  void agree_on_freeze(const RunPtr& run);
  void settled(const RunPtr& run, const Result<void>& result);
  void settle_later(const RunPtr& run, std::chrono::milliseconds wait);
  [[nodiscard]] bool has_other_run(const Run& run) const;
  [[nodiscard]] bool has_begun(const core::Job& job) const;
  [[nodiscard]] bool was_left(const Run& run) const;
  [[nodiscard]] bool is_replica_now(const Run& run) const;

  // supervisor_adopt.cpp
  void adopt(const core::StartJob& was, const store::RunRow& row, bool is_ready, bool rebooted);
  [[nodiscard]] bool may_still_begin(const core::StartJob& was, const std::string& folder) const;
  void complete_later(const RunPtr& run);
  void end_strays();
  void remove_stray_runs();
  void remove_stray_checkpoints();

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
