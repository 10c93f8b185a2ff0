// Trials on threads: whatever their number, the same summaries in the order of the trials, and of
// several errors always that of the first trial.
#include "sim/trials.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "tests/support/sim/worlds.hpp"

namespace tangram::sim {
namespace {

using ::testing::HasSubstr;

constexpr unsigned kThreads[] = {1, 2, 5};

// The i-th has its own number of tasks, which identifies its summary.
std::vector<Trial> trials_of(int count) {
  std::vector<Trial> trials;
  for (int i = 0; i < count; ++i) {
    Trial trial;
    trial.setting = testing::node_of(2);
    trial.workload = [i] {
      Synthetic synthetic;
      synthetic.tasks = 40 + static_cast<std::uint64_t>(i);
      synthetic.mean_arrival_s = 30;
      return generate(synthetic, static_cast<std::uint64_t>(i) + 1);
    };
    trials.push_back(std::move(trial));
  }
  return trials;
}

std::vector<double> numbers_of(const Summary& s) {
  std::vector<double> numbers{s.end_s,   s.fragmentation,  s.compute_used,
                              s.waiting, s.work_submitted, s.work_done};
  for (const std::uint64_t n :
       {s.submitted, s.refused, s.intra_moves, s.inter_moves, s.moves_done, s.moves_ended_early,
        s.created, s.destroyed, s.starts, s.in_use_waits, s.max_live, s.steps}) {
    numbers.push_back(static_cast<double>(n));
  }
  for (const Distribution* d : {&s.wait, &s.execution, &s.makespan}) {
    for (const double n : {d->sum(), d->largest(), d->quantile(0.5), d->quantile(0.95)}) {
      numbers.push_back(n);
    }
  }
  return numbers;
}

TEST(Trials, ThreadsDoNotChangeTheSummaries) {
  const std::vector<Trial> trials = trials_of(12);
  std::vector<std::vector<double>> expected;
  for (const Trial& trial : trials) {
    const auto summary = simulate(trial.setting, trial.workload());
    ASSERT_TRUE(summary) << summary.error().message;
    expected.push_back(numbers_of(*summary));
  }
  for (const unsigned threads : kThreads) {
    std::atomic<std::uint64_t> finished = 0;
    const auto summaries = run_trials(trials, {.threads = threads, .finished = &finished});
    ASSERT_TRUE(summaries) << summaries.error().message;
    ASSERT_EQ(summaries->size(), trials.size());
    std::uint64_t tasks = 0;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      EXPECT_EQ((*summaries)[i].submitted, 40 + i) << threads << " threads";
      EXPECT_EQ(numbers_of((*summaries)[i]), expected[i]) << threads << " threads, trial " << i;
      tasks += 40 + i;
    }
    EXPECT_EQ(finished, tasks);
  }
}

TEST(Trials, EverySummaryIsUsedOnceWithItsNumber) {
  const std::vector<Trial> trials = trials_of(9);
  for (const unsigned threads : kThreads) {
    std::mutex mutex;
    std::vector<std::size_t> seen;
    const auto done =
        run_trials(trials, {.threads = threads}, [&](std::size_t i, const Summary& summary) {
          EXPECT_EQ(summary.submitted, 40 + i);
          const std::lock_guard lock(mutex);
          seen.push_back(i);
        });
    ASSERT_TRUE(done);
    std::ranges::sort(seen);
    EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  }
}

TEST(Trials, OfSeveralErrorsTheFirstTrialsIsGiven) {
  std::vector<Trial> trials = trials_of(8);
  for (const std::size_t bad : {3U, 4U, 7U}) {
    trials[bad].setting.tuning.placement = cat("wrong-", bad);
  }
  for (const unsigned threads : kThreads) {
    const auto summaries = run_trials(trials, {.threads = threads});
    ASSERT_FALSE(summaries);
    EXPECT_EQ(summaries.error().code, ErrorCode::kNotFound);
    EXPECT_THAT(summaries.error().message, HasSubstr("unknown placement policy 'wrong-3'"));
  }
}

TEST(Trials, NoTrialsAreNoError) {
  const auto summaries = run_trials(std::span<const Trial>(), TrialOptions{});
  ASSERT_TRUE(summaries);
  EXPECT_TRUE(summaries->empty());
}

TEST(Trials, NoMoreThreadsThanTrials) {
  EXPECT_EQ(threads_for(5, 3), 3U);
  EXPECT_EQ(threads_for(2, 3), 2U);
  EXPECT_EQ(threads_for(7, 0), 1U);
  EXPECT_EQ(threads_for(100'000, 100'000), 1024U);
  EXPECT_GE(threads_for(0, 1000), 1U);
}

}  // namespace
}  // namespace tangram::sim
