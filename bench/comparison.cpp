// See comparison.hpp.
#include "bench/comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace tangram::bench {

ComparingReporter::ComparingReporter(std::string loop, std::string naive_loop,
                                     std::vector<Pair> pairs)
    : loop_(std::move(loop)), naive_loop_(std::move(naive_loop)), pairs_(std::move(pairs)) {}

void ComparingReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    const double each = run.cpu_accumulated_time * 1e9 / static_cast<double>(run.iterations);
    const auto [known, fresh] = nanoseconds_.try_emplace(run.run_name.function_name, each);
    if (!fresh) known->second = std::min(known->second, each);
  }
  benchmark::ConsoleReporter::ReportRuns(runs);
}

double ComparingReporter::net(const std::string& name, const std::string& loop) const {
  return std::max(0.0, nanoseconds_.at(name) - nanoseconds_.at(loop));
}

void ComparingReporter::Finalize() {
  benchmark::ConsoleReporter::Finalize();
  std::printf("\nWithout the loop around it, the lowest of the repetitions:\n");
  for (const Pair& pair : pairs_) {
    // A filter on the command line may have left some out.
    if (!nanoseconds_.contains(loop_) || !nanoseconds_.contains(naive_loop_) ||
        !nanoseconds_.contains(pair.tables) || !nanoseconds_.contains(pair.naive)) {
      continue;
    }
    const double tables = net(pair.tables, loop_);
    const double naive = net(pair.naive, naive_loop_);
    std::printf("%s: %.2f ns, naive %.0f ns, ratio %.0f\n", pair.title.c_str(), tables, naive,
                naive / std::max(tables, 0.01));
  }
}

}  // namespace tangram::bench
