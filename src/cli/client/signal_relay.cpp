// See signal_relay.hpp.
#include "cli/client/signal_relay.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <boost/json/object.hpp>

#include "base/text.hpp"
#include "cli/client/daemon_link.hpp"

namespace tangram::cli {
namespace {

constexpr std::array kRelayed = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr auto kKillWindow = std::chrono::seconds(1);  // two SIGINT within it kill the job

// A job that is not running cannot be signalled: a signal that would end it cancels it instead.
void forward(http::Client& client, std::uint64_t job, int signal) {
  const boost::json::object body{{"signal", signal}};
  const auto sent = client.request("POST", cat("/v1/jobs/", job, "/signal"), body);
  if (sent || signal == SIGUSR1 || signal == SIGUSR2) return;
  static_cast<void>(client.request("POST", cat("/v1/jobs/", job, "/cancel")));
}

void kill(http::Client& client, std::uint64_t job) {
  static_cast<void>(client.request("POST", cat("/v1/jobs/", job, "/cancel")));
  static_cast<void>(client.request("POST", cat("/v1/jobs/", job, "/signal"),
                                   boost::json::object{{"signal", SIGKILL}}));
}

}  // namespace

SignalRelay::SignalRelay() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kRelayed) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_ = ::eventfd(0, EFD_CLOEXEC);
}

SignalRelay::~SignalRelay() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(stop_, &one, sizeof one));
    thread_.join();
  }
  ::close(signals_);
  ::close(stop_);
}

void SignalRelay::start(std::string socket, std::uint64_t job) {
  socket_ = std::move(socket);
  job_ = job;
  thread_ = std::thread([this] { relay(); });
}

void SignalRelay::relay() const {
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_interrupt{};
  while (true) {
    std::array<pollfd, 2> both = {pollfd{signals_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    if (::poll(both.data(), both.size(), -1) < 0) continue;
    if (both[1].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_, &info, sizeof info) != sizeof info) continue;
    const auto signal = static_cast<int>(info.ssi_signo);
    const auto now = Clock::now();
    const bool again = signal == SIGINT && now - last_interrupt < kKillWindow;
    if (signal == SIGINT) last_interrupt = now;
    auto client = connect_to(socket_);
    if (!client) continue;  // the verb itself waits for the daemon and reports it
    again ? kill(*client, job_) : forward(*client, job_, signal);
  }
}

}  // namespace tangram::cli
