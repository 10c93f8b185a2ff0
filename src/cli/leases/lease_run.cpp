// See lease_run.hpp.
#include "cli/leases/lease_run.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"
#include "cli/client/job_text.hpp"
#include "cli/client/signal_watch.hpp"

namespace tangram::cli {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFoundCode = 127;

void print_notice(const std::string& text) {
  fmt::print(stderr, "tangram: {}\n", terminal_safe(text));
}

// Runs in the child between fork and exec: replaces it by the command.
[[noreturn]] void exec_command(char* const* arguments, const SignalWatch& signals) {
  std::signal(SIGPIPE, SIG_DFL);
  signals.restore_mask();
  ::execvp(arguments[0], arguments);
  const int code = errno == ENOENT ? kNotFoundCode : kNotExecutable;
  const std::string why = std::generic_category().message(errno);
  fmt::print(stderr, "tangram: cannot run {}: {}.\n", printable(arguments[0]), why);
  ::_exit(code);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Forwards a signal to the command. Those from the terminal reach it already, because it is in the
// same foreground process group.
void forward(const signalfd_siginfo& info, pid_t child) {
  const bool from_terminal = info.ssi_code > 0;
  if (!from_terminal) ::kill(child, static_cast<int>(info.ssi_signo));
}

// Waits for the child, forwarding signals meanwhile, and returns its exit code.
int wait_for_child(const SignalWatch& signals, pid_t child) {
  while (true) {
    pollfd one{signals.descriptor(), POLLIN, 0};
    ::poll(&one, 1, -1);
    while (const auto info = signals.take()) {
      if (info->ssi_signo != SIGCHLD) forward(*info, child);
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return code_of(status);
  }
}

}  // namespace

LeaseRenewer::LeaseRenewer(std::string socket, const api::LeaseView& lease)
    : socket_(std::move(socket)), id_(lease.id), ttl_(lease.ttl) {}

LeaseRenewer::~LeaseRenewer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LeaseRenewer::start(pid_t process) {
  process_ = process;
  thread_ = std::thread([this] { run(); });
}

bool LeaseRenewer::renew_once(std::chrono::milliseconds& pause) {
  constexpr auto kTimeout = std::chrono::seconds(10);
  constexpr std::chrono::milliseconds kRetryInterval{500};  // while the daemon is away
  pause = ttl_ / 3;
  auto client = connect_to(socket_);
  const auto renewed = client ? client->request("POST", cat("/v1/leases/", id_, "/renew"),
                                                boost::json::object{}, kTimeout)
                              : std::unexpected(client.error());
  if (renewed) return true;
  if (renewed.error().code == ErrorCode::kUnavailable) {
    pause = std::min(pause, kRetryInterval);
    return true;
  }
  print_notice(cat("lease ", id_, " has ended: ", renewed.error().message));
  return false;
}

void LeaseRenewer::run() {
  std::chrono::milliseconds pause = ttl_ / 3;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return ending_; })) {
    lock.unlock();
    const bool active = renew_once(pause);
    lock.lock();
    if (active || ending_) continue;
    ::kill(process_, SIGTERM);
    return;
  }
}

Result<int> run_on_lease(const std::string& socket, const api::LeaseView& lease,
                         const std::vector<std::string>& command) {
  const SignalWatch signals({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD});
  for (const auto& [name, value] : lease.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): no thread yet
  }
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  LeaseRenewer renewer(socket, lease);
  const pid_t child = ::fork();
  if (child < 0) return failed(cat("cannot start a process: ", std::strerror(errno), "."));
  if (child == 0) exec_command(arguments.data(), signals);
  renewer.start(child);
  return wait_for_child(signals, child);
}

}  // namespace tangram::cli
