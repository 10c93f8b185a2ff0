// DetachableThread: a thread that may get stuck in a driver call. stop() joins it, or detaches it
// after a grace period. The work may therefore outlive its creator: it captures shared ownership
// only, never `this`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

namespace tangram::device {

class DetachableThread {
 public:
  using Work = std::function<void(const std::stop_token&)>;

  explicit DetachableThread(Work work);
  ~DetachableThread() { stop(); }
  DetachableThread(const DetachableThread&) = delete;
  DetachableThread& operator=(const DetachableThread&) = delete;
  DetachableThread(DetachableThread&&) = delete;
  DetachableThread& operator=(DetachableThread&&) = delete;

  // Requests a stop and waits up to `grace` for the thread to end; else detaches it. Must not be
  // called from the thread itself.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(5));

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace tangram::device
