// See shim.hpp.
#include "shim/shim.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "os/detach.hpp"
#include "shim/claim.hpp"
#include "shim/control.hpp"
#include "shim/job_supervisor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr const char* kShimLog = "shim.log";

void set_up_signals() {
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP}) {
    ::sigaction(signal, &ignored, nullptr);
  }
  struct sigaction standard{};
  standard.sa_handler =
      SIG_DFL;  // with an inherited SIG_IGN the exit status of the job would be lost
  ::sigaction(SIGCHLD, &standard, nullptr);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

// Closes the inherited streams: the shim must neither block on its starter nor keep it waiting.
void detach_streams(int folder) {
  const os::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const os::Descriptor log(
      ::openat(folder, kShimLog, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(null.get(), fd);
  ::dup2(log.ok() ? log.get() : null.get(), STDERR_FILENO);
}

ShimExit refuse(const Refusal& refusal, const os::Descriptor& ready) {
  note(refusal.reason);
  const std::string line =
      boost::json::serialize(boost::json::object{{"error", refusal.reason}}) + "\n";
  if (ready.ok()) {
    [[maybe_unused]] const ssize_t written = ::write(ready.get(), line.data(), line.size());
  }
  return refusal.code;
}

std::expected<api::RunSpec, Refusal> spec_in(const std::string& folder) {
  Result<api::RunSpec> spec = read_spec(folder);
  if (!spec) return std::unexpected(Refusal{ShimExit::kBadSpec, spec.error().message});
  return *std::move(spec);
}

// All checks that can fail come before the run is recorded as started.
ShimExit claim_and_run(const std::string& path, int folder, os::Descriptor ready) {
  auto claim = Claim::take(folder);
  if (!claim) return refuse(claim.error(), ready);
  const auto spec = spec_in(path);
  if (!spec) return refuse(spec.error(), ready);
  if (auto set = claim->reserve_exit_file(); !set) return refuse(set.error(), ready);
  Result<Control> control = Control::open(folder);
  if (!control) return refuse({ShimExit::kFailed, control.error().message}, ready);
  if (auto marked = claim->mark_started(spec->tag); !marked) return refuse(marked.error(), ready);
  detach_streams(folder);
  JobSupervisor supervisor(folder, *spec, *claim, *control, std::move(ready));
  return supervisor.run();
}

}  // namespace

ShimExit run_shim(const os::StartArguments& arguments) {
  os::open_standard_streams();
  os::close_other_descriptors(arguments.ready_fd);
  os::Descriptor ready(arguments.ready_fd);
  set_up_signals();
  os::start_session();
  ::umask(0);  // every file is created with explicit permissions
  const os::Descriptor folder(::open(arguments.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok()) {
    return refuse(
        {ShimExit::kBadSpec, cat("cannot open the run's folder ", tangram::quoted(arguments.folder),
                                 ": ", errno_text(errno), ".")},
        ready);
  }
  std::error_code ignored;  // if this fails, reading the folder by its relative path fails below
  const std::string path = std::filesystem::absolute(arguments.folder, ignored).string();
  if (::chdir("/") != 0)
    return refuse({ShimExit::kFailed, "cannot change to the folder '/'."}, ready);
  return claim_and_run(path, folder.get(), std::move(ready));
}

}  // namespace tangram::shim
