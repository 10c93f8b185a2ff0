// See event_watch.hpp.
#include "device/event_watch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "device/patience.hpp"

namespace tangram::device {
namespace {

constexpr unsigned kSliceMs = 200;                            // how long a stop may take
constexpr std::chrono::milliseconds kPauseAfterError{1'000};  // not to spin
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

// A GPU without events, or that we may not listen to, leaves the others heard.
void EventWatch::add(const std::string& gpu_uuid) {
  const Calls& calls = library_->calls();
  nvml::Device device = nullptr;
  unsigned long long supported = 0;
  nvml::Return code = calls.device_by_uuid(gpu_uuid.c_str(), &device);
  if (code == nvml::kSuccess) code = calls.supported_events(device, &supported);
  if (code == nvml::kSuccess && (supported & kWanted) != 0) {
    code = calls.register_events(device, supported & kWanted, set_);
    if (code == nvml::kSuccess) listened_.push_back({device, gpu_uuid});
  }
  if (code == nvml::kGpuIsLost) tell_lost(gpu_uuid);
}

void EventWatch::close() {
  if (set_ != nullptr) library_->calls().free_events(set_);
  set_ = nullptr;
  listened_.clear();
}

void EventWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    begin_anew();
    if (set_ == nullptr && !open()) {
      pause(kPauseAfterError, stop);
      continue;
    }
    wait_once(stop);
  }
  close();
}

void EventWatch::listen_to(const std::vector<Gpu>& gpus) {
  const std::scoped_lock lock(wanting_);
  wanted_ = healthy(gpus);
}

// If others are to be listened to than up to now.
void EventWatch::begin_anew() {
  {
    const std::scoped_lock lock(wanting_);
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
    tell(data);
  } else if (code == nvml::kGpuIsLost) {
    find_lost();
    close();  // and made anew without the lost ones
    pause(std::chrono::milliseconds(kSliceMs), stop);
  } else if (code != nvml::kTimeout) {
    pause(kPauseAfterError, stop);
  }
}

void EventWatch::tell(const nvml::EventData& data) {
  DeviceEvent event{.gpu_uuid = uuid_of(data.device),
                    .kind = DeviceEvent::Kind::kXid,
                    .xid = 0,
                    .gi = id_of(data.gpu_instance_id),
                    .ci = id_of(data.compute_instance_id)};
  if (event.gpu_uuid.empty()) return;
  if ((data.event_type & nvml::kEventGpuUnavailable) != 0) {
    tell_lost(event.gpu_uuid);
  } else if ((data.event_type & nvml::kEventMigConfigChange) != 0) {
    event.kind = DeviceEvent::Kind::kMigConfigChange;
    tell(event);
  } else if ((data.event_type & nvml::kEventXid) != 0) {
    event.xid = data.event_data;
    tell(event);
    find_lost();  // an Xid may be the last thing that is heard of a GPU
  }
}

void EventWatch::tell(const DeviceEvent& event) {
  const std::scoped_lock lock(telling_);
  if (on_event_) on_event_(event);
}

void EventWatch::tell_lost(const std::string& gpu_uuid) {
  if (!lost_.insert(gpu_uuid).second) return;
  tell({.gpu_uuid = gpu_uuid,
        .kind = DeviceEvent::Kind::kUnavailable,
        .xid = 0,
        .gi = std::nullopt,
        .ci = std::nullopt});
}

// The driver says that a GPU of the set is lost, not which: each is asked something.
void EventWatch::find_lost() {
  for (const Listened& listened : listened_) {
    nvml::Memory memory{};
    const nvml::Return code = library_->calls().device_memory(listened.device, &memory);
    if (code == nvml::kGpuIsLost) tell_lost(listened.gpu_uuid);
  }
}

std::string EventWatch::uuid_of(nvml::Device device) const {
  const auto found = std::ranges::find(listened_, device, &Listened::device);
  if (found != listened_.end()) return found->gpu_uuid;
  std::array<char, nvml::kUuidBuffer> text{};
  const nvml::Return code = library_->calls().device_uuid(device, text.data(), nvml::kUuidBuffer);
  return code == nvml::kSuccess ? text.data() : "";
}

void EventWatch::mute() {
  const std::scoped_lock lock(telling_);
  on_event_ = nullptr;
}

}  // namespace tangram::device
