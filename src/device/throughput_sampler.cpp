// See throughput_sampler.hpp.
#include "device/throughput_sampler.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "device/activity.hpp"
#include "device/retry_policy.hpp"

namespace tangram::device {

// Shared by the sampling thread and the readers of last().
struct ThroughputSampler::Readings {
  std::shared_ptr<const Library> library;
  std::vector<std::string> gpu_uuids;  // used by the thread only
  std::chrono::milliseconds interval{0};

  std::mutex mutex;
  std::map<std::string, ThroughputSample> last;
  std::mutex callback_mutex;
  OnSample on_sample;

  void run(const std::stop_token& stop);
  // Returns whether to read this GPU again.
  bool read(const std::string& gpu_uuid);
};

bool ThroughputSampler::Readings::read(const std::string& gpu_uuid) {
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
  const std::scoped_lock lock(callback_mutex);
  if (on_sample) on_sample(gpu_uuid, sample);
  return true;
}

void ThroughputSampler::Readings::run(const std::stop_token& stop) {
  do {
    std::erase_if(gpu_uuids, [&](const std::string& gpu_uuid) {
      return !stop.stop_requested() && !read(gpu_uuid);
    });
  } while (pause(interval, stop));
}

ThroughputSampler::ThroughputSampler(std::shared_ptr<const Library> library,
                                     const std::vector<Gpu>& gpus,
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

std::optional<ThroughputSample> ThroughputSampler::last(const std::string& gpu_uuid) const {
  const std::scoped_lock lock(readings_->mutex);
  const auto found = readings_->last.find(gpu_uuid);
  return found == readings_->last.end() ? std::nullopt : std::optional(found->second);
}

void ThroughputSampler::stop() {
  thread_.stop();
  const std::scoped_lock lock(readings_->callback_mutex);
  readings_->on_sample = nullptr;  // in case the thread was detached
}

}  // namespace tangram::device
