// The queue policies side by side, in virtual time: the paper's four workloads on its node, and a
// mixed node of A100 and H100 GPUs, with time limits of 1.5 and 4 times the run time. Prints a
// table for docs/benchmarks.md: `queues [SEEDS]`. Tasks run as if alone, so that the limits hold.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "mig/catalog.hpp"
#include "sim/hardware.hpp"
#include "sim/offered.hpp"
#include "sim/trials.hpp"

namespace {

using namespace tangram;

constexpr const char* kQueues[] = {"fcfs", "fcfs-pools", "backfill"};
constexpr double kFactors[] = {1.5, 4};
constexpr double kLoad = 0.95;  // so that tasks wait

sim::GpuSetting gpus(const char* model, std::uint32_t count) {
  return {std::shared_ptr<const mig::Model>(std::shared_ptr<void>(), *mig::find_model(model)),
          count,
          {}};
}

struct Case {
  std::string name;
  std::vector<sim::GpuSetting> gpus;
  std::function<Result<std::function<sim::Workload(std::uint64_t)>>(const sim::Setting&)> workload;
};

Case paper_case(const std::string& name) {
  return {name, {gpus("A100-40GB", 4)}, [name](const sim::Setting& setting) {
            using Made = std::function<sim::Workload(std::uint64_t)>;
            auto paper = sim::paper_workload(name);
            if (!paper) return Result<Made>(std::unexpected(paper.error()));
            const auto queries = sim::queries_for_load(*paper, setting, kLoad);
            if (!queries) return Result<Made>(std::unexpected(queries.error()));
            paper->queries_per_task = *queries;
            return Result<Made>(
                [paper = *paper](std::uint64_t seed) { return sim::generate(paper, seed); });
          }};
}

// Profiles of both models, and such as only one of them has.
Case mixed_case() {
  return {"mixed node", {gpus("A100-40GB", 2), gpus("H100-80GB", 2)}, [](const sim::Setting&) {
            using Made = std::function<sim::Workload(std::uint64_t)>;
            sim::Synthetic synthetic;
            synthetic.mix = *sim::parse_mix(
                "1g.5gb:4,2g.10gb:3,3g.20gb:2,7g.40gb:1,1g.10gb:4,2g.20gb:3,3g.40gb:2,7g.80gb:1");
            synthetic.tasks = 200;
            synthetic.mean_duration_s = 300;
            synthetic.mean_arrival_s = 34;
            return Result<Made>(
                [synthetic](std::uint64_t seed) { return sim::generate(synthetic, seed); });
          }};
}

struct Mean {
  double wait = 0;
  double p99 = 0;
  double longest = 0;
  double used = 0;
  void add(const sim::Summary& s) {
    wait += s.wait.mean();
    p99 += s.wait.quantile(0.99);
    longest += s.wait.largest();
    used += s.compute_used;
  }
};

sim::Setting setting_of(const Case& of, const char* queue, double factor) {
  sim::Setting setting;
  setting.gpus = of.gpus;
  setting.tuning.queue = queue;
  setting.knobs = sim::knobs_for(*of.gpus.front().model);
  setting.knobs.contention = 0;
  setting.limit_factor = factor;
  return setting;
}

Result<void> run(const Case& of, double factor, std::uint64_t seeds) {
  for (const char* queue : kQueues) {
    const sim::Setting setting = setting_of(of, queue, factor);
    const auto workload = of.workload(setting);
    if (!workload) return std::unexpected(workload.error());
    std::vector<sim::Trial> trials;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      trials.push_back({setting, [&, seed] { return (*workload)(seed); }});
    }
    const auto summaries = sim::run_trials(trials);
    if (!summaries) return std::unexpected(summaries.error());
    Mean mean;
    for (const sim::Summary& each : *summaries) mean.add(each);
    const auto n = static_cast<double>(seeds);
    fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} % |\n", of.name, factor, queue,
               mean.wait / n, mean.p99 / n, mean.longest / n, 100 * mean.used / n);
    std::fflush(stdout);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seeds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  if (seeds == 0) {
    std::fputs("usage: queues [SEEDS]\n", stderr);
    return 2;
  }
  std::vector<Case> cases;
  for (const std::string& name : sim::paper_workload_names()) cases.push_back(paper_case(name));
  cases.push_back(mixed_case());
  fmt::print("| workload | limit | queue | mean wait s | p99 s | longest s | used |\n");
  fmt::print("|---|---|---|---|---|---|---|\n");
  for (const Case& each : cases) {
    for (const double factor : kFactors) {
      if (const auto done = run(each, factor, seeds); !done) {
        fmt::print(stderr, "queues: {}\n", done.error().message);
        return 1;
      }
    }
  }
}
