// Events: reports the driver's events: errors (Xid), changes of the MIG layout, the loss of a GPU.
// Waiting for them blocks, so it has its own thread. An error of one GPU ends the events of that
// GPU only.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/detachable_thread.hpp"
#include "device/device.hpp"
#include "device/library.hpp"

namespace tangram::device {

class EventWatch;

class Events {
 public:
  using OnEvent = std::function<void(const DeviceEvent&)>;

  // Reports events of these GPUs from its return on, on its own thread. A lost GPU is reported
  // once, as kUnavailable (before the return if it is lost already), and not watched again until
  // set_gpus() names it.
  Events(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus, OnEvent on_event);
  ~Events() { stop(); }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  Events(Events&&) = delete;
  Events& operator=(Events&&) = delete;

  // Watches these GPUs within a second. Makes no driver call.
  void set_gpus(const std::vector<Gpu>& gpus);

  // No callback after its return. Takes a fraction of a second. Must not be called from the
  // callback.
  void stop();

 private:
  std::shared_ptr<EventWatch> watch_;
  DetachableThread thread_;
};

}  // namespace tangram::device
