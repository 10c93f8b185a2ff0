// What the simulated world does, one thing at a time and to the microsecond: how long a task alone
// takes, when a move ends, what a static layout serves, how the changes of a GPU follow each other.
#include "sim/simulate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/contention.hpp"
#include "sim/llm.hpp"
#include "tests/support/sim/worlds.hpp"

namespace tangram::sim {
namespace {

using testing::node_of;
using testing::Seen;
using testing::static_node;
using testing::watch;

constexpr double kClose = 5e-6;  // every span is rounded up to a microsecond

Task timed(double arrival_s, std::uint8_t profile, double duration_s) {
  return {.arrival_s = arrival_s, .duration_s = duration_s, .profile = profile};
}

Task asking(std::uint8_t profile, std::int16_t model, std::uint16_t queries) {
  Task task{.prompt_tokens = 800, .response_tokens = 1000};
  task.queries = queries;
  task.model = model;
  task.profile = profile;
  return task;
}

// A pass of `task`, its prefill spread over the output tokens.
Stream stream_of(const Task& task, const char* profile, const Knobs& knobs) {
  const mig::Model& gpu = mig::testing::model("A100-40GB");
  const Pass pass = pass_of(language_models()[static_cast<std::size_t>(task.model)], gpu,
                            mig::testing::profile(gpu, profile), knobs);
  const double prefill = task.prompt_tokens * pass.prefill_s_per_token / task.response_tokens;
  return {pass.transfer_gb, pass.decode_s + prefill};
}

double load_of(const Task& task, const Knobs& knobs) {
  return language_models()[static_cast<std::size_t>(task.model)].parameters *
         knobs.bytes_per_weight / 1e9 / knobs.load_gbps;
}

std::uint64_t number(core::JobId id) { return id.value() >> 32U; }

std::vector<MoveRow> with_news(const Seen& seen, core::MoveNews news) {
  std::vector<MoveRow> rows;
  std::ranges::copy_if(seen.moves, std::back_inserter(rows),
                       [&](const MoveRow& row) { return row.report.news == news; });
  return rows;
}

TEST(Simulate, ATaskAloneTakesWhatItsPartsTake) {
  for (const char* profile : {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
    for (std::int16_t model = 0; model < 4; ++model) {
      for (const double bytes : {2.0, 4.0}) {
        Setting setting = node_of(1);
        setting.knobs.bytes_per_weight = bytes;
        Task task = asking(0, model, 3);
        task.arrival_s = 1.5;
        const auto seen = watch(setting, workload_of("one", {profile}, {task}));
        const Stream s = stream_of(task, profile, setting.knobs);
        const double pass = s.transfer_gb / 25.7 + s.compute_s;
        const double start = 0.15 + 2.0 + load_of(task, setting.knobs);
        const JobRow& row = seen.job(1);
        EXPECT_EQ(row.arrival_s, 1.5);
        EXPECT_EQ(row.placed_s, 1.5);
        EXPECT_NEAR(row.ready_s, 1.5 + start, kClose);
        EXPECT_NEAR(row.finished_s, 1.5 + start + 1000 * pass, kClose) << profile << ' ' << +model;
        const double prefill =
            pass - s.transfer_gb / 25.7 -
            stream_of({.response_tokens = 1, .model = model}, profile, setting.knobs).compute_s;
        EXPECT_NEAR(row.tpot_s, pass - prefill, 1e-8);
        EXPECT_NEAR(seen.summary.execution.mean(), row.finished_s - row.placed_s, 1e-9);
        EXPECT_EQ(row.model, language_models()[static_cast<std::size_t>(model)].name);
        EXPECT_EQ(row.profile, profile);
      }
    }
  }
}

TEST(Simulate, ATimedTaskAloneTakesItsTimeWhateverItTransfers) {
  for (const float share : {0.0F, 0.4F, 1.0F}) {
    for (const double flow : {25.7, 10.0}) {
      Setting setting = node_of(1);
      setting.knobs.flow_gbps = flow;
      Task task = timed(0, 0, 123.456);
      task.transfer_share = share;
      const auto seen = watch(setting, workload_of("one", {"2g.10gb"}, {task}));
      EXPECT_NEAR(seen.job(1).finished_s, 0.15 + 2 + 123.456, kClose);
      EXPECT_EQ(seen.job(1).tpot_s, 0);
    }
  }
}

// A 4g and a 3g on GPU 0 and a 4g on GPU 1; the last ends, and the 3g moves to GPU 1.
struct Moved {
  Seen seen;
  MoveRow begun;
  double ready_s = 0;  // of the replica, whose instance is created first
  Stream stream;       // of the mover
};
constexpr std::uint64_t kMover = 3;

Moved move_one(const Setting& setting, const Task& task, double short_s) {
  Moved moved;
  std::vector<Task> tasks{task, timed(0, 0, short_s), task};
  tasks.back().profile = 1;
  moved.seen = watch(setting, workload_of("three", {"4g.20gb", "3g.20gb"}, tasks));
  const auto begun = with_news(moved.seen, core::MoveNews::kBegun);
  EXPECT_FALSE(begun.empty());
  if (begun.empty()) return moved;
  moved.begun = begun.front();
  EXPECT_EQ(number(moved.begun.report.job), kMover);
  EXPECT_EQ(moved.begun.report.kind, core::MoveKind::kInter);
  EXPECT_EQ(moved.begun.report.from, core::GpuId(0));
  EXPECT_EQ(moved.begun.report.to, core::GpuId(1));
  EXPECT_EQ(moved.begun.at_s, moved.seen.job(2).finished_s);
  const double load = task.model < 0 ? 0 : load_of(task, setting.knobs);
  moved.ready_s = moved.begun.at_s + setting.knobs.create_s + setting.knobs.process_start_s + load;
  if (task.model >= 0) moved.stream = stream_of(task, "3g.20gb", setting.knobs);
  return moved;
}

Setting two_gpus() {
  Setting setting = node_of(2);
  setting.knobs.contention = 0;
  setting.tuning.restraint = no_restraint();
  return setting;
}

TEST(Simulate, TheRunningQueryEndsOnTheOriginal) {
  const Setting setting = two_gpus();
  const Moved moved = move_one(setting, asking(0, 1, 4), 60);
  const double query = 250 * (moved.stream.transfer_gb / 25.7 + moved.stream.compute_s);
  const JobRow& row = moved.seen.job(kMover);
  const double queries = std::floor((moved.ready_s - row.ready_s) / query) + 1;
  ASSERT_LT(queries, 4);
  const auto done = with_news(moved.seen, core::MoveNews::kDone);
  ASSERT_FALSE(done.empty());
  EXPECT_EQ(done.front().report.job, moved.begun.report.job);
  EXPECT_NEAR(done.front().at_s, row.ready_s + queries * query + setting.knobs.stop_s, kClose);
  EXPECT_GT(done.front().at_s, moved.ready_s + 1);  // it did have to wait for the query
  EXPECT_EQ(row.moves, 1U);
  EXPECT_EQ(row.gpu, 1U);
  EXPECT_NEAR(row.finished_s, row.ready_s + 4 * query, kClose);  // nothing was lost or done twice
}

TEST(Simulate, WithoutDrainingTheQueryMovesAtOnce) {
  Setting setting = two_gpus();
  setting.knobs.drain_query = 0;
  for (const std::uint16_t queries : std::initializer_list<std::uint16_t>{1, 4}) {
    const Moved moved = move_one(setting, asking(0, 1, queries), 60);
    const auto done = with_news(moved.seen, core::MoveNews::kDone);
    ASSERT_FALSE(done.empty());
    EXPECT_NEAR(done.front().at_s, moved.ready_s + setting.knobs.stop_s, kClose);
    EXPECT_EQ(moved.seen.job(kMover).gpu, 1U);
  }
}

TEST(Simulate, ATaskWithoutQueriesMovesAtOnceAndDrainsForItsTime) {
  Setting setting = two_gpus();
  setting.knobs.drain_s = 3;
  const Moved moved = move_one(setting, timed(0, 0, 500), 60);
  const auto done = with_news(moved.seen, core::MoveNews::kDone);
  ASSERT_FALSE(done.empty());
  EXPECT_NEAR(done.front().at_s, moved.ready_s + 3 + setting.knobs.stop_s, kClose);
  const JobRow& row = moved.seen.job(kMover);
  EXPECT_EQ(row.gpu, 1U);
  EXPECT_NEAR(row.finished_s, row.ready_s + 500, kClose);
}

// Queries take 290 s (the only one) or 145 s (the second begins before the replica is ready).
TEST(Simulate, TheLastQueryNeverMoves) {
  for (const std::uint16_t queries : std::initializer_list<std::uint16_t>{1, 2}) {
    const Setting setting = two_gpus();
    const Moved moved = move_one(setting, asking(0, 1, queries), queries == 1 ? 60 : 200);
    const double pass = moved.stream.transfer_gb / 25.7 + moved.stream.compute_s;
    EXPECT_EQ(moved.seen.summary.moves_done, 0U);
    EXPECT_GE(moved.seen.summary.moves_ended_early, 1U);
    EXPECT_EQ(with_news(moved.seen, core::MoveNews::kRolledBack).size(),
              moved.seen.summary.moves_ended_early);
    const JobRow& row = moved.seen.job(kMover);
    EXPECT_LT(moved.ready_s, row.ready_s + 1000 * pass);  // the replica was there in time
    EXPECT_EQ(row.moves, 0U);
    EXPECT_EQ(row.gpu, 0U);
    // The job ends with its work, although the replica must still stop.
    EXPECT_NEAR(row.finished_s, row.ready_s + 1000 * pass, kClose);
  }
}

// The same move with contention: both are slow while both are served by GPU 0, that is until the
// query has ended, and fast before and after.
TEST(Simulate, AMoveEndsTheContentionWhenTheQueryEnds) {
  Setting setting = two_gpus();
  setting.knobs.contention = 1;
  const Moved moved = move_one(setting, asking(0, 1, 4), 60);
  const Stream streams[] = {stream_of(asking(0, 1, 4), "4g.20gb", setting.knobs), moved.stream};
  double together[2] = {};
  double alone[2] = {};
  pass_times(streams, setting.knobs, together);
  for (std::size_t i = 0; i < 2; ++i) {
    pass_times(std::span(streams).subspan(i, 1), setting.knobs, std::span(alone).subspan(i, 1));
    ASSERT_GT(together[i], 1.4 * alone[i]);
  }
  const JobRow& stays = moved.seen.job(1);
  const JobRow& moves = moved.seen.job(kMover);
  const double both_from = moves.ready_s;  // the GPU creates the one after the other
  EXPECT_NEAR(both_from - stays.ready_s, setting.knobs.create_s, kClose);
  const double at_switch = (moved.ready_s - both_from) / together[1];
  const double at_goal = 250 * (std::floor(at_switch / 250) + 1);
  ASSERT_LT(at_goal, 1000);
  const double apart_from = both_from + at_goal * together[1];
  const double others =
      (both_from - stays.ready_s) / alone[0] + (apart_from - both_from) / together[0];
  EXPECT_NEAR(moves.finished_s, apart_from + (1000 - at_goal) * alone[1], 1e-5);
  EXPECT_NEAR(stays.finished_s, apart_from + (1000 - others) * alone[0], 1e-5);
}

TEST(Simulate, AStaticLayoutServesItsProfilesAndNothingChanges) {
  Setting setting = static_node(2, {"4g.20gb@0", "2g.10gb@4", "1g.5gb@6"});
  Synthetic synthetic{.tasks = 400, .mean_arrival_s = 20, .mean_duration_s = 30};
  synthetic.mix = {{"1g.5gb", 3}, {"2g.10gb", 3}, {"4g.20gb", 2}, {"3g.20gb", 2}, {"7g.40gb", 1}};
  std::uint64_t unknown = 0;
  Task task;
  const Workload counted = generate(synthetic, 3);
  while (counted.next(task)) unknown += task.profile >= 3 ? 1 : 0;
  ASSERT_GT(unknown, 50U);
  for (const char* placement : {"paper", "static-first-fit", "best-fit"}) {
    setting.tuning.placement = placement;
    const auto seen = watch(setting, generate(synthetic, 3));
    EXPECT_EQ(seen.summary.refused, unknown);
    EXPECT_EQ(seen.jobs.size(), 400 - unknown);
    for (const JobRow& row : seen.jobs) {
      EXPECT_TRUE(row.profile != "3g.20gb" && row.profile != "7g.40gb") << row.profile;
      // Nothing is created for it: only its process starts.
      EXPECT_NEAR(row.ready_s, row.placed_s + setting.knobs.process_start_s, kClose);
    }
    EXPECT_EQ(seen.summary.created, 0U);
    EXPECT_EQ(seen.summary.destroyed, 0U);
    for (const auto& sample : seen.samples) {
      if (sample.live == 0) continue;
      ASSERT_EQ(sample.actual, (std::vector<std::uint32_t>{2, 2, 2, 0, 0})) << sample.at_s;
    }
  }
}

// Samples begin when the node is complete.
TEST(Simulate, SamplesOfAStaticNodeAreShares) {
  const auto seen = watch(static_node(2, {"4g.20gb@0", "3g.20gb@4"}),
                          workload_of("one", {"4g.20gb"}, {timed(1, 0, 5)}));
  ASSERT_FALSE(seen.samples.empty());
  for (const auto& sample : seen.samples) {
    EXPECT_TRUE(sample.compute_used >= 0 && sample.compute_used <= 1) << sample.compute_used;
    EXPECT_TRUE(sample.fragmentation >= 0 && sample.fragmentation <= 1) << sample.fragmentation;
    EXPECT_EQ(sample.actual, std::vector<std::uint32_t>{2});
  }
}

// A policy that never creates an instance needs given ones.
TEST(Simulate, APolicyThatCreatesNothingNeedsAStaticLayout) {
  Setting setting = node_of(1);
  setting.tuning.placement = "static-first-fit";
  const auto result = simulate(setting, workload_of("one", {"1g.5gb"}, {timed(0, 0, 5)}));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, ::testing::HasSubstr("static-first-fit"));
}

TEST(Simulate, WhatCannotBeSimulatedIsReported) {
  EXPECT_FALSE(simulate(Setting(), workload_of("none", {}, {})));
  Setting setting = node_of(1);
  setting.tuning.placement = "papre";
  const auto result = simulate(setting, workload_of("none", {}, {}));
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, ::testing::HasSubstr("did you mean paper"));
}

TEST(Simulate, ATaskWithoutWorkEndsWhenItIsReady) {
  for (const bool latencies : {true, false}) {
    Setting setting = node_of(1);
    if (!latencies) setting.knobs = testing::no_latencies();
    Task silent = asking(0, 2, 2);
    silent.response_tokens = 0;
    const std::vector<Task> tasks{timed(0, 0, 0), silent, timed(0, 0, 5)};
    const auto seen = watch(setting, workload_of("short", {"1g.5gb"}, tasks));
    for (const std::uint64_t id : {1U, 2U}) {
      EXPECT_EQ(seen.job(id).finished_s, seen.job(id).ready_s) << id;
    }
    EXPECT_NEAR(seen.summary.work_done, 5, kClose);
  }
}

TEST(Simulate, FinishedTasksAreCounted) {
  std::atomic<std::uint64_t> finished = 0;
  Observer observer;
  observer.finished = &finished;
  const std::vector<Task> tasks{timed(0, 0, 1), timed(0, 1, 1), timed(3, 0, 1)};
  const auto summary =
      simulate(node_of(1), workload_of("three", {"1g.5gb", "9g.1gb"}, tasks), observer);
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->refused, 1U);
  EXPECT_EQ(finished, 3U);
  EXPECT_EQ(summary->work_submitted, 2);  // refused tasks do not count
}

