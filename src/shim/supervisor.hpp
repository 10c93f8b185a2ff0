// Supervisor: one run from its start to its record: it starts the job, carries its output into the
// logs, answers clients, keeps its time, and ends all of it. One thread, one wait, no wakeup while
// nothing happens. One rule: the run is over only when none of its processes is left.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "api/run_spec.hpp"
#include "shim/claim.hpp"
#include "shim/control.hpp"
#include "shim/freezer.hpp"
#include "shim/output.hpp"
#include "shim/poll_set.hpp"
#include "shim/probe.hpp"
#include "shim/processes.hpp"
#include "shim/request.hpp"
#include "shim/start.hpp"

namespace tangram::shim {

class Supervisor {
 public:
  // All outlive it. SIGCHLD, SIGTERM and SIGINT are blocked already.
  Supervisor(int folder, const api::RunSpec& spec, const Claim& claim, Control& control,
             files::Descriptor ready);

  [[nodiscard]] ShimExit run();

 private:
  enum class Phase : std::uint8_t {
    kStarting,  // forked, not the job's program yet
    kRunning,
    kStopping,  // told to end, within its grace
    kKilling,   // until nothing is left
    kOver,
  };

  // supervisor_start.cpp
  void start_job();
  Result<Launch> open_streams();
  void on_start_known();
  void fail_to_start(const StartFailure& failure);

  // supervisor.cpp: the loop, and the end
  void wait();
  [[nodiscard]] std::optional<Moment> next_deadline() const;
  void on_time();
  void on_signals();
  void reap();
  void on_end_of_job(int status);
  void begin_stop(std::chrono::milliseconds grace);
  void begin_kill();
  void kill_rest(Moment now);
  [[nodiscard]] std::string reason() const;
  ShimExit finish();

  // supervisor_talk.cpp: what is said to clients and heard from them
  [[nodiscard]] std::string status_line() const;
  void announce();
  void tell_ready(const std::string& line);
  void on_line(ClientId client, std::string_view line);
  void on_request(ClientId client, const StopRequest& request);
  void on_request(ClientId client, const SignalRequest& request);
  void on_request(ClientId client, const ProbeRequest& request);
  void on_request(ClientId client, const FreezeRequest& request);
  void complain(ClientId client, std::string_view mistake);
  [[nodiscard]] Answer answer_as(const char* key);
  // To the job's process group, or to its main process only; 0, or why not.
  [[nodiscard]] int signal_group(int signal) const;
  [[nodiscard]] int signal_main(int signal) const;

  const api::RunSpec& spec_;
  const Claim& claim_;
  Control& control_;
  files::Descriptor ready_;
  files::Descriptor signals_;
  Alarm alarm_;
  RunMark mark_;
  Output out_;
  Output err_;
  Probe probe_;
  Freezer freezer_;
  Control::Callbacks callbacks_;

  Phase phase_ = Phase::kStarting;
  api::ExitRecord record_;
  std::optional<StartFailure> start_failure_;
  std::optional<Child> job_;  // until it is reaped
  pid_t pid_ = 0;             // of the job, for people, also afterwards
  bool has_children_ = true;  // as far as we know
  bool has_more_to_reap_ = false;
  std::optional<Moment> limit_at_;
  std::optional<Moment> kill_at_;
  std::optional<Moment> next_round_;
  std::chrono::milliseconds pause_{1};
};

}  // namespace tangram::shim
