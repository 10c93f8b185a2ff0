// See retry_policy.hpp.
#include "device/retry_policy.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

namespace tangram::device {

using Clock = std::chrono::steady_clock;

bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

Backoff::Backoff(const RetryPolicy& retry)
    : retry_policy_(retry), end_(Clock::now() + retry.retry_for), next_(retry.first_wait) {}

bool Backoff::wait() {
  const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
  if (remaining <= std::chrono::milliseconds::zero()) return false;
  const auto time = std::min(next_, remaining);
  next_ = std::min(2 * next_, retry_policy_.longest_wait);
  return pause(time, retry_policy_.stop);
}

}  // namespace tangram::device
