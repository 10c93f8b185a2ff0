// The cost of a call of the emulated libnvidia-ml.so.1, without its latencies: it must be small
// against a client's own time. The library is opened at run time, as by every client. The GPU that
// is read has seven instances, the maximum.
#include <cstdio>
#include <map>
#include <string>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "tests/emulator/node.hpp"

namespace tangram::bench {
namespace {

using nvml::kSuccess;

constexpr double kGoalMicroseconds = 5;

void mig_mode(benchmark::State& state) {
  const nvml::Device gpu = tests::gpu(0);
  unsigned current = 0;
  unsigned pending = 0;
  for (auto _ : state) CHECK(NVML(nvmlDeviceGetMigMode)(gpu, &current, &pending) == kSuccess);
}

void gpu_instances(benchmark::State& state) {
  const nvml::Device gpu = tests::gpu(0);
  const unsigned profile = tests::profile_id(gpu, "1g.5gb");
  nvml::GpuInstance all[8];
  unsigned count = 0;
  for (auto _ : state) {
    CHECK(NVML(nvmlDeviceGetGpuInstances)(gpu, profile, all, &count) == kSuccess);
  }
  CHECK(count == 7);
}

void mig_device_by_index(benchmark::State& state) {
  const nvml::Device gpu = tests::gpu(0);
  nvml::Device mig = nullptr;
  for (auto _ : state) CHECK(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, 6, &mig) == kSuccess);
}

void uuid(benchmark::State& state) {
  nvml::Device mig = nullptr;
  CHECK(NVML(nvmlDeviceGetMigDeviceHandleByIndex)(tests::gpu(0), 6, &mig) == kSuccess);
  char text[nvml::kUuidBuffer];
  for (auto _ : state) CHECK(NVML(nvmlDeviceGetUUID)(mig, text, sizeof text) == kSuccess);
}

// Creates and destroys a GPU instance and its compute instance: four calls.
void create_and_destroy(benchmark::State& state) {
  const nvml::Device gpu = tests::gpu(1);
  const unsigned profile = tests::profile_id(gpu, "3g.20gb");
  const nvml::Placement place{4, 4};
  for (auto _ : state) {
    nvml::GpuInstance gi = nullptr;
    nvml::ComputeInstance ci = nullptr;
    CHECK(NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu, profile, &place, &gi) == kSuccess);
    CHECK(NVML(nvmlGpuInstanceCreateComputeInstance)(gi, 2, &ci) == kSuccess);
    CHECK(NVML(nvmlComputeInstanceDestroy)(ci) == kSuccess);
    CHECK(NVML(nvmlGpuInstanceDestroy)(gi) == kSuccess);
  }
}

BENCHMARK(mig_mode);
BENCHMARK(gpu_instances);
BENCHMARK(mig_device_by_index);
BENCHMARK(uuid);
BENCHMARK(create_and_destroy);

class GoalReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (!run.error_occurred) {
        microseconds_[run.run_name.function_name] = run.GetAdjustedRealTime() / 1000;
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  void Finalize() override {
    std::printf("\nmicroseconds per call (goal: at most %.0f)\n", kGoalMicroseconds);
    for (const auto& [name, time] : microseconds_) {
      const double per_call = name == "create_and_destroy" ? time / 4 : time;
      std::printf("%-20s %6.2f%s\n", name.c_str(), per_call,
                  per_call > kGoalMicroseconds ? "  MISSED" : "");
    }
  }

 private:
  std::map<std::string, double> microseconds_;
};

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const tangram::tests::Node node("2xA100-40GB");
  for (int start = 0; start < 7; ++start) {
    const auto made =
        tangram::tests::create(tangram::tests::gpu(0), tangram::cat("1g.5gb@", start));
    CHECK(made.mig != nullptr);
  }
  tangram::bench::GoalReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}
