// EventWatch: an event set of the driver and the GPUs registered in it; the thread's part of
// Events. Used by one thread at a time, except stop_callbacks() and set_gpus().
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/library.hpp"

namespace tangram::device {

class EventWatch {
 public:
  using OnEvent = std::function<void(const DeviceEvent&)>;

  EventWatch(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus,
             OnEvent on_event);
  ~EventWatch() { close(); }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;
  EventWatch(EventWatch&&) = delete;
  EventWatch& operator=(EventWatch&&) = delete;

  // Registers every GPU that is not lost. Returns false if the driver gives no event set.
  bool open();
  // Waits for events and reports them until a stop is requested.
  void run(const std::stop_token& stop);
  // Watches these GPUs from now on, including those that were lost before. Makes no driver call.
  void set_gpus(const std::vector<Gpu>& gpus);
  // No callback after its return; waits for one that is running.
  void stop_callbacks();

 private:
  struct Registered {
    nvml::Device device = nullptr;
    std::string gpu_uuid;
  };

  void close();
  void apply_wanted();
  void add(const std::string& gpu_uuid);
  void wait_once(const std::stop_token& stop);
  void report(const nvml::EventData& data);
  void report(const DeviceEvent& event);
  void report_lost(const std::string& gpu_uuid);
  void find_lost();
  [[nodiscard]] std::string uuid_of(nvml::Device device) const;

  const std::shared_ptr<const Library> library_;
  std::vector<std::string> gpu_uuids_;
  nvml::EventSet set_ = nullptr;
  std::vector<Registered> registered_;
  std::set<std::string> lost_;
  std::mutex wanted_mutex_;                         // guards wanted_
  std::optional<std::vector<std::string>> wanted_;  // replaces gpu_uuids_ before the next wait
  std::mutex callback_mutex_;                       // guards on_event_, held while it runs
  OnEvent on_event_;
};

}  // namespace tangram::device