TEST(Simulate, NoTasksTakeNoTime) {
  const auto seen = watch(node_of(1), workload_of("none", {}, {}));
  EXPECT_EQ(seen.summary.submitted, 0U);
  EXPECT_EQ(seen.summary.end_s, 0);
}

// 7g and 4g in turn on one GPU: each must wait for the instance of the one before to go.
std::vector<double> changes(const Setting& setting, Summary& summary) {
  std::vector<Task> tasks;
  for (std::uint8_t i = 0; i < 60; ++i) tasks.push_back(timed(0, i % 2, 10));
  const auto seen = watch(setting, workload_of("turns", {"7g.40gb", "4g.20gb"}, tasks));
  summary = seen.summary;
  std::vector<double> seconds;
  for (std::uint64_t id = 2; id <= tasks.size(); ++id) {
    seconds.push_back(seen.job(id).ready_s - seen.job(id).placed_s);
    EXPECT_EQ(seen.job(id).placed_s, seen.job(id - 1).finished_s);
  }
  return seconds;
}

TEST(Simulate, AReleasedInstanceRefusesDestructionForAtMostItsTime) {
  Setting setting = node_of(1);
  setting.knobs.in_use_s = 0.5;
  Summary summary;
  const auto seconds = changes(setting, summary);
  const double without = 0.1 + 0.15 + 2.0;  // destroy, create, start
  for (const double s : seconds) {
    EXPECT_GE(s, without - kClose);
    EXPECT_LE(s, without + 0.5 + kClose);
  }
  EXPECT_GT(std::ranges::max(seconds), without + 0.4);
  EXPECT_LT(std::ranges::min(seconds), without + 0.1);
  EXPECT_GE(summary.in_use_waits, 50U);
  setting.knobs.in_use_s = 0;
  for (const double s : changes(setting, summary)) EXPECT_NEAR(s, without, kClose);
  EXPECT_EQ(summary.in_use_waits, 0U);
}

