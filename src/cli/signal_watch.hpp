// SignalWatch: signals as something that can be waited for, with a deadline and beside other
// descriptors, for verbs that go on until they are interrupted. One rule: nothing is done inside a
// signal handler; the signals are blocked as long as it lives and given back afterwards.
#pragma once

#include <chrono>
#include <initializer_list>
#include <optional>
#include <signal.h>
#include <sys/signalfd.h>

#include "files/descriptor.hpp"

namespace tangram::cli {

class SignalWatch {
 public:
  // To be made before any thread.
  explicit SignalWatch(std::initializer_list<int> signals);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  SignalWatch(SignalWatch&&) = delete;
  SignalWatch& operator=(SignalWatch&&) = delete;

  // Readable when a signal has come.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  // One that has come already.
  [[nodiscard]] std::optional<signalfd_siginfo> take() const;
  // Waits for one so long; none: it was quiet.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds patience) const;
  // For a child between fork and exec: the signals as they were before.
  void give_back() const;

 private:
  sigset_t before_{};
  files::Descriptor descriptor_{-1};
};

}  // namespace tangram::cli
