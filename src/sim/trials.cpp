// See trials.hpp.
#include "sim/trials.hpp"

#include <algorithm>
#include <optional>
#include <thread>

namespace tangram::sim {

unsigned threads_for(unsigned requested, std::size_t trials) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const auto useful = static_cast<unsigned>(std::clamp<std::size_t>(trials, 1, 1024));
  return std::min(requested == 0 ? cores : requested, useful);
}

Result<void> run_trials(std::span<const Trial> trials, const TrialOptions& options,
                        const std::function<void(std::size_t, Summary&&)>& use) {
  std::vector<std::optional<Error>> errors(trials.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    Observer observer;
    observer.finished = options.finished;
    for (std::size_t i = next++; i < trials.size(); i = next++) {
      auto summary = simulate(trials[i].setting, trials[i].workload(), observer);
      if (summary) {
        use(i, std::move(*summary));
      } else {
        errors[i] = summary.error();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const unsigned count = threads_for(options.threads, trials.size());
    for (unsigned t = 1; t < count; ++t) threads.emplace_back(work);
    work();
  }
  for (const auto& error : errors) {
    if (error) return std::unexpected(*error);
  }
  return {};
}

Result<std::vector<Summary>> run_trials(std::span<const Trial> trials,
                                        const TrialOptions& options) {
  std::vector<Summary> summaries(trials.size());
  const auto done = run_trials(trials, options, [&](std::size_t i, Summary&& summary) {
    summaries[i] = std::move(summary);
  });
  if (!done) return std::unexpected(done.error());
  return summaries;
}

}  // namespace tangram::sim
