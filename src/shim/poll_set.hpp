// PollSet: what the shim's one thread waits for, built anew for every wait; and Alarm, the clock
// that ends the wait. One rule: a callback may close anything, so callbacks look up what they act
// on and keep no pointer to what can vanish.
#pragma once

#include <functional>
#include <optional>
#include <poll.h>
#include <vector>

#include "files/descriptor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {

class PollSet {
 public:
  void watch(int fd, short events, std::function<void()> ready);
  // Waits (or only looks), calls what is ready, and forgets all of it.
  void wait(bool may_block);

 private:
  std::vector<pollfd> polled_;
  std::vector<std::function<void()>> callbacks_;
};

// A timer on CLOCK_BOOTTIME: immune to steps of the clock, right after a suspend.
class Alarm {
 public:
  Alarm();
  void set(std::optional<Moment> when);
  void watch(PollSet& polls);

 private:
  files::Descriptor timer_;
  std::optional<Moment> when_;
};

}  // namespace tangram::shim
