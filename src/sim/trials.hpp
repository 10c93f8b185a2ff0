// Trials: many independent simulations on all cores. Each writes its own result, so that results do
// not depend on the number of threads. Threads share only the number of the next trial and the
// progress counter.
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
  std::atomic<std::uint64_t>* finished = nullptr;  // counts finished tasks
};

// Returns the summaries in the order of the trials, or the error of the first trial that has one.
[[nodiscard]] Result<std::vector<Summary>> run_trials(std::span<const Trial> trials,
                                                      const TrialOptions& options = {});

// Like run_trials() above, but passes each summary with its trial's number to `use`, on the thread
// that ran it.
[[nodiscard]] Result<void> run_trials(std::span<const Trial> trials, const TrialOptions& options,
                                      const std::function<void(std::size_t, Summary&&)>& use);

[[nodiscard]] unsigned threads_for(unsigned requested, std::size_t trials);

}  // namespace tangram::sim
