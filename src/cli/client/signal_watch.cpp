// See signal_watch.hpp.
#include "cli/client/signal_watch.hpp"

#include <poll.h>
#include <unistd.h>

namespace tangram::cli {

SignalWatch::SignalWatch(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, &before_);
  descriptor_ = os::Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Drops pending signals, which would be delivered on unblocking: the verb is about to end anyway.
SignalWatch::~SignalWatch() {
  while (take()) {
  }
  restore_mask();
}

std::optional<signalfd_siginfo> SignalWatch::take() const {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return info;
}

std::optional<int> SignalWatch::wait(std::chrono::milliseconds timeout) const {
  pollfd one{descriptor_.get(), POLLIN, 0};
  ::poll(&one, 1, static_cast<int>(timeout.count()));
  const auto info = take();
  if (!info) return std::nullopt;
  return static_cast<int>(info->ssi_signo);
}

void SignalWatch::restore_mask() const { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tangram::cli
