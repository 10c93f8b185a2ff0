// Patience: how long, and how often, something that the driver calls "in use" is tried again. It
// exists because a GPU instance can be in use for a moment after its last process ended. One rule:
// the time is bounded, and a stop request ends it at once.
#pragma once

#include <chrono>
#include <stop_token>

namespace tangram::device {

struct Patience {
  std::chrono::milliseconds retry_for{10'000};    // 0: one try
  std::chrono::milliseconds first_wait{10};       // doubled after every try …
  std::chrono::milliseconds longest_wait{1'000};  // … up to this
  std::stop_token stop;
};

// Waits for `time` or until a stop is requested; false if it is.
bool pause(std::chrono::milliseconds time, const std::stop_token& stop);

// One use of a Patience.
class Backoff {
 public:
  explicit Backoff(const Patience& patience);

  // Waits before the next try; false if there should be none.
  [[nodiscard]] bool wait();

 private:
  Patience patience_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::milliseconds next_;
};

}  // namespace tangram::device
