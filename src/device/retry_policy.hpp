// RetryPolicy: how long and how often a call that returned "in use" is retried: a GPU instance can
// stay in use for a moment after its last process ended. A stop request ends the waiting at once.
#pragma once

#include <chrono>
#include <stop_token>

namespace tangram::device {

struct RetryPolicy {
  std::chrono::milliseconds retry_for{10'000};    // 0: one try
  std::chrono::milliseconds first_wait{10};       // doubled after every try …
  std::chrono::milliseconds longest_wait{1'000};  // … up to this
  std::stop_token stop;
};

// Sleeps for `time`. Returns false if a stop was requested before or meanwhile.
bool pause(std::chrono::milliseconds time, const std::stop_token& stop);

// Back-off: the growing waits between the tries of one operation. Starts on construction.
class Backoff {
 public:
  explicit Backoff(const RetryPolicy& retry);

  // Sleeps before the next try. Returns false if the time is used up or a stop was requested.
  [[nodiscard]] bool wait();

 private:
  RetryPolicy retry_policy_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::milliseconds next_;
};

}  // namespace tangram::device
