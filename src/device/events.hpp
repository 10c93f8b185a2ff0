// Events: what the driver tells of its own accord: errors (Xid), changes of the MIG layout, a GPU
// that is gone. It has a thread of its own because waiting for events blocks. One rule: trouble
// with one GPU ends the events of that GPU only.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/background.hpp"
#include "device/device.hpp"
#include "device/library.hpp"

namespace tangram::device {

class EventWatch;

class Events {
 public:
  using OnEvent = std::function<void(const DeviceEvent&)>;

  // From its return on, events of these GPUs are told, on a thread of its own. A GPU that is lost
  // is told once, as kUnavailable (before the return, if it is lost already), and not listened to
  // any more until listen_to() names it again.
  Events(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus, OnEvent on_event);
  ~Events() { stop(); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  Events(Events&&) = delete;
  Events& operator=(Events&&) = delete;

  // These GPUs from now on, within a second. Never waits for the driver.
  void listen_to(const std::vector<Gpu>& gpus);

  // There is no event afterwards. Takes a fraction of a second. Not from the callback.
  void stop();

 private:
  std::shared_ptr<EventWatch> watch_;
  Background thread_;
};

}  // namespace tangram::device
