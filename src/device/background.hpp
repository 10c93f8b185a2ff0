// Background: a thread that the driver can hang without hanging us. Joining a thread that is stuck
// in a driver call would never end, so after a grace period it is left behind; it owns what it
// uses. One rule: what the thread runs captures shared ownership only, never `this`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>

namespace tangram::device {

class Background {
 public:
  using Work = std::function<void(const std::stop_token&)>;

  explicit Background(Work work);
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  Background(Background&&) = delete;
  Background& operator=(Background&&) = delete;

  // Asks the thread to end and waits for it; one that does not end in time is left behind. Not from
  // the thread itself.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(5));

 private:
  struct State;
  std::shared_ptr<State> state_;
  std::stop_source stop_;
  std::thread thread_;
};

}  // namespace tangram::device
