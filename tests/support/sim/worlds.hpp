// Helpers for the tests of the simulator: a node, knobs without latencies, and a run with
// everything that can be observed. A setting that simulate() rejects aborts the test with the
// message.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/simulate.hpp"
#include "tests/support/mig/models.hpp"

namespace tangram::sim::testing {

inline std::shared_ptr<const mig::Model> shared_model(std::string_view name) {
  return {std::shared_ptr<const mig::Model>(), &mig::testing::model(name)};  // of the catalog
}

inline Setting node_of(std::uint32_t gpus, std::string_view model = "A100-40GB") {
  Setting setting;
  setting.gpus.push_back({.model = shared_model(model), .count = gpus, .layout = {}});
  return setting;
}

inline Setting static_node(std::uint32_t gpus, std::initializer_list<std::string_view> layout) {
  Setting setting = node_of(gpus);
  setting.partitioning = core::Partitioning::kStatic;
  for (const std::string_view text : layout) {
    setting.gpus.front().layout.push_back(
        mig::testing::placement(*setting.gpus.front().model, text));
  }
  return setting;
}

// Nothing but the work takes time, and neighbours have no effect.
inline Knobs no_latencies() {
  Knobs knobs;
  knobs.create_s = 0;
  knobs.destroy_s = 0;
  knobs.in_use_s = 0;
  knobs.process_start_s = 0;
  knobs.stop_s = 0;
  knobs.contention = 0;
  return knobs;
}

struct SampleRow {
  double at_s = 0;
  double fragmentation = 0;
  double compute_used = 0;
  std::uint64_t waiting = 0;
  std::uint64_t live = 0;
  std::vector<std::uint32_t> desired;
  std::vector<std::uint32_t> actual;

  friend bool operator==(const SampleRow&, const SampleRow&) = default;
};

struct Seen {
  Workload workload;  // the rows name its profiles
  Summary summary;
  std::vector<JobRow> jobs;  // as they ended
  std::vector<SampleRow> samples;
  std::vector<MoveRow> moves;

  // By arrival; ids start at 1.
  [[nodiscard]] const JobRow& job(std::uint64_t id) const {
    for (const JobRow& row : jobs) {
      if (row.id == id) return row;
    }
    std::fprintf(stderr, "this test names a job that never ended: %llu\n",
                 static_cast<unsigned long long>(id));
    std::abort();
  }
};

inline Seen watch(const Setting& setting, Workload workload, double sample_every_s = 0) {
  Seen seen;
  seen.workload = std::move(workload);
  Observer observer;
  observer.job = [&](const JobRow& row) { seen.jobs.push_back(row); };
  observer.move = [&](const MoveRow& row) { seen.moves.push_back(row); };
  observer.sample = [&](const Sample& s) {
    seen.samples.push_back({s.at_s,
                            s.fragmentation,
                            s.compute_used,
                            s.waiting,
                            s.live,
                            {s.desired.begin(), s.desired.end()},
                            {s.actual.begin(), s.actual.end()}});
  };
  observer.sample_every_s = sample_every_s;
  seen.summary = mig::testing::or_stop(simulate(setting, seen.workload, observer));
  return seen;
}

}  // namespace tangram::sim::testing
