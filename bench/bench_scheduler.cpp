// The cost of a decision and of a step of the scheduler, from 4 to 1,000,000 GPUs (A100-40GB) at
// 30, 70 and 95 % load: an arrival decision, a next_move decision, the handling of a departure, and
// a whole step of a steady state (jobs leave and come, moves included, the driver answers at once).
// Indexed and plain, the plain one only where it is fast enough. Memory per GPU is printed at the
// end. GPUs are chosen at random, so that the caches are in a realistic state.
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "base/text.hpp"
#include "core/candidates.hpp"
#include "policies/migration.hpp"
#include "steady_node.hpp"

namespace tangram::bench {
namespace {

using properties::SteadyNode;

constexpr std::uint32_t kMaxForPlain = 10'000;

// One node at a time: a million GPUs are a few hundred megabytes.
SteadyNode& node_of(std::uint32_t gpus, unsigned load) {
  static std::unique_ptr<SteadyNode> node;
  static std::uint32_t node_gpus = 0;
  static unsigned node_load = 0;
  if (node == nullptr || node_gpus != gpus || node_load > load) {
    node.reset();
    node = std::make_unique<SteadyNode>(gpus);
    node_gpus = gpus;
  }
  if (node_load != load || node->scheduler().node().job_count() == 0) node->fill_to_load(load);
  node_load = load;
  return *node;
}

void arrival(benchmark::State& state, std::uint32_t gpus, unsigned load, const char* policy) {
  SteadyNode& steady = node_of(gpus, load);
  const core::Node& node = steady.scheduler().node();
  const core::PlacementPolicy& placement = **policies::find_placement(policy);
  // Only profiles that fit somewhere: the processor would learn to predict "nowhere".
  std::vector<core::ProfileName> fitting;
  for (std::uint16_t p = 0; p < node.name_count(); ++p) {
    const core::Request request{.profile = core::ProfileName(p)};
    if (core::choose(node, placement, request)) fitting.push_back(request.profile);
  }
  if (fitting.empty()) {
    state.SkipWithError("nothing fits");
    return;
  }
  std::size_t i = 0;
  for (auto _ : state) {
    const core::Request request{.profile = fitting[i % fitting.size()]};
    const auto slot = core::choose(node, placement, request);
    i += 1 + (slot ? slot->start & 1U : 0U);  // the next query waits for the result
    benchmark::DoNotOptimize(i);
  }
}

void next_move(benchmark::State& state, std::uint32_t gpus, unsigned load, const char* policy) {
  SteadyNode& steady = node_of(gpus, load);
  const core::Node& node = steady.scheduler().node();
  const core::MigrationPolicy& migration = **policies::find_migration(policy);
  std::vector<core::GpuId> gpu_ids;
  for (int i = 0; i < 4096; ++i) {
    gpu_ids.emplace_back(static_cast<std::uint32_t>(steady.random().below(gpus)));
  }
  std::size_t i = 0;
  for (auto _ : state) {
    const core::Answer answer = migration.next_move(node, gpu_ids[i % gpu_ids.size()]);
    i += 1 + (answer.move ? answer.move->to.start & 1U : 0U);
    benchmark::DoNotOptimize(i);
  }
}

// A job has left: its slices are freed, the queue is tried, a move is planned.
void departure(benchmark::State& state, std::uint32_t gpus, unsigned load) {
  SteadyNode& steady = node_of(gpus, load);
  for (auto _ : state) {
    const std::size_t which = steady.pick_leaving();
    const core::Event event = steady.departure(which);
    const auto begin = std::chrono::steady_clock::now();
    steady.driver().step(event);
    const auto end = std::chrono::steady_clock::now();
    state.SetIterationTime(std::chrono::duration<double>(end - begin).count());
    steady.left(which);
    steady.driver().deliver(core::WakeUp{});  // completes what is under way
    steady.fill_to_load(load);
  }
}

// All steps of one job leaving and others coming, with the moves in between.
void steps(benchmark::State& state, std::uint32_t gpus, unsigned load) {
  SteadyNode& steady = node_of(gpus, load);
  const std::size_t before = steady.driver().steps();
  for (auto _ : state) steady.cycle();
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(steady.driver().steps() - before) /
                         static_cast<double>(state.iterations()));
  state.counters["per_step"] =
      benchmark::Counter(static_cast<double>(steady.driver().steps() - before),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  const core::Node& node = steady.scheduler().node();
  state.counters["bytes_per_gpu"] = static_cast<double>(node.gpu_bytes()) / gpus;
}

// A job leaves a full node of four A100-40GB and four H100-80GB, the queue starts others, and as
// many are submitted: one queue policy beside the other. All have time limits.
void queue_cycle(benchmark::State& state, const char* queue, std::size_t waiting) {
  core::Tuning tuning;
  tuning.queue = queue;
  tuning.migration = "off";
  core::Scheduler scheduler(tuning, *policies::find_policies(tuning));
  properties::InstantDriver driver(scheduler);
  properties::Random random(7);
  for (const char* name : {"A100-40GB", "H100-80GB"}) {
    const std::shared_ptr<const mig::Model> model{std::shared_ptr<void>(), *mig::find_model(name)};
    for (int i = 0; i < 4; ++i) driver.deliver(core::GpuAdded{model, {}});
  }
  static constexpr std::array<const char*, 8> kProfiles{"1g.5gb",  "2g.10gb", "3g.20gb", "7g.40gb",
                                                        "1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"};
  std::uint64_t next = 1;
  const auto fill = [&] {
    while (scheduler.waiting_count() < waiting) {
      core::JobSpec spec;
      spec.id = core::JobId(next++);
      spec.profile = random.pick(kProfiles);
      spec.user = static_cast<std::uint32_t>(random.below(8));
      spec.time_limit = std::chrono::seconds(60 + random.below(3600));
      driver.deliver(core::JobSubmitted{spec});
    }
  };
  fill();
  std::vector<core::JobId> running;
  for (auto _ : state) {
    state.PauseTiming();
    running.clear();
    for (std::uint32_t g = 0; g < scheduler.node().gpu_count(); ++g) {
      for (const core::Entry& e : scheduler.node().entries(core::GpuId(g))) {
        if (e.job != core::kNoJob) running.push_back(scheduler.node().job(e.job).id);
      }
    }
    const core::JobId leaving = random.pick(running);
    driver.pass(std::chrono::seconds(20));
    const std::size_t before = driver.steps();
    state.ResumeTiming();
    driver.exit_job(leaving);
    fill();
    state.counters["steps"] += static_cast<double>(driver.steps() - before);
  }
  state.counters["per_step"] = benchmark::Counter(
      state.counters["steps"].value, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Prints, after the table, the goals: cost at a million GPUs against four, and plain against
// indexed.
class GoalReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) continue;
      const bool manual = run.run_name.time_type == "manual_time";
      ns_[run.run_name.function_name] =
          manual ? run.GetAdjustedRealTime() : run.GetAdjustedCPUTime();
      if (run.counters.contains("per_step")) {
        ns_[run.run_name.function_name + "/each"] = run.counters.at("per_step").value * 1e9;
        const bool million = run.run_name.function_name.find("/1000000/") != std::string::npos;
        if (million) bytes_ = std::max(bytes_, run.counters.at("bytes_per_gpu").value);
      }
    }
    ConsoleReporter::ReportRuns(runs);
  }
  void Finalize() override {
    std::printf("\n");
    for (const char* what : {"arrival/indexed", "next_move/indexed", "departure", "steps"}) {
      for (const unsigned load : {30U, 70U, 95U}) {
        const std::string each = std::string(what) == "steps" ? "/each" : "";
        const double few = ns_[cat(what, "/4/", load, each)];
        const double many = ns_[cat(what, "/1000000/", load, each)];
        std::printf("%s at %u %%: %.0f ns with 4 GPUs, %.0f ns with 1,000,000: ratio %.2f\n", what,
                    load, few, many, few > 0 ? many / few : 0);
      }
    }
    for (const char* what : {"arrival", "next_move"}) {
      const double fast = ns_[cat(what, "/indexed/", kMaxForPlain, "/30")];
      const double plain = ns_[cat(what, "/plain/", kMaxForPlain, "/30")];
      std::printf("%s, %u GPUs at 30 %%: plain %.0f ns, indexed %.0f ns\n", what, kMaxForPlain,
                  plain, fast);
    }
    std::printf("memory per GPU with a million: %.0f bytes (goal: at most 256)\n", bytes_);
  }

