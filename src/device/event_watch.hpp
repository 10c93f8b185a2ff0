// EventWatch: an event set of the driver's and the GPUs registered in it; the part of Events that
// its thread owns. One rule: only one thread at a time uses it, except for mute() and listen_to().
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

  // Registers every GPU that is not lost; false if the driver has no event set for us.
  bool open();
  // Waits for events and tells them until a stop is requested.
  void run(const std::stop_token& stop);
  // These GPUs from now on, also those that were lost before. Asks the driver nothing itself.
  void listen_to(const std::vector<Gpu>& gpus);
  // No event is told any more; waits for one that is being told.
  void mute();

 private:
  struct Listened {
    nvml::Device device = nullptr;
    std::string gpu_uuid;
  };

  void close();
  void begin_anew();
  void add(const std::string& gpu_uuid);
  void wait_once(const std::stop_token& stop);
  void tell(const nvml::EventData& data);
  void tell(const DeviceEvent& event);
  void tell_lost(const std::string& gpu_uuid);
  void find_lost();
  [[nodiscard]] std::string uuid_of(nvml::Device device) const;

  const std::shared_ptr<const Library> library_;
  std::vector<std::string> gpu_uuids_;
  nvml::EventSet set_ = nullptr;
  std::vector<Listened> listened_;
  std::set<std::string> lost_;
  std::mutex wanting_;                              // of the next one
  std::optional<std::vector<std::string>> wanted_;  // from the next wait on, not gpu_uuids_
  std::mutex telling_;
  OnEvent on_event_;
};

}  // namespace tangram::device
