// SignalWatch: a signalfd, for verbs that run until they are interrupted. The signals are blocked
// during its lifetime; the previous mask is restored afterwards.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <signal.h>
#include <sys/signalfd.h>

#include "os/descriptor.hpp"

namespace tangram::cli {

class SignalWatch {
 public:
  // Construct before starting any thread.
  explicit SignalWatch(std::initializer_list<int> signals);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  SignalWatch(SignalWatch&&) = delete;
  SignalWatch& operator=(SignalWatch&&) = delete;

  // Readable when a signal is pending.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // Returns a pending signal, or nullopt.
  [[nodiscard]] std::optional<signalfd_siginfo> take() const;
  // Waits for a signal; returns nullopt after `timeout`.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds timeout) const;
  // Restores the previous mask. For a child process between fork and exec.
  void restore_mask() const;

 private:
  sigset_t before_{};
  os::Descriptor descriptor_{-1};
};

}  // namespace tangram::cli
