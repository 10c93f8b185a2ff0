// Counters: the PCIe throughput of every GPU, read again and again. It has a thread of its own
// because the driver measures for 20 ms at every reading. One rule: a value goes with the time it
// was read at; who uses it decides whether that is too long ago.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/background.hpp"
#include "device/device.hpp"
#include "device/library.hpp"

namespace tangram::device {

struct ThroughputSample {
  PcieThroughput throughput;
  std::chrono::steady_clock::time_point at;
};

class Counters {
 public:
  using OnSample = std::function<void(const std::string& gpu_uuid, const ThroughputSample&)>;

  // `on_sample` may be empty; it is called on the thread of the counters. A GPU that is lost or has
  // no such counter is not asked any more.
  Counters(std::shared_ptr<const Library> library, const std::vector<Gpu>& gpus,
           std::chrono::milliseconds interval, OnSample on_sample);
  ~Counters() { stop(); }
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  Counters(Counters&&) = delete;
  Counters& operator=(Counters&&) = delete;

  [[nodiscard]] std::optional<ThroughputSample> last(const std::string& gpu_uuid) const;
  // There is no sample afterwards. Not from the callback.
  void stop();

 private:
  struct Readings;
  std::shared_ptr<Readings> readings_;
  Background thread_;
};

}  // namespace tangram::device