// Two neighbours end at the same instant, and both of their instances must go.
TEST(Simulate, EveryReleasedInstanceMayRefuseNotOnlyTheLast) {
  Setting setting = node_of(1);
  setting.knobs.in_use_s = 100;
  setting.knobs.contention = 0;
  setting.tuning.migration = "off";
  const auto seen =
      watch(setting, workload_of("three", {"3g.20gb", "7g.40gb"},
                                 {timed(0, 0, 10.15), timed(0, 0, 10), timed(1, 1, 1)}));
  ASSERT_EQ(seen.job(1).finished_s, seen.job(2).finished_s);
  EXPECT_EQ(seen.summary.in_use_waits, 2U);
}

TEST(Simulate, TheChangesOfAGpuAreMadeOneAfterAnother) {
  std::vector<Task> tasks(7, timed(0, 0, 50));
  const auto one = watch(node_of(1), workload_of("seven", {"1g.5gb"}, tasks));
  for (std::uint64_t id = 1; id <= 7; ++id) {
    EXPECT_EQ(one.job(id).placed_s, 0);
    EXPECT_NEAR(one.job(id).ready_s, static_cast<double>(id) * 0.15 + 2.0, kClose) << id;
  }
  // Seven GPUs have seven workers.
  tasks.assign(7, timed(0, 0, 50));
  const auto seven = watch(node_of(7), workload_of("seven", {"7g.40gb"}, tasks));
  for (std::uint64_t id = 1; id <= 7; ++id) {
    EXPECT_NEAR(seven.job(id).ready_s, 0.15 + 2.0, kClose) << id;
  }
}

}  // namespace
}  // namespace tangram::sim
