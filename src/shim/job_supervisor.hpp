// JobSupervisor: the event loop of the shim. It starts the job, copies its output to the logs,
// serves the control socket, enforces the time limit, stops the job and records its end. The run
// has ended only when none of its processes is left. Single-threaded; one poll() without periodic
// wakeups.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/run_spec.hpp"
#include "shim/claim.hpp"
#include "shim/command_probe.hpp"
#include "shim/control.hpp"
#include "shim/file_copy.hpp"
#include "shim/freezer.hpp"
#include "shim/output.hpp"
#include "shim/pam_session.hpp"
#include "shim/poll_set.hpp"
#include "shim/processes.hpp"
#include "shim/request.hpp"
#include "shim/start.hpp"

namespace tangram::shim {

class JobSupervisor {
 public:
  // `claim` and `control` outlive it. The caller has blocked SIGCHLD, SIGTERM and SIGINT. `ready`:
  // receives a status line when the job is about to be started ("starting") and another one once it
  // runs or has failed; may be invalid.
  JobSupervisor(int folder, const api::RunSpec& spec, const Claim& claim, Control& control,
                os::Descriptor ready);

  [[nodiscard]] ShimExit run();

 private:
  enum class Phase : std::uint8_t {
    kStarting,  // the PAM session or files of the user are being opened, or forked and exec() not
                // confirmed yet
    kRunning,
    kStopping,  // SIGTERM sent, grace period
    kKilling,   // SIGKILL in rounds until no process is left
    kEnded,
  };

  // job_supervisor_start.cpp
  void start_job();
  // Null: there is no PAM session.
  [[nodiscard]] const SessionAttributes* session_attributes() const;
  void on_session_opened();
  void continue_start();
  [[nodiscard]] Result<void> open_copies();
  [[nodiscard]] Result<void> open_copy(const std::string& path, Output& output);
  void on_copy_opened();
  void launch_job();
  Result<Launch> open_streams();
  [[nodiscard]] bool is_start_known() const;
  void on_start_known();
  void fail_to_start(const StartFailure& failure);

  // job_supervisor.cpp: the loop, and the end of the run
  void wait();
  [[nodiscard]] std::optional<Moment> next_deadline() const;
  void on_deadline();
  void on_signals();
  void reap();
  void on_end_of_job(int status);
  void begin_stop(std::chrono::milliseconds grace);
  void begin_kill();
  void kill_remaining(Moment now);
  [[nodiscard]] std::string reason() const;
  ShimExit finish();

  // job_supervisor_control.cpp: the control socket
  [[nodiscard]] std::string status_line() const;
  void announce();
  void report_ready(const std::string& line) const;
  void on_line(ClientId client, std::string_view line);
  void on_request(ClientId client, const StopRequest& request);
  void on_request(ClientId client, const SignalRequest& request);
  void on_request(ClientId client, const ProbeRequest& request);
  void on_request(ClientId client, const FreezeRequest& request);
  void on_request(ClientId client, const CheckpointRequest& request);
  void send_error(ClientId client, std::string_view error);
  [[nodiscard]] ResponseCallback respond_as(const char* key);
  // Signal the job's process group, or its main process only. Return 0 or an errno.
  [[nodiscard]] int signal_group(int signal) const;
  [[nodiscard]] int signal_main(int signal) const;
  // Signals the main process if it has a handler.
  [[nodiscard]] Result<void> request_checkpoint(int signal) const;

  api::RunSpec spec_;  // with what the PAM session adds
  const Claim& claim_;
  Control& control_;
  os::Descriptor ready_;
  os::Descriptor signals_;
  Alarm alarm_;
  RunMark mark_;
  PamSession session_;
  std::vector<std::unique_ptr<FileCopy>> copies_;  // of the output, in files of the user
  Output out_;
  Output err_;
  CommandProbe probe_;
  Freezer freezer_;
  Control::Callbacks callbacks_;

  Phase phase_ = Phase::kStarting;
  api::ExitRecord record_;
  std::optional<StartFailure> start_failure_;
  std::optional<Child> job_;  // until it is reaped
  pid_t pid_ = 0;             // of the job, also after it was reaped
  bool has_children_ = true;  // as of the last waitid()
  bool has_more_to_reap_ = false;
  std::optional<Moment> limit_at_;
  std::optional<Moment> kill_at_;
  std::optional<Moment> next_kill_round_;
  std::chrono::milliseconds kill_pause_{1};
  bool is_listing_noted_ = false;  // shim.log says that the processes cannot be listed
};

}  // namespace tangram::shim
