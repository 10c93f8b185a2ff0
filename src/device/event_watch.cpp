// See event_watch.hpp.
#include "device/event_watch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "device/retry_policy.hpp"

namespace tangram::device {
namespace {

constexpr unsigned kSliceMs = 200;                            // upper bound of a stop's delay
constexpr std::chrono::milliseconds kPauseAfterError{1'000};  // avoids a busy loop
constexpr unsigned long long kWanted =
    nvml::kEventXid | nvml::kEventMigConfigChange | nvml::kEventGpuUnavailable;

std::optional<unsigned> id_of(unsigned id) {
  return id == nvml::kNoInstanceId ? std::nullopt : std::optional(id);
}

std::vector<std::string> healthy(const std::vector<Gpu>& gpus) {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : gpus) {
    if (gpu.health == Health::kOk) uuids.push_back(gpu.uuid);
  }
  return uuids;
}

}  // namespace

EventWatch::EventWatch(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus,
                       OnEvent on_event)
    : library_(std::move(library)), gpu_uuids_(healthy(gpus)), on_event_(std::move(on_event)) {}

bool EventWatch::open() {
  if (library_->calls().create_events(&set_) != nvml::kSuccess) {
    set_ = nullptr;
    return false;
  }
  for (const std::string& gpu_uuid : gpu_uuids_) {
    if (!lost_.contains(gpu_uuid)) add(gpu_uuid);
  }
  return true;
}

// A GPU that has no events or may not be watched does not affect the others.
void EventWatch::add(const std::string& gpu_uuid) {
  const Calls& calls = library_->calls();
  nvml::Device device = nullptr;
  unsigned long long supported = 0;
  nvml::Return code = calls.device_by_uuid(gpu_uuid.c_str(), &device);
  if (code == nvml::kSuccess) code = calls.supported_events(device, &supported);
  if (code == nvml::kSuccess && (supported & kWanted) != 0) {
    code = calls.register_events(device, supported & kWanted, set_);
    if (code == nvml::kSuccess) registered_.push_back({device, gpu_uuid});
  }
  if (code == nvml::kGpuIsLost) report_lost(gpu_uuid);
}

void EventWatch::close() {
  if (set_ != nullptr) library_->calls().free_events(set_);
  set_ = nullptr;
  registered_.clear();
}

void EventWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    apply_wanted();
    if (set_ == nullptr && !open()) {
      pause(kPauseAfterError, stop);
      continue;
    }
    wait_once(stop);
  }
  close();
}

void EventWatch::set_gpus(const std::vector<Gpu>& gpus) {
  const std::scoped_lock lock(wanted_mutex_);
  wanted_ = healthy(gpus);
}

// Starts over with the GPUs of set_gpus(), if it was called.
void EventWatch::apply_wanted() {
  {
    const std::scoped_lock lock(wanted_mutex_);
    if (!wanted_) return;
    gpu_uuids_ = *std::exchange(wanted_, std::nullopt);
  }
  lost_.clear();
  close();
}

void EventWatch::wait_once(const std::stop_token& stop) {
  nvml::EventData data{};
  const nvml::Return code = library_->calls().wait_event(set_, &data, kSliceMs);
  if (code == nvml::kSuccess) {
    report(data);
  } else if (code == nvml::kGpuIsLost) {
    find_lost();
    close();  // the next wait reopens it without the lost GPUs
    pause(std::chrono::milliseconds(kSliceMs), stop);
  } else if (code != nvml::kTimeout) {
    pause(kPauseAfterError, stop);
  }
}

void EventWatch::report(const nvml::EventData& data) {
  DeviceEvent event{.gpu_uuid = uuid_of(data.device),
                    .kind = DeviceEvent::Kind::kXid,
                    .xid = 0,
                    .gi = id_of(data.gpu_instance_id),
                    .ci = id_of(data.compute_instance_id)};
  if (event.gpu_uuid.empty()) return;
  if ((data.event_type & nvml::kEventGpuUnavailable) != 0) {
    report_lost(event.gpu_uuid);
  } else if ((data.event_type & nvml::kEventMigConfigChange) != 0) {
    event.kind = DeviceEvent::Kind::kMigConfigChange;
    report(event);
  } else if ((data.event_type & nvml::kEventXid) != 0) {
    event.xid = data.event_data;
    report(event);
    find_lost();  // an Xid may be the last event of a GPU
  }
}

void EventWatch::report(const DeviceEvent& event) {
  const std::scoped_lock lock(callback_mutex_);
  if (on_event_) on_event_(event);
}

void EventWatch::report_lost(const std::string& gpu_uuid) {
  if (!lost_.insert(gpu_uuid).second) return;
  report({.gpu_uuid = gpu_uuid,
          .kind = DeviceEvent::Kind::kUnavailable,
          .xid = 0,
          .gi = std::nullopt,
          .ci = std::nullopt});
}

// The driver reports that a GPU of the set is lost, but not which: reads a value of each.
void EventWatch::find_lost() {
  for (const Registered& registered : registered_) {
    nvml::Memory memory{};
    const nvml::Return code = library_->calls().device_memory(registered.device, &memory);
    if (code == nvml::kGpuIsLost) report_lost(registered.gpu_uuid);
  }
}

std::string EventWatch::uuid_of(nvml::Device device) const {
  const auto found = std::ranges::find(registered_, device, &Registered::device);
  if (found != registered_.end()) return found->gpu_uuid;
  std::array<char, nvml::kUuidBuffer> text{};
  const nvml::Return code = library_->calls().device_uuid(device, text.data(), nvml::kUuidBuffer);
  return code == nvml::kSuccess ? text.data() : "";
}

void EventWatch::stop_callbacks() {
  const std::scoped_lock lock(callback_mutex_);
  on_event_ = nullptr;
}

}  // namespace tangram::device
