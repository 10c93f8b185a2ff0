// See shim.hpp.
#include "shim/shim.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "base/text.hpp"
#include "shim/claim.hpp"
#include "shim/control.hpp"
#include "shim/supervisor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr const char* kShimLog = "shim.log";

// Descriptors 0 to 2 are open from here on, so that no file of ours becomes one of them.
void fill_standard_streams() {
  int fd = ::open("/dev/null", O_RDWR);
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::dup(fd);
  if (fd >= 0) ::close(fd);
}

void close_all_but(int kept) {
  const auto from = static_cast<unsigned>(STDERR_FILENO + 1);
  if (kept < STDERR_FILENO + 1) {
    ::syscall(SYS_close_range, from, ~0U, 0);
    return;
  }
  const auto spared = static_cast<unsigned>(kept);
  if (spared > from) ::syscall(SYS_close_range, from, spared - 1, 0);
  ::syscall(SYS_close_range, spared + 1, ~0U, 0);
  ::fcntl(kept, F_SETFD, FD_CLOEXEC);
}

// A leader of a process group (started by a shell, say) may not make a session; one that joined
// its parent's group may.
void make_session() {
  if (::setsid() >= 0) return;
  if (::setpgid(0, ::getpgid(::getppid())) == 0) ::setsid();
}

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

ShimExit run_shim(const Options& options) {
  fill_standard_streams();
  close_all_but(options.ready_fd);
  files::Descriptor ready(options.ready_fd);
  arrange_signals();
  make_session();
  ::umask(0);  // modes are said where files are made
  const files::Descriptor folder(
      ::open(options.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok()) {
    return refuse({ShimExit::kBadSpec, cat("cannot open the run's folder ",
                                           tangram::quoted(options.folder), ": ", why(errno), ".")},
                  ready);
  }
  std::error_code ignored;  // a relative path is then seen from "/", and reading it fails
  const std::string path = std::filesystem::absolute(options.folder, ignored).string();
  if (::chdir("/") != 0) return refuse({ShimExit::kFailed, "cannot enter the folder '/'."}, ready);
  return claim_and_run(path, folder.get(), std::move(ready));
}

}  // namespace tangram::shim
