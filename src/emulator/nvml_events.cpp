// NVML: event sets. A set belongs to the process that created it and holds, per GPU, which events
// it has returned; the events themselves are in the state, so every process sees all of them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "emulator/call.hpp"
#include "nvml/functions.hpp"

namespace tangram::nvml {

struct EventSetHandle {
  struct Registration {
    unsigned gpu = 0;
    unsigned long long types = 0;
    std::uint64_t next = 0;  // the first event that was not read yet
    bool lost_reported = false;
  };
  std::mutex mutex;
  std::vector<Registration> registrations;
};

namespace {

using emulator::GpuState;
using emulator::StateFile;
using emulator::Target;

constexpr unsigned long long kSupported = kEventXid | kEventMigConfigChange | kEventGpuUnavailable;

// The valid sets of this process: a stale handle is rejected, not dereferenced.
struct EventSets {
  std::mutex mutex;
  std::vector<std::shared_ptr<EventSetHandle>> all;
};
EventSets& event_sets() {
  static auto& the = *new EventSets;
  return the;
}

std::shared_ptr<EventSetHandle> find(EventSet set) {
  const std::scoped_lock lock(event_sets().mutex);
  for (const auto& known : event_sets().all) {
    if (known.get() == set) return known;
  }
  return nullptr;
}

// Takes the next event of a GPU that the registration is for.
bool next_event(EventSetHandle::Registration& r, const GpuState& gpu, EventData& data) {
  const std::uint64_t oldest =
      gpu.events_written > emulator::kEventsKept ? gpu.events_written - emulator::kEventsKept : 0;
  for (r.next = std::max(r.next, oldest); r.next < gpu.events_written;) {
    const emulator::EventState& event = gpu.events[r.next++ % emulator::kEventsKept];
    if ((event.type & r.types) == 0) continue;
    data = {emulator::to_opaque<Device>(emulator::gpu_handle(r.gpu)), event.type, event.data,
            event.gi, event.ci};
    return true;
  }
  return false;
}

Return take_event(EventSetHandle& set, const StateFile& state, EventData& data) {
  const std::scoped_lock lock(set.mutex);
  for (EventSetHandle::Registration& r : set.registrations) {
    const GpuState gpu = state.gpu(r.gpu);
    if (next_event(r, gpu, data)) return kSuccess;
    if (gpu.lost != 0 && !r.lost_reported) {
      r.lost_reported = true;
      return kGpuIsLost;
    }
  }
  return kTimeout;
}

Return wait(EventSet handle, void* to, std::size_t bytes, unsigned timeout_ms) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  return emulator::on_node("nvmlEventSetWait", [&](StateFile& state) {
    const auto set = find(handle);
    if (set == nullptr || to == nullptr) return kInvalidArgument;
    const std::int64_t end = emulator::boot_time_ns() + std::int64_t{timeout_ms} * kMillisecond;
    while (true) {
      const std::uint32_t seen = state.event_count();
      EventData data{};
      const Return result = take_event(*set, state, data);
      if (result == kSuccess) std::memcpy(to, &data, bytes);
      if (result != kTimeout) return result;
      const std::int64_t left = end - emulator::boot_time_ns();
      if (left <= 0) return kTimeout;
      state.wait_for_event(seen, left);
    }
  });
}

}  // namespace

extern "C" {

Return nvmlEventSetCreate(EventSet* set) {
  return emulator::on_node("nvmlEventSetCreate", [&](StateFile&) {
    if (set == nullptr) return kInvalidArgument;
    const std::scoped_lock lock(event_sets().mutex);
    *set = event_sets().all.emplace_back(std::make_shared<EventSetHandle>()).get();
    return kSuccess;
  });
}

Return nvmlEventSetFree(EventSet set) {
  return emulator::on_node("nvmlEventSetFree", [&](StateFile&) {
    const std::scoped_lock lock(event_sets().mutex);
    const auto removed =
        std::erase_if(event_sets().all, [&](const auto& s) { return s.get() == set; });
    return removed == 0 ? kInvalidArgument : kSuccess;
  });
}

Return nvmlDeviceGetSupportedEventTypes(Device device, unsigned long long* types) {
  return emulator::on_gpu("nvmlDeviceGetSupportedEventTypes", emulator::Rights::kNothing, device,
                          [&](Target&) { return emulator::write_result(types, kSupported); });
}

Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet handle) {
  return emulator::on_gpu(
      "nvmlDeviceRegisterEvents", emulator::Rights::kNothing, device, [&](Target& t) {
        const auto set = find(handle);
        if (set == nullptr) return kInvalidArgument;
        if ((types & ~kSupported) != 0) return kNotSupported;
        const std::scoped_lock lock(set->mutex);
        set->registrations.push_back({t.index, types, t.gpu.events_written, false});
        return kSuccess;
      });
}

Return nvmlEventSetWait_v2(EventSet set, EventData* data, unsigned timeout_ms) {
  return wait(set, data, sizeof(EventData), timeout_ms);
}
Return nvmlEventSetWait(EventSet set, EventData* data, unsigned timeout_ms) {
  return wait(set, data, kOldEventDataBytes, timeout_ms);
}
}

}  // namespace tangram::nvml
