// A Google Benchmark reporter that also remembers, to print at the end how one thing compares with
// another of the same run: what is left of each after the cost of the loop around it, and the
// ratio. One rule: a ratio is only printed between figures of one run on one machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace tangram::bench {

// "FragCost" over benchmarks `tables` and `naive`, from which `loop` and `naive_loop` are taken
// off.
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
