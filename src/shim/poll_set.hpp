// PollSet: the descriptors that the shim's thread waits for, rebuilt for every wait; and Alarm, the
// timer that ends a wait. A callback may close any descriptor or client, so callbacks must look up
// their objects instead of keeping pointers to them.
#pragma once

#include <functional>
#include <optional>
#include <poll.h>
#include <vector>

#include "os/descriptor.hpp"
#include "shim/system.hpp"

namespace tangram::shim {

class PollSet {
 public:
  void watch(int fd, short events, std::function<void()> ready);
  // Waits (or only polls), calls the callbacks of ready descriptors, and clears the set.
  void wait(bool may_block);

 private:
  std::vector<pollfd> polled_;
  std::vector<std::function<void()>> callbacks_;
};

// A timer on CLOCK_BOOTTIME: unaffected by changes of the wall clock, and includes suspend.
class Alarm {
 public:
  Alarm();
  void set(std::optional<Moment> when);
  void watch(PollSet& polls);

 private:
  os::Descriptor timer_;
  std::optional<Moment> when_;
};

}  // namespace tangram::shim
