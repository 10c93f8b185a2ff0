// See job_supervisor.hpp: the start of the job.
#include <algorithm>
#include <csignal>
#include <memory>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "base/check.hpp"
#include "shim/cgroup.hpp"
#include "shim/job_supervisor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

os::Descriptor watch_signals() {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) ::sigaddset(&wanted, signal);
  return os::Descriptor(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

JobSupervisor::JobSupervisor(int folder, const api::RunSpec& spec, const Claim& claim,
                             Control& control, os::Descriptor ready)
    : spec_(spec),
      claim_(claim),
      control_(control),
      ready_(std::move(ready)),
      signals_(watch_signals()),
      mark_{.tag = spec.tag, .uid = user_of(spec), .shim = ::getpid()},
      session_([this] { on_session_opened(); }),
      out_(folder, api::kStdoutLog, spec),
      err_(folder, api::kStderrLog, spec),
      probe_(spec_, session_attributes(), respond_as("probe")),
      freezer_(mark_, respond_as("done")) {
  CHECK(signals_.ok());
  callbacks_.make_greeting = [this] { return status_line(); };
  callbacks_.on_line = [this](ClientId client, std::string_view line) { on_line(client, line); };
}

void JobSupervisor::start_job() {
  record_.started = wall_now();
  report_ready(status_line());  // the starter need not wait for exec(), which may block
  if (session_attributes() == nullptr) {
    continue_start();
  } else if (auto started = session_.start(spec_); !started) {
    fail_to_start({126, started.error().message});
  }
}

const SessionAttributes* JobSupervisor::session_attributes() const {
  return spec_.pam && ::geteuid() == 0 ? &session_.attributes() : nullptr;
}

void JobSupervisor::on_session_opened() {
  if (phase_ != Phase::kStarting) return;  // stopped meanwhile
  if (session_.failure()) {
    fail_to_start(*session_.failure());
    return;
  }
  session_.apply_to(spec_);
  continue_start();
}

void JobSupervisor::continue_start() {
  if (auto opened = open_copies(); !opened) {
    fail_to_start({126, opened.error().message});
    return;
  }
  // Orphaned processes of the job become children of the shim.
  CHECK(::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
  if (auto made = make_cgroup(spec_); !made) {
    fail_to_start({126, made.error().message});
    return;
  }
  mark_.cgroup = spec_.cgroup;  // set only now: a cgroup of others must not be killed at the end
  if (copies_.empty()) launch_job();
}

Result<void> JobSupervisor::open_copies() {
  if (!spec_.output.empty()) {
    if (auto opened = open_copy(spec_.output, out_); !opened) return opened;
  }
  return spec_.error.empty() ? Result<void>() : open_copy(spec_.error, err_);
}

Result<void> JobSupervisor::open_copy(const std::string& path, Output& output) {
  for (const auto& copy : copies_) {  // one process for both streams keeps their order
    if (copy->path() != path) continue;
    output.copy_to(*copy);
    return {};
  }
  copies_.push_back(std::make_unique<FileCopy>(spec_, path, [this] { on_copy_opened(); }));
  output.copy_to(*copies_.back());
  return copies_.back()->start();
}

// The job starts when all files are open.
void JobSupervisor::on_copy_opened() {
  if (phase_ != Phase::kStarting || job_) return;
  for (const auto& copy : copies_) {
    if (!copy->failure()) continue;
    fail_to_start(*copy->failure());
    return;
  }
  if (std::ranges::all_of(copies_, [](const auto& copy) { return copy->is_open(); })) {
    launch_job();
  }
}

void JobSupervisor::launch_job() {
  const auto launch = open_streams();
  if (!launch) {
    fail_to_start({126, launch.error().message});
    return;
  }
  auto child = start_child(*launch);
  out_.close_write();
  err_.close_write();
  if (!child) {
    fail_to_start(child.error());
    return;
  }
  job_ = *std::move(child);
  pid_ = job_->pid;
  if (spec_.time_limit) limit_at_ = boot_now() + *spec_.time_limit - spec_.time_spent;
}

Result<Launch> JobSupervisor::open_streams() {
  const Result<int> out = out_.open_write(spec_);
  if (!out) return std::unexpected(out.error());
  const Result<int> err = err_.open_write(spec_);
  if (!err) return std::unexpected(err.error());
  return Launch{.spec = spec_,
                .command = spec_.command,
                .out = *out,
                .err = *err,
                .session = session_attributes(),
                .logs_problems = true};
}

// Whether the child's pipe has ended or has a failure.
bool JobSupervisor::is_start_known() const {
  if (!job_ || !job_->failures.ok()) return false;
  pollfd polled{.fd = job_->failures.get(), .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) == 1;
}

// The child's pipe has ended: exec() succeeded, or the child reported a failure and is about to
// exit.
void JobSupervisor::on_start_known() {
  if (!job_ || !job_->failures.ok()) return;
  start_failure_ =
      read_failure(*job_, {.spec = spec_, .command = spec_.command, .out = -1, .err = -1});
  job_->failures = os::Descriptor(-1);
  if (start_failure_ || phase_ != Phase::kStarting) return;
  phase_ = Phase::kRunning;
  announce();
}

void JobSupervisor::fail_to_start(const StartFailure& failure) {
  start_failure_ = failure;
  record_.code = failure.code;
  begin_kill();
}

}  // namespace tangram::shim
