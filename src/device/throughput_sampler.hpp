// ThroughputSampler: reads the PCIe throughput of every GPU periodically, on its own thread,
// because the driver blocks for 20 ms per reading. Samples carry the time they were read at; the
// reader decides whether one is too old.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/detachable_thread.hpp"
#include "device/device.hpp"
#include "device/library.hpp"

namespace tangram::device {

struct ThroughputSample {
  PcieThroughput throughput;
  std::chrono::steady_clock::time_point at;
};

class ThroughputSampler {
 public:
  using OnSample = std::function<void(const std::string& gpu_uuid, const ThroughputSample&)>;

  // `on_sample` may be empty; it is called on the sampling thread. A GPU that is lost or has no
  // such counter is not read again.
  ThroughputSampler(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus,
                    std::chrono::milliseconds interval, OnSample on_sample);
  ~ThroughputSampler() { stop(); }
  ThroughputSampler(const ThroughputSampler&) = delete;
  ThroughputSampler& operator=(const ThroughputSampler&) = delete;
  ThroughputSampler(ThroughputSampler&&) = delete;
  ThroughputSampler& operator=(ThroughputSampler&&) = delete;

  [[nodiscard]] std::optional<ThroughputSample> last(const std::string& gpu_uuid) const;
  // No callback after its return. Must not be called from the callback.
  void stop();

 private:
  struct Readings;
  std::shared_ptr<Readings> readings_;
  DetachableThread thread_;
};

}  // namespace tangram::device
