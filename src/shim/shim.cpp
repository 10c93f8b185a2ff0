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
#include "files/inherited.hpp"
#include "shim/claim.hpp"
#include "shim/control.hpp"
#include "shim/supervisor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr const char* kShimLog = "shim.log";

void arrange_signals() {
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  for (const int signal : {SIGHUP, SIGPIPE, SIGXFSZ, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP}) {
    ::sigaction(signal, &ignored, nullptr);
  }
  struct sigaction standard{};
  standard.sa_handler = SIG_DFL;  // an ignored SIGCHLD, inherited, would lose how the job ended
  ::sigaction(SIGCHLD, &standard, nullptr);
  sigset_t blocked;
  ::sigemptyset(&blocked);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) ::sigaddset(&blocked, signal);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

// Nobody who started us may be waited for, or waits for us, by an open file.
void detach_streams(int folder) {
  const files::Descriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const files::Descriptor log(
      ::openat(folder, kShimLog, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(null.get(), fd);
  ::dup2(log.ok() ? log.get() : null.get(), STDERR_FILENO);
}

ShimExit refuse(const Refusal& refusal, const files::Descriptor& ready) {
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

// Everything that can be refused is refused before the run counts as started.
ShimExit claim_and_run(const std::string& path, int folder, files::Descriptor ready) {
  auto claim = Claim::take(folder);
  if (!claim) return refuse(claim.error(), ready);
  const auto spec = spec_in(path);
  if (!spec) return refuse(spec.error(), ready);
  if (auto set = claim->set_aside(); !set) return refuse(set.error(), ready);
  Result<Control> control = Control::open(folder);
  if (!control) return refuse({ShimExit::kFailed, control.error().message}, ready);
  if (auto marked = claim->mark_started(spec->tag); !marked) return refuse(marked.error(), ready);
  detach_streams(folder);
  Supervisor supervisor(folder, *spec, *claim, *control, std::move(ready));
  return supervisor.run();
}

}  // namespace

ShimExit run_shim(const files::StartArguments& arguments) {
  files::fill_standard_streams();
  files::close_all_but(arguments.ready_fd);
  files::Descriptor ready(arguments.ready_fd);
  arrange_signals();
  files::make_session();
  ::umask(0);  // modes are said where files are made
  const files::Descriptor folder(
      ::open(arguments.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok()) {
    return refuse(
        {ShimExit::kBadSpec, cat("cannot open the run's folder ", tangram::quoted(arguments.folder),
                                 ": ", why(errno), ".")},
        ready);
  }
  std::error_code ignored;  // a relative path is then seen from "/", and reading it fails
  const std::string path = std::filesystem::absolute(arguments.folder, ignored).string();
  if (::chdir("/") != 0) return refuse({ShimExit::kFailed, "cannot enter the folder '/'."}, ready);
  return claim_and_run(path, folder.get(), std::move(ready));
}

}  // namespace tangram::shim
