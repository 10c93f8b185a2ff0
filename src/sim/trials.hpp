// Trials: many independent simulations on all cores. Each trial is a simulation of its own and its
// outcome lands in its own place, so that the results do not depend on the number of threads. One
// rule: threads share nothing but the number of the next trial and the count for the progress bar.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "sim/simulate.hpp"

namespace tangram::sim {

struct Trial {
  Setting setting;
  std::function<Workload()> workload;
};

struct TrialOptions {
  unsigned threads = 0;                            // 0: one per core
  std::atomic<std::uint64_t>* finished = nullptr;  // counts tasks that are over
};

// In the order of the trials; the error is that of the first trial that has one.
[[nodiscard]] Result<std::vector<Summary>> run_trials(std::span<const Trial> trials,
                                                      const TrialOptions& options = {});

// The same without keeping the summaries: `use` gets each with the number of its trial, on the
// thread that ran it.
[[nodiscard]] Result<void> run_trials(std::span<const Trial> trials, const TrialOptions& options,
                                      const std::function<void(std::size_t, Summary&&)>& use);

[[nodiscard]] unsigned threads_for(unsigned asked, std::size_t trials);

}  // namespace tangram::sim