 private:
  std::map<std::string, double> ns_;
  double bytes_ = 0;
};

void add_all() {
  for (const std::size_t waiting : {std::size_t{1}, std::size_t{10}, std::size_t{100}}) {
    for (const char* queue : {"fcfs", "fcfs-pools", "backfill"}) {
      benchmark::RegisterBenchmark(cat("queue/", queue, "/", waiting).c_str(),
                                   [=](benchmark::State& s) { queue_cycle(s, queue, waiting); });
    }
  }
  const auto add = [](const std::string& name, auto fn) {
    return benchmark::RegisterBenchmark(name.c_str(), fn);
  };
  for (const std::uint32_t gpus : {4U, 64U, 1000U, 10'000U, 100'000U, 1'000'000U}) {
    for (const unsigned load : {30U, 70U, 95U}) {
      const std::string size = cat("/", gpus, "/", load);
      const auto with = [=](auto fn, const char* policy) {
        return [=](benchmark::State& s) { fn(s, gpus, load, policy); };
      };
      add("arrival/indexed" + size, with(arrival, "paper"));
      add("next_move/indexed" + size, with(next_move, "both"));
      if (gpus <= kMaxForPlain) {
        add("arrival/plain" + size, with(arrival, "paper-plain"));
        add("next_move/plain" + size, with(next_move, "both-plain"));
      }
      add("departure" + size, [=](benchmark::State& s) { departure(s, gpus, load); })
          ->UseManualTime()
          ->Iterations(20'000);
      add("steps" + size, [=](benchmark::State& s) { steps(s, gpus, load); })->Iterations(50'000);
    }
  }
}

}  // namespace
}  // namespace tangram::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  tangram::bench::add_all();
  tangram::bench::GoalReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}
