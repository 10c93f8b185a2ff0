// See patience.hpp.
#include "device/patience.hpp"

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

Backoff::Backoff(const Patience& patience)
    : patience_(patience), end_(Clock::now() + patience.retry_for), next_(patience.first_wait) {}

bool Backoff::wait() {
  const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
  if (remaining <= std::chrono::milliseconds::zero()) return false;
  const auto time = std::min(next_, remaining);
  next_ = std::min(2 * next_, patience_.longest_wait);
  return pause(time, patience_.stop);
}

}  // namespace tangram::device
