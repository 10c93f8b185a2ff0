// SignalRelay: the signals that `tangram run` gets, sent on to its job, so that it feels like a
// program that was started here. One rule: nothing is done inside a signal handler; the signals are
// blocked and read by a thread.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

namespace tangram::cli {

class SignalRelay {
 public:
  // Blocks the signals; to be made before any other thread.
  SignalRelay();
  // Ends the thread; the signals stay blocked, the program is about to end.
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  SignalRelay(SignalRelay&&) = delete;
  SignalRelay& operator=(SignalRelay&&) = delete;

  // From now on; what came before is delivered first.
  void start(std::string socket, std::uint64_t job);

 private:
  void relay() const;

  int signals_ = -1;
  int stop_ = -1;
  std::string socket_;
  std::uint64_t job_ = 0;
  std::thread thread_;
};

}  // namespace tangram::cli
