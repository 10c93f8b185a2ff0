// The simulator against queueing theory. Jobs of 1g.5gb only, on A100s whose every change takes no
// time, with Poisson arrivals and exponential durations, are M/M/c with 7 servers a GPU, first come
// first served: the mean wait is Erlang C's. Migration must not change it, since a move takes no
// time either. Twenty independent runs give the confidence interval; each begins empty, and the
// first 2,000 tasks (six times the relaxation time of 340 arrivals at load 0.9, more at the other
// loads) are left out, so that the start's bias is below 1 % of what is left.
//
// The interval of 99 % is wide, and all cases share their draws; so every single wait is also held
// to a reference queue of a few lines. If only the interval fails, it is due to the draws.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ostream>
#include <queue>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sim/worlds.hpp"

namespace tangram::sim {
namespace {

using testing::no_latencies;
using testing::node_of;

constexpr int kSeeds = 20;
constexpr double kStudent99 = 2.861;  // two-sided 99 %, 19 degrees of freedom
constexpr std::uint64_t kLeftOut = 2000;
constexpr std::uint64_t kTasks = 8000;
constexpr double kService = 100;  // s in the mean

// Mean wait in M/M/c: the chance to wait (Erlang C, from the recursion of Erlang B) over the spare
// rate.
double erlang_c_wait(int servers, double load) {
  const double offered = servers * load;
  double blocked = 1;
  for (int n = 1; n <= servers; ++n) blocked = offered * blocked / (n + offered * blocked);
  const double waits = blocked / (1 - load * (1 - blocked));
  return waits * kService / (servers * (1 - load));
}

struct Queue {
  std::uint32_t gpus;
  double load;
  const char* migration;
};

void PrintTo(const Queue& queue, std::ostream* out) {
  *out << 7 * queue.gpus << " servers at " << queue.load << ", migration " << queue.migration;
}

std::string name_of(const ::testing::TestParamInfo<Queue>& info) {
  return std::to_string(info.param.gpus * 7) + "ServersAt" +
         std::to_string(std::lround(info.param.load * 100)) + "WithMigration" +
         (std::string(info.param.migration) == "off" ? "Off" : "Both");
}

Synthetic tasks_for(const Queue& queue) {
  Synthetic synthetic{.mix = {{"1g.5gb", 1}}, .tasks = kTasks};
  synthetic.mean_duration_s = kService;
  synthetic.mean_arrival_s = kService / (7 * queue.gpus * queue.load);
  return synthetic;
}

// The waits of the same tasks at so many servers: each takes the server that is free first.
std::vector<double> reference_waits(const Queue& queue, std::uint64_t seed) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (std::uint32_t i = 0; i < 7 * queue.gpus; ++i) free_at.push(0);
  std::vector<double> waits;
  const Workload workload = generate(tasks_for(queue), seed);
  Task task;
  while (workload.next(task)) {
    const double start = std::max(free_at.top(), task.arrival_s);
    free_at.pop();
    free_at.push(start + task.duration_s);
    waits.push_back(start - task.arrival_s);
  }
  return waits;
}

double mean_wait(const Queue& queue, std::uint64_t seed) {
  Setting setting = node_of(queue.gpus);
  setting.knobs = no_latencies();
  setting.tuning.migration = queue.migration;
  setting.tuning.restraint = no_restraint();
  const std::vector<double> reference = reference_waits(queue, seed);
  double sum = 0;
  double furthest = 0;  // a span is rounded up to a microsecond; a busy period adds that up
  Observer observer;
  observer.job = [&](const JobRow& row) {
    const double wait = row.placed_s - row.arrival_s;
    furthest = std::max(furthest, std::abs(wait - reference[row.id - 1]));
    if (row.id > kLeftOut) sum += wait;
  };
  const auto summary = simulate(setting, generate(tasks_for(queue), seed), observer);
  EXPECT_EQ(summary->makespan.count(), kTasks);
  EXPECT_LT(furthest, 0.01) << "seed " << seed;
  EXPECT_EQ(summary->moves_done > 0, std::string(queue.migration) != "off") << "seed " << seed;
  return sum / static_cast<double>(kTasks - kLeftOut);
}

class ErlangC : public ::testing::TestWithParam<Queue> {};

TEST_P(ErlangC, IsTheMeanWait) {
  double sum = 0;
  double squares = 0;
  for (int run = 0; run < kSeeds; ++run) {
    const double wait = mean_wait(GetParam(), 1 + static_cast<std::uint64_t>(run));
    sum += wait;
    squares += wait * wait;
  }
  const double mean = sum / kSeeds;
  const double variance = (squares - sum * mean) / (kSeeds - 1);
  const double half_width = kStudent99 * std::sqrt(variance / kSeeds);
  const double theory = erlang_c_wait(static_cast<int>(7 * GetParam().gpus), GetParam().load);
  RecordProperty("theory_s", std::to_string(theory));
  RecordProperty("simulated_s", std::to_string(mean));
  RecordProperty("half_width_s", std::to_string(half_width));
  EXPECT_NEAR(mean, theory, half_width);
}

INSTANTIATE_TEST_SUITE_P(Queues, ErlangC,
                         ::testing::Values(Queue{1, 0.5, "off"}, Queue{1, 0.8, "off"},
                                           Queue{1, 0.9, "off"}, Queue{3, 0.5, "off"},
                                           Queue{3, 0.8, "off"}, Queue{3, 0.9, "off"},
                                           Queue{1, 0.5, "both"}, Queue{1, 0.8, "both"},
                                           Queue{1, 0.9, "both"}, Queue{3, 0.5, "both"},
                                           Queue{3, 0.8, "both"}, Queue{3, 0.9, "both"}),
                         name_of);

// A hand-made check of the formula itself: c = 1 is ρ/(1 − ρ) services; c = 2 is ρ²/(1 − ρ²).
TEST(ErlangCFormula, IsRightForOneAndTwoServers) {
  EXPECT_NEAR(erlang_c_wait(1, 0.8), 4 * kService, 1e-9);
  EXPECT_NEAR(erlang_c_wait(2, 0.5), 0.25 / 0.75 * kService, 1e-9);
}

}  // namespace
}  // namespace tangram::sim
