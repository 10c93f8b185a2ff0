// NodeMetrics: gauges of the node's current state. They are built for every request, so a GPU or
// instance that is gone leaves no stale series. Used on the loop only.
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace tangram::daemon {

class Endpoints;
class Engine;
class Hardware;
class Views;

class NodeMetrics {
 public:
  NodeMetrics(const Engine& engine, const Hardware& hardware, const Endpoints& endpoints,
              const Views& views)
      : engine_(engine), hardware_(hardware), endpoints_(endpoints), views_(views) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> collect() const;

 private:
  void add_jobs(std::vector<prometheus::MetricFamily>& to) const;
  void add_queue(std::vector<prometheus::MetricFamily>& to) const;
  void add_gpus(std::vector<prometheus::MetricFamily>& to) const;
  void add_instances(std::vector<prometheus::MetricFamily>& to) const;
  void add_endpoints(std::vector<prometheus::MetricFamily>& to) const;
  void add_driver(std::vector<prometheus::MetricFamily>& to) const;
  static void add_process(std::vector<prometheus::MetricFamily>& to);

  const Engine& engine_;
  const Hardware& hardware_;
  const Endpoints& endpoints_;
  const Views& views_;
};

}  // namespace tangram::daemon
