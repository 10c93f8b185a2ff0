// The cost of simulating: jobs per second on one core, from 100 to 100,000 A100s, with contention
// off and on, under the full method with its default restraint; and the memory of a live job. Every
// node is filled to its steady state first, and only what follows is counted. The workload is the
// synthetic default of `tangram sim run`, at a load that does not queue.
#include <chrono>
#include <cstdio>
#include <malloc.h>
#include <map>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "sim/simulate.hpp"

namespace tangram::bench {
namespace {

constexpr double kLoad = 0.5;  // of the compute slices; contention makes jobs stay longer
constexpr double kMeanSlices = 27.0 / 12;
constexpr double kDuration = 300;
constexpr std::uint64_t kCounted = 400'000;

sim::Setting node_of(std::uint32_t gpus, bool contention) {
  static const auto model = std::make_shared<const mig::Model>(**mig::find_model("A100-40GB"));
  sim::Setting setting;
  setting.gpus = {{.model = model, .count = gpus, .layout = {}}};
  setting.knobs.contention = contention ? 1 : 0;
  return setting;
}

// Jobs per second of real time after the first four mean durations.
void simulate(benchmark::State& state, std::uint32_t gpus, bool contention) {
  const sim::Setting setting = node_of(gpus, contention);
  sim::Synthetic synthetic;
  synthetic.mean_duration_s = kDuration;
  synthetic.mean_arrival_s = kDuration * kMeanSlices / (kLoad * 7 * gpus);
  const auto filling = static_cast<std::uint64_t>(4 * kDuration / synthetic.mean_arrival_s);
  synthetic.tasks = filling + kCounted;
  for (auto _ : state) {
    sim::Workload workload = sim::generate(synthetic, 1);
    std::uint64_t drawn = 0;
    std::chrono::steady_clock::time_point begin;
    const auto next = workload.next;
    workload.next = [&](sim::Task& task) {
      if (++drawn == filling) begin = std::chrono::steady_clock::now();
      // The emptying of the node at the end is not counted either.
      const bool more = next(task);
      if (!more) {
        const auto end = std::chrono::steady_clock::now();
        state.SetIterationTime(std::chrono::duration<double>(end - begin).count());
      }
      return more;
    };
    const auto summary = sim::simulate(setting, workload);
    if (!summary) {
      state.SkipWithError(summary.error().message.c_str());
      return;
    }
    state.counters["steps_per_job"] =
        static_cast<double>(summary->steps) / static_cast<double>(synthetic.tasks);
    state.counters["wait"] = summary->wait.mean();
  }
  state.counters["jobs"] = benchmark::Counter(static_cast<double>(kCounted),
                                              benchmark::Counter::kIsIterationInvariantRate);
}

// Bytes per job that waits or runs, when a hundred thousand do.
void memory(benchmark::State& state) {
  constexpr std::uint64_t kLive = 100'000;
  const sim::Setting setting = node_of(1000, true);
  sim::Synthetic synthetic;
  synthetic.tasks = kLive;
  synthetic.mean_arrival_s = 1e-6;
  double bytes = 0;
  for (auto _ : state) {
    sim::Observer observer;
    std::size_t before = 0;
    observer.sample_every_s = 0.01;
    observer.sample = [&](const sim::Sample& s) {
      if (before == 0) before = mallinfo2().uordblks;
      if (s.live < kLive * 9 / 10 || bytes > 0) return;
      bytes = static_cast<double>(mallinfo2().uordblks - before) / static_cast<double>(s.live);
    };
    const auto summary = sim::simulate(setting, sim::generate(synthetic, 1), observer);
    if (!summary) {
      state.SkipWithError(summary.error().message.c_str());
      return;
    }
  }
  state.counters["bytes_per_live_job"] = bytes;
}

class GoalReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) continue;
      for (const auto& [name, counter] : run.counters) {
        values_[run.run_name.function_name + "/" + name] = counter.value;
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  void Finalize() override {
    const auto jobs = [&](const char* what) { return values_[cat("simulate/", what, "/jobs")]; };
    std::printf("\n10,000 GPUs, contention off: %.0f jobs/s (goal: 500,000)\n", jobs("10000/off"));
    std::printf("10,000 GPUs, contention on:  %.0f jobs/s (goal: 100,000)\n", jobs("10000/on"));
    for (const char* contention : {"off", "on"}) {
      const double few = jobs(cat("100/", contention).c_str());
      const double many = jobs(cat("100000/", contention).c_str());
      std::printf("cost per job, 100,000 GPUs against 100, contention %s: %.2f (goal: at most 2)\n",
                  contention, many > 0 ? few / many : 0);
    }
    std::printf("memory of a live job: %.0f bytes (goal: at most 1,024)\n",
                values_["memory/bytes_per_live_job"]);
  }

 private:
  std::map<std::string, double> values_;
};

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  using namespace tangram::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const std::uint32_t gpus : {100U, 1000U, 10'000U, 100'000U}) {
    for (const bool contention : {false, true}) {
      benchmark::RegisterBenchmark(
          tangram::cat("simulate/", gpus, contention ? "/on" : "/off").c_str(),
          [=](benchmark::State& s) { simulate(s, gpus, contention); })
          ->UseManualTime()
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  benchmark::RegisterBenchmark("memory", memory)->Iterations(1);
  GoalReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}
