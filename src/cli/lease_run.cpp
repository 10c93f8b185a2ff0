// See lease_run.hpp.
#include "cli/lease_run.hpp"

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
#include "cli/daemon_link.hpp"
#include "cli/job_text.hpp"
#include "cli/signal_watch.hpp"

namespace tangram::cli {
namespace {

constexpr int kNotExecutable = 126;
constexpr int kNotFoundCode = 127;

void say(const std::string& text) { fmt::print(stderr, "tangram: {}\n", harmless(text)); }

// The child's part: what it may do between fork and exec is little.
[[noreturn]] void become(char* const* arguments, const SignalWatch& signals) {
  std::signal(SIGPIPE, SIG_DFL);
  signals.give_back();
  ::execvp(arguments[0], arguments);
  const int code = errno == ENOENT ? kNotFoundCode : kNotExecutable;
  const std::string why = std::generic_category().message(errno);
  fmt::print(stderr, "tangram: cannot run {}: {}.\n", printable(arguments[0]), why);
  ::_exit(code);
}

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Signals of a terminal reach the command by themselves: it is in the same foreground group.
void pass_on(const signalfd_siginfo& info, pid_t child) {
  const bool from_terminal = info.ssi_code > 0;
  if (!from_terminal) ::kill(child, static_cast<int>(info.ssi_signo));
}

int attend(const SignalWatch& signals, pid_t child) {
  while (true) {
    pollfd one{signals.descriptor(), POLLIN, 0};
    ::poll(&one, 1, -1);
    while (const auto info = signals.take()) {
      if (info->ssi_signo != SIGCHLD) pass_on(*info, child);
    }
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) return code_of(status);
  }
}

}  // namespace

Renewal::Renewal(std::string socket, const api::LeaseView& lease)
    : socket_(std::move(socket)), id_(lease.id), ttl_(lease.ttl) {}

Renewal::~Renewal() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Renewal::start(pid_t process) {
  process_ = process;
  thread_ = std::thread([this] { renew(); });
}

bool Renewal::once(std::chrono::milliseconds& pause) {
  constexpr auto kAnswerTime = std::chrono::seconds(10);
  constexpr std::chrono::milliseconds kAgain{500};  // a daemon that is gone is soon back
  pause = ttl_ / 3;
  auto client = connect_to(socket_);
  const auto renewed = client ? client->request("POST", cat("/v1/leases/", id_, "/renew"),
                                                boost::json::object{}, kAnswerTime)
                              : std::unexpected(client.error());
  if (renewed) return true;
  if (renewed.error().code == ErrorCode::kUnavailable) {
    pause = std::min(pause, kAgain);
    return true;
  }
  say(cat("lease ", id_, " is over: ", renewed.error().message));
  return false;
}

void Renewal::renew() {
  std::chrono::milliseconds pause = ttl_ / 3;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, pause, [this] { return ending_; })) {
    lock.unlock();
    const bool goes_on = once(pause);
    lock.lock();
    if (goes_on || ending_) continue;
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
  Renewal renewal(socket, lease);
  const pid_t child = ::fork();
  if (child < 0) return failed(cat("cannot start a process: ", std::strerror(errno), "."));
  if (child == 0) become(arguments.data(), signals);
  renewal.start(child);
  return attend(signals, child);
}

}  // namespace tangram::cli
