// See job_supervisor.hpp: the loop, and the end of the run.
#include "shim/job_supervisor.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/text.hpp"
#include "shim/cgroup.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

using std::chrono::milliseconds;

// Dead children reaped at a time: a fork bomb must not keep the shim from serving requests.
constexpr int kMaxReaped = 512;
constexpr milliseconds kMaxPause{500};
constexpr milliseconds kRecordTimeout{10'000};
constexpr milliseconds kCloseTimeout{1'000};
constexpr milliseconds kCgroupTimeout{1'000};

void remove_emptied_cgroup(const std::string& path) {
  if (path.empty()) return;
  // The kernel removes a reaped process from the cgroup a moment later.
  for (const Moment deadline = boot_now() + kCgroupTimeout; boot_now() < deadline;) {
    if (remove_cgroup(path)) return;
    std::this_thread::sleep_for(milliseconds(2));
  }
  note(cat("cannot remove the cgroup ", quoted(path), "."));
}

}  // namespace

ShimExit JobSupervisor::run() {
  start_job();
  while (phase_ != Phase::kEnded) wait();
  return finish();
}

void JobSupervisor::wait() {
  PollSet polls;
  polls.watch(signals_.get(), POLLIN, [this] { on_signals(); });
  alarm_.set(next_deadline());
  alarm_.watch(polls);
  if (job_ && job_->failures.ok()) {
    polls.watch(job_->failures.get(), POLLIN, [this] { on_start_known(); });
  }
  session_.watch(polls);
  for (const auto& copy : copies_) copy->watch(polls);
  out_.watch(polls);
  err_.watch(polls);
  probe_.watch(polls);
  control_.watch(polls, callbacks_);
  polls.wait(!has_more_to_reap_);
  if (has_more_to_reap_) reap();
  on_deadline();
}

std::optional<Moment> JobSupervisor::next_deadline() const {
  std::optional<Moment> next;
  for (const auto& at :
       {limit_at_, kill_at_, next_kill_round_, probe_.deadline(), freezer_.deadline()}) {
    if (at && (!next || *at < *next)) next = at;
  }
  for (const auto& copy : copies_) {
    const auto at = copy->deadline();
    if (at && (!next || *at < *next)) next = at;
  }
  return next;
}

void JobSupervisor::on_deadline() {
  const Moment now = boot_now();
  probe_.on_deadline(now);
  freezer_.on_deadline(now);
  for (const auto& copy : copies_) copy->on_deadline(now);
  if (limit_at_ && now >= *limit_at_) {
    record_.time_limit = true;
    begin_stop(spec_.grace);
  }
  if (kill_at_ && now >= *kill_at_) begin_kill();
  if (next_kill_round_ && now >= *next_kill_round_) kill_remaining(now);
}

void JobSupervisor::on_signals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGCHLD) continue;
    if (phase_ < Phase::kKilling) record_.stopped = true;
    begin_stop(spec_.grace);
  }
  reap();
}

// WNOWAIT: until a child is reaped, its pid and process group cannot be reused, so they can be
// killed safely.
void JobSupervisor::reap() {
  for (int i = 0; i < kMaxReaped; ++i) {
    siginfo_t info{};
    has_more_to_reap_ = false;
    has_children_ = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (!has_children_ && next_kill_round_) next_kill_round_ = boot_now();
    if (!has_children_ || info.si_pid == 0) return;
    const pid_t pid = info.si_pid;
    const bool is_job = job_ && job_->pid == pid;
    if (is_job || probe_.has_pid(pid)) ::kill(-pid, SIGKILL);
    int status = 0;
    ::waitpid(pid, &status, 0);
    if (is_job) on_end_of_job(status);
    if (probe_.has_pid(pid)) probe_.on_exit(status);
  }
  has_more_to_reap_ = true;
}

void JobSupervisor::on_end_of_job(int status) {
  on_start_known();
  job_.reset();
  if (start_failure_) {
    record_.code = start_failure_->code;
  } else if (WIFEXITED(status)) {
    record_.code = WEXITSTATUS(status);
  } else {
    record_.signal = WTERMSIG(status);
  }
  begin_kill();
}

void JobSupervisor::begin_stop(milliseconds grace) {
  limit_at_.reset();
  if (phase_ >= Phase::kKilling) return;
  if (is_start_known()) on_start_known();
  if (phase_ == Phase::kStarting && !job_) {
    fail_to_start({126, session_.is_opening() ? "stopped while its PAM session was being opened."
                                              : "stopped while its output file was being opened."});
    return;
  }
  // Killed at once: before exec() there is no program that could end gracefully, and beside a
  // frozen run its successor may be running.
  if (phase_ == Phase::kStarting || freezer_.is_freeze_requested()) {
    begin_kill();
    return;
  }
  const Moment at = boot_now() + grace;
  kill_at_ = kill_at_ ? std::min(*kill_at_, at) : at;
  if (phase_ == Phase::kStopping) return;
  phase_ = Phase::kStopping;
  // A stopped job could not handle SIGTERM.
  if (signal_group(SIGTERM) == 0) (void)signal_group(SIGCONT);
  announce();
}

void JobSupervisor::begin_kill() {
  limit_at_.reset();
  kill_at_.reset();
  if (phase_ >= Phase::kKilling) return;
  const bool was_stopping = phase_ == Phase::kStopping;
  phase_ = Phase::kKilling;
  next_kill_round_ = boot_now();
  if (!was_stopping) announce();
}

void JobSupervisor::kill_remaining(Moment now) {
  const auto round = kill_round(mark_);
  reap();
  if (round && round->found == 0 && !has_children_) {
    phase_ = Phase::kEnded;
    next_kill_round_.reset();
    return;
  }
  if (!round && !is_listing_noted_) {
    note(cat("cannot tell yet whether the run's processes are gone: ", round.error().message));
    is_listing_noted_ = true;
  }
  for (const Unreachable& process : round ? round->unreachable : std::vector<Unreachable>()) {
    note(cat("cannot kill process ", process.pid, " of the run: ", process.reason, "."));
  }
  next_kill_round_ = now + kill_pause_;
  kill_pause_ = std::min(kill_pause_ * 2, kMaxPause);
}

std::string JobSupervisor::reason() const {
  if (start_failure_) return start_failure_->reason;
  if (record_.time_limit) {
    return cat("time limit of ", api::duration_text(*spec_.time_limit), " reached");
  }
  const bool is_out_of_memory =
      record_.signal == SIGKILL && spec_.memory_bytes && cgroup_oom_kills(spec_.cgroup) > 0;
  if (is_out_of_memory) return cat("memory limit of ", *spec_.memory_bytes, " bytes reached");
  return {};
}

ShimExit JobSupervisor::finish() {
  out_.finish();
  err_.finish();
  record_.lost_output = out_.lost() + err_.lost();
  record_.ended = wall_now();
  record_.reason = reason();
  for (const auto& copy : copies_) {
    copy->finish();
    if (start_failure_ || copy->problem().empty()) continue;
    record_.reason += cat(record_.reason.empty() ? "" : "; ", copy->problem());
  }
  session_.close();
  const auto recorded = claim_.record(record_, kRecordTimeout);
  if (!recorded) note(recorded.error().message);
  announce();
  control_.close(kCloseTimeout);
  remove_emptied_cgroup(mark_.cgroup);
  return recorded ? ShimExit::kDone : ShimExit::kRecordLost;
}

}  // namespace tangram::shim
