// See counters.hpp.
#include "device/counters.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "device/activity.hpp"
#include "device/patience.hpp"

namespace tangram::device {

// What the thread owns together with whoever asks for the last value.
struct Counters::Readings {
  std::shared_ptr<const Library> library;
  std::vector<std::string> gpu_uuids;  // of the thread alone
  std::chrono::milliseconds interval{0};

  std::mutex mutex;
  std::map<std::string, ThroughputSample> last;
  std::mutex telling;
  OnSample on_sample;

  void run(const std::stop_token& stop);
  // Whether to ask this GPU again.
  bool read(const std::string& gpu_uuid);
};

bool Counters::Readings::read(const std::string& gpu_uuid) {
  const Outcome<PcieThroughput> throughput = pcie_throughput(*library, gpu_uuid);
  if (!throughput) {
    return throughput.error().kind != Failure::Kind::kLost &&
           throughput.error().kind != Failure::Kind::kUnsupported;
  }
  const ThroughputSample sample{.throughput = *throughput, .at = std::chrono::steady_clock::now()};
  {
    const std::scoped_lock lock(mutex);
    last[gpu_uuid] = sample;
  }
  const std::scoped_lock lock(telling);
  if (on_sample) on_sample(gpu_uuid, sample);
  return true;
}

void Counters::Readings::run(const std::stop_token& stop) {
  do {
    std::erase_if(gpu_uuids, [&](const std::string& gpu_uuid) {
      return !stop.stop_requested() && !read(gpu_uuid);
    });
  } while (pause(interval, stop));
}

Counters::Counters(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus,
                   std::chrono::milliseconds interval, OnSample on_sample)
    : readings_([&] {
        auto readings = std::make_shared<Readings>();
        readings->library = std::move(library);
        readings->interval = interval;
        readings->on_sample = std::move(on_sample);
        for (const Gpu& gpu : gpus) {
          if (gpu.health == Health::kOk) readings->gpu_uuids.push_back(gpu.uuid);
        }
        return readings;
      }()),
      thread_([readings = readings_](const std::stop_token& stop) { readings->run(stop); }) {}

std::optional<ThroughputSample> Counters::last(const std::string& gpu_uuid) const {
  const std::scoped_lock lock(readings_->mutex);
  const auto found = readings_->last.find(gpu_uuid);
  return found == readings_->last.end() ? std::nullopt : std::optional(found->second);
}

void Counters::stop() {
  thread_.stop();
  const std::scoped_lock lock(readings_->telling);
  readings_->on_sample = nullptr;  // in case the thread was left behind
}

}  // namespace tangram::device
