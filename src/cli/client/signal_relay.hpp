// SignalRelay: forwards the signals that `tangram run` receives to its job. The signals are blocked
// and read by a thread; there is no signal handler.
#pragma once

#include <cstdint>
#include <string>
#include <thread>

namespace tangram::cli {

class SignalRelay {
 public:
  // Blocks the signals. Construct before starting any thread.
  SignalRelay();
  // Stops the thread. The signals stay blocked: the program is about to exit.
  ~SignalRelay();
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  SignalRelay(SignalRelay&&) = delete;
  SignalRelay& operator=(SignalRelay&&) = delete;

  // Forwards signals to `job` from now on, pending ones first.
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
