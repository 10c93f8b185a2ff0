// A Google Benchmark reporter that also prints how pairs of benchmarks of the same run compare: the
// time of each without the loop around it, and the ratio. Ratios are printed between figures of one
// run on one machine only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace tangram::bench {

// Compares benchmarks `tables` and `naive` as "FragCost", after subtracting `loop` and
// `naive_loop`.
struct Pair {
  std::string title;
  std::string tables;
  std::string naive;
};

class ComparingReporter : public benchmark::ConsoleReporter {
 public:
  ComparingReporter(std::string loop, std::string naive_loop, std::vector<Pair> pairs);

  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  [[nodiscard]] double net(const std::string& name, const std::string& loop) const;

  std::string loop_;
  std::string naive_loop_;
  std::vector<Pair> pairs_;
  std::map<std::string, double> nanoseconds_;  // lowest of the repetitions, by benchmark
};

}  // namespace tangram::bench
