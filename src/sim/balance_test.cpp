// What must hold in every simulation, whatever the policies: no work is lost or done twice, every
// task is accounted for, the sums in the summary are those of the rows and samples, and the same
// arguments give the same outcome.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "policies/registry.hpp"
#include "tests/support/sim/worlds.hpp"

namespace tangram::sim {
namespace {

using testing::node_of;
using testing::SampleRow;
using testing::Seen;
using testing::static_node;
using testing::watch;

// Enough tasks to keep two GPUs busy and a queue waiting.
Workload tasks_of(bool paper, std::uint64_t seed) {
  if (paper) {
    PaperWorkload workload = *paper_workload("normal25");
    workload.tasks = 120;
    return generate(workload, seed);
  }
  Synthetic synthetic{.tasks = 150, .mean_arrival_s = 8, .mean_duration_s = 50};
  synthetic.movable_share = 0.9;
  return generate(synthetic, seed);
}

Setting setting_for(const core::PlacementPolicy& placement, std::string_view migration,
                    bool contention) {
  Setting setting =
      placement.only_idle ? static_node(2, {"4g.20gb@0", "2g.10gb@4", "1g.5gb@6"}) : node_of(2);
  setting.tuning.placement = placement.name;
  setting.tuning.migration = migration;
  setting.tuning.queue = placement.queue;
  setting.tuning.restraint = no_restraint();
  setting.knobs.contention = contention ? 1 : 0;
  return setting;
}

TEST(Balance, NoWorkIsLostOrDoneTwiceUnderAnyPolicy) {
  std::map<std::string_view, std::uint64_t> moves;
  for (const auto& placement : policies::placement_policies()) {
    for (const auto& migration : policies::migration_policies()) {
      for (const bool contention : {false, true}) {
        for (const bool paper : {false, true}) {
          const Setting setting = setting_for(placement, migration.name, contention);
          const Workload workload = tasks_of(paper, 7);
          const auto summary = mig::testing::or_stop(simulate(setting, workload));
          const std::string where =
              std::string(placement.name) + ", " + std::string(migration.name) +
              (contention ? ", contention" : "") + (paper ? ", paper" : ", synthetic");
          EXPECT_NEAR(summary.work_done / summary.work_submitted, 1, 1e-6) << where;
          EXPECT_EQ(summary.submitted, workload.tasks) << where;
          EXPECT_EQ(summary.submitted, summary.makespan.count() + summary.refused) << where;
          EXPECT_EQ(summary.refused > 0, placement.only_idle) << where;  // no 3g in the layout
          EXPECT_EQ(summary.intra_moves + summary.inter_moves,
                    summary.moves_done + summary.moves_ended_early)
              << where;
          moves[migration.name] += summary.moves_done;
        }
      }
    }
  }
  EXPECT_EQ(moves["off"], 0U);
  for (const char* name : {"intra", "inter", "both"}) EXPECT_GT(moves[name], 100U) << name;
  EXPECT_EQ(moves["both"], moves["both-plain"]);
}

// Slow moves that often meet the end of their job: no work may be lost there.
TEST(Balance, HoldsWhenJobsEndDuringTheirMoves) {
  for (const double drain_query : {0.0, 1.0}) {
    Setting setting = node_of(3);
    setting.tuning.restraint = no_restraint();
    setting.knobs.process_start_s = 15;
    setting.knobs.drain_s = 10;
    setting.knobs.stop_s = 10;
    setting.knobs.drain_query = drain_query;
    for (const bool paper : {false, true}) {
      std::uint64_t early = 0;
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const auto summary = mig::testing::or_stop(simulate(setting, tasks_of(paper, seed)));
        EXPECT_NEAR(summary.work_done / summary.work_submitted, 1, 1e-6);
        EXPECT_EQ(summary.submitted, summary.makespan.count());
        early += summary.moves_ended_early;
      }
      EXPECT_GT(early, 0U);
    }
  }
}

// Little's law as an identity: the integral of the queue is the sum of the waits. Without moves the
// same holds of compute slices and the times they are held.
TEST(Balance, IntegralsAreSumsOverTasks) {
  for (const bool paper : {false, true}) {
    Setting setting = node_of(2);
    setting.tuning.migration = "off";
    const auto seen = watch(setting, tasks_of(paper, 8));
    const Summary& s = seen.summary;
    ASSERT_GT(s.wait.sum(), 0);
    EXPECT_NEAR(s.waiting * s.end_s, s.wait.sum(), 1e-6 * s.wait.sum());
    const mig::Model& gpu = *setting.gpus.front().model;
    double held = 0;
    for (const JobRow& row : seen.jobs) {
      const auto profile = mig::testing::profile(gpu, row.profile);
      held += gpu.profile(profile).compute_slices * (row.finished_s - row.placed_s);
    }
    EXPECT_NEAR(s.compute_used * s.end_s * 14, held, 1e-6 * held);
    double makespans = 0;
    double end = 0;
    for (const JobRow& row : seen.jobs) {
      makespans += row.finished_s - row.arrival_s;
      end = std::max(end, row.finished_s);
    }
    EXPECT_NEAR(s.makespan.sum(), makespans, 1e-6 * makespans);
    EXPECT_EQ(s.end_s, end);
  }
}

// "After every change" means that nothing changes between two samples.
TEST(Balance, SamplesAfterEveryChangeAddUpToTheSummary) {
  for (const bool paper : {false, true}) {
    Setting setting = node_of(2);
    setting.tuning.restraint = no_restraint();
    const auto seen = watch(setting, tasks_of(paper, 9));
    SampleRow before;
    double fragmentation = 0;
    double used = 0;
    double waiting = 0;
    for (const SampleRow& sample : seen.samples) {
      const double seconds = sample.at_s - before.at_s;
      ASSERT_GE(seconds, 0);
      fragmentation += before.fragmentation * seconds;
      used += before.compute_used * seconds;
      waiting += static_cast<double>(before.waiting) * seconds;
      before = sample;
    }
    const double end = seen.summary.end_s;
    EXPECT_NEAR(fragmentation / end, seen.summary.fragmentation, 1e-9);
    EXPECT_NEAR(used / end, seen.summary.compute_used, 1e-9);
    EXPECT_NEAR(waiting / end, seen.summary.waiting, 1e-9);
    EXPECT_EQ(before.live, 0U);
    EXPECT_EQ(before.at_s, end);
  }
}

struct Counts {
  std::vector<std::uint32_t> desired;
  std::vector<std::uint32_t> serving;
};

// Counts per profile at an instant, including or excluding the changes at that instant.
Counts counts_at(const Seen& seen, double at_s, bool after) {
  Counts counts{std::vector<std::uint32_t>(seen.workload.profiles.size()),
                std::vector<std::uint32_t>(seen.workload.profiles.size())};
  const auto passed = [&](double when) { return after ? when <= at_s : when < at_s; };
  for (const JobRow& row : seen.jobs) {
    const auto profile = static_cast<std::size_t>(
        std::ranges::find(seen.workload.profiles, row.profile) - seen.workload.profiles.begin());
    if (passed(row.finished_s)) continue;
    if (passed(row.arrival_s)) ++counts.desired[profile];
    if (passed(row.ready_s)) ++counts.serving[profile];
  }
  return counts;
}

void expect_sample(const Seen& seen, const SampleRow& sample, bool after) {
  const Counts counts = counts_at(seen, sample.at_s, after);
  ASSERT_EQ(sample.desired, counts.desired) << "at " << sample.at_s;
  for (std::size_t p = 0; p < counts.serving.size(); ++p) {
    ASSERT_GE(sample.actual[p], counts.serving[p]) << "at " << sample.at_s;
  }
  std::uint64_t live = 0;
  for (const std::uint32_t count : counts.desired) live += count;
  ASSERT_EQ(sample.live, live) << "at " << sample.at_s;
}

TEST(Balance, SamplesSayWhatIsDesiredAndWhatIsThere) {
  Setting setting = node_of(2);
  setting.tuning.restraint = no_restraint();
  const auto seen = watch(setting, tasks_of(true, 10));
  for (std::size_t i = 0; i < seen.samples.size(); ++i) {
    if (i + 1 < seen.samples.size() && seen.samples[i + 1].at_s == seen.samples[i].at_s) continue;
    expect_sample(seen, seen.samples[i], true);
  }
  std::uint64_t left = 0;
  for (const std::uint32_t count : seen.samples.back().actual) left += count;
  EXPECT_GT(seen.summary.destroyed, 0U);
  EXPECT_EQ(left, seen.summary.created - seen.summary.destroyed);
  // Each arrival is a change.
  for (const JobRow& row : seen.jobs) {
    EXPECT_TRUE(std::ranges::any_of(seen.samples,
                                    [&](const SampleRow& s) { return s.at_s == row.arrival_s; }))
        << "task " << row.id;
  }
}

TEST(Balance, PeriodicSamplesAreAtExactMultiples) {
  for (const double every : {0.1, 1.0, 7.5}) {
    const auto seen = watch(node_of(2), tasks_of(false, 11), every);
    ASSERT_GT(seen.samples.size(), 100U);
    for (std::size_t k = 0; k < seen.samples.size(); ++k) {
      // Instants are whole microseconds.
      ASSERT_EQ(seen.samples[k].at_s, std::round(static_cast<double>(k) * every * 1e6) / 1e6);
    }
    EXPECT_LE(seen.samples.back().at_s, seen.summary.end_s);
    EXPECT_GT(seen.samples.back().at_s, seen.summary.end_s - every - 1e-9);
    for (std::size_t k = 0; k < seen.samples.size(); k += 20) {
      expect_sample(seen, seen.samples[k], false);
    }
  }
}

// A sample at the instant of a change shows the state before it.
TEST(Balance, APeriodicSampleIsOfJustBefore) {
  const Task task{.arrival_s = 2, .duration_s = 5};
  const auto seen = watch(node_of(1), workload_of("one", {"1g.5gb"}, {task}), 1);
  ASSERT_GT(seen.samples.size(), 4U);
  EXPECT_EQ(seen.samples[2].at_s, 2);
  EXPECT_EQ(seen.samples[2].live, 0U);
  EXPECT_EQ(seen.samples[3].live, 1U);
}

TEST(Balance, NoTaskWaitsAtAnEmptyNode) {
  Synthetic synthetic{.tasks = 200, .mean_arrival_s = 10'000, .mean_duration_s = 20};
  synthetic.mix.push_back({"7g.40gb", 2});
  synthetic.law = DurationLaw::kConstant;
  const auto seen = watch(node_of(1), generate(synthetic, 12));
  int alone = 0;
  double before = 0;
  for (std::uint64_t id = 1; id <= 200; ++id) {
    const JobRow& row = seen.job(id);
    if (row.arrival_s > before) {
      ++alone;
      EXPECT_EQ(row.placed_s, row.arrival_s) << "task " << id;
    }
    before = std::max(before, row.finished_s);
  }
  EXPECT_GT(alone, 190);
}

// Only the head of the queue may start, so placements follow the order of arrival.
TEST(Balance, FirstComeFirstServed) {
  for (const auto& placement : policies::placement_policies()) {
    Setting setting = setting_for(placement, "both", true);
    setting.tuning.queue = "fcfs";
    const auto seen = watch(setting, tasks_of(false, 13));
    std::vector<const JobRow*> rows;
    for (const JobRow& row : seen.jobs) rows.push_back(&row);
    std::ranges::sort(rows, {}, [](const JobRow* row) { return row->id; });
    EXPECT_TRUE(std::ranges::is_sorted(rows, {}, [](const JobRow* row) { return row->arrival_s; }));
    EXPECT_TRUE(std::ranges::is_sorted(rows, {}, [](const JobRow* row) { return row->placed_s; }))
        << placement.name;
    for (const JobRow* row : rows) {
      ASSERT_LE(row->arrival_s, row->placed_s);
      ASSERT_LT(row->placed_s, row->ready_s);
      ASSERT_LE(row->ready_s, row->finished_s);
    }
  }
  // Another order gives another result: the test can fail.
  Setting setting = node_of(2);
  setting.tuning.queue = "largest-memory";
  auto seen = watch(setting, tasks_of(false, 13));
  std::ranges::sort(seen.jobs, {}, &JobRow::id);
  EXPECT_FALSE(std::ranges::is_sorted(seen.jobs, {}, &JobRow::placed_s));
}

void expect_same(const Distribution& a, const Distribution& b) {
  EXPECT_EQ(a.count(), b.count());
  EXPECT_EQ(a.sum(), b.sum());
  EXPECT_EQ(a.largest(), b.largest());
  for (int i = 0; i <= 100; ++i) ASSERT_EQ(a.quantile(i / 100.0), b.quantile(i / 100.0));
}

std::vector<double> numbers_of(const Summary& s) {
  const auto d = [](std::uint64_t n) { return static_cast<double>(n); };
  return {d(s.submitted),   d(s.refused),      d(s.intra_moves), d(s.inter_moves),
          d(s.moves_done),  d(s.created),      d(s.destroyed),   d(s.moves_ended_early),
          d(s.starts),      d(s.in_use_waits), d(s.max_live),    d(s.steps),
          s.end_s,          s.fragmentation,   s.compute_used,   s.waiting,
          s.work_submitted, s.work_done};
}

bool same_job(const JobRow& a, const JobRow& b) {
  return a.id == b.id && a.profile == b.profile && a.model == b.model &&
         a.arrival_s == b.arrival_s && a.placed_s == b.placed_s && a.ready_s == b.ready_s &&
         a.finished_s == b.finished_s && a.tpot_s == b.tpot_s && a.gpu == b.gpu &&
         a.moves == b.moves;
}

bool same_move(const MoveRow& a, const MoveRow& b) {
  return a.at_s == b.at_s && a.report.job == b.report.job && a.report.kind == b.report.kind &&
         a.report.news == b.report.news && a.report.from == b.report.from &&
         a.report.to == b.report.to && a.report.start == b.report.start;
}

TEST(Balance, TheSameArgumentsGiveTheSameOutcome) {
  for (const bool paper : {false, true}) {
    Setting setting = node_of(3);
    setting.gpus.push_back({.model = testing::shared_model("A100-80GB"), .count = 1, .layout = {}});
    setting.tuning.restraint = no_restraint();
    const auto a = watch(setting, tasks_of(paper, 14));
    const auto b = watch(setting, tasks_of(paper, 14));
    EXPECT_EQ(numbers_of(a.summary), numbers_of(b.summary));
    expect_same(a.summary.wait, b.summary.wait);
    expect_same(a.summary.execution, b.summary.execution);
    expect_same(a.summary.makespan, b.summary.makespan);
    for (std::size_t m = 0; m < kLanguageModels; ++m)
      expect_same(a.summary.tpot[m], b.summary.tpot[m]);
    EXPECT_TRUE(std::ranges::equal(a.jobs, b.jobs, same_job));
    EXPECT_TRUE(std::ranges::equal(a.moves, b.moves, same_move));
    EXPECT_EQ(a.samples, b.samples);
    EXPECT_FALSE(a.moves.empty());
    const auto other = watch(setting, tasks_of(paper, 15));
    EXPECT_NE(numbers_of(a.summary), numbers_of(other.summary));
  }
}

}  // namespace
}  // namespace tangram::sim
