// A study: cached runs are not simulated again, and the number of threads changes nothing.
#include "lab/study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/ablation.hpp"
#include "tests/support/lab/experiments.hpp"

namespace tangram::lab {
namespace {

using mig::testing::or_stop;
using ::testing::HasSubstr;

struct StudyFixture {
  Progress progress;
  Experiment e = testing::small_experiment();
  Study study;
  sim::Setting node;
  sim::PaperWorkload workload;

  explicit StudyFixture(unsigned threads = 1)
      : study({.threads = threads, .knobs = {}, .progress = &progress}),
        node(or_stop(study.node(e))),
        workload(or_stop(Study::workload(e, "normal25", node))) {}
};

std::vector<double> makespans(const Runs& runs) { return column(runs, &Run::makespan); }

TEST(Study, TheSameRunsAreSimulatedOnce) {
  StudyFixture fixture;
  const auto first = or_stop(fixture.study.run(fixture.e, {fixture.node}, fixture.workload));
  EXPECT_EQ(fixture.progress.done, 2U * 12U);  // seeds · tasks
  const auto again =
      or_stop(fixture.study.run(fixture.e, {fixture.node, fixture.node}, fixture.workload));
  EXPECT_EQ(fixture.progress.done, 2U * 12U);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(makespans(again[0]), makespans(first[0]));
  EXPECT_EQ(makespans(again[1]), makespans(first[0]));
}

TEST(Study, ADifferentSettingIsSimulatedAgain) {
  StudyFixture fixture;
  std::vector<sim::Setting> settings{fixture.node};
  const auto with = [&](auto change) {
    settings.push_back(fixture.node);
    change(settings.back());
  };
  with([](sim::Setting& s) { s.tuning.migration = "off"; });
  with([](sim::Setting& s) { s.tuning.placement = "first-fit"; });
  with([](sim::Setting& s) { s.tuning.queue = "largest-memory"; });
  with([](sim::Setting& s) { s.tuning.threshold = core::Threshold::from_billionths(1); });
  with([](sim::Setting& s) { s.tuning.restraint = core::Restraint{}; });
  with([](sim::Setting& s) { s.knobs.link_gbps = 12; });
  with([](sim::Setting& s) { s.gpus.front().count = 3; });
  ASSERT_TRUE(fixture.study.run(fixture.e, settings, fixture.workload));
  EXPECT_EQ(fixture.progress.done, settings.size() * 2 * 12);
  sim::PaperWorkload longer = fixture.workload;
  longer.tasks = 13;
  ASSERT_TRUE(fixture.study.run(fixture.e, {fixture.node}, longer));
  EXPECT_EQ(fixture.progress.done, settings.size() * 2 * 12 + 2 * 13);
}

// The baseline of the ablation is one of the arrangements that were run for it.
TEST(Study, TheAblationSimulatesItsBaselineOnce) {
  StudyFixture fixture;
  const auto ablation = or_stop(ablate(fixture.study, fixture.e, "normal25"));
  EXPECT_GT(ablation.arrangements, 1U);
  EXPECT_EQ(fixture.progress.done, (ablation.arrangements + 3) * 2 * 12);
  const std::uint64_t before = fixture.progress.done;
  const auto again = or_stop(ablate(fixture.study, fixture.e, "normal25"));
  EXPECT_EQ(fixture.progress.done, before);
  for (std::size_t i = 0; i < kAblationSettings; ++i) {
    EXPECT_EQ(makespans(again.runs[i]), makespans(ablation.runs[i]));
  }
}

TEST(Study, TheBestArrangementHasTheLeastMean) {
  StudyFixture fixture;
  const auto best = or_stop(fixture.study.best_static(fixture.e, fixture.node, fixture.workload,
                                                      &Run::makespan, "static-first-fit"));
  const auto all =
      or_stop(sim::arrangements(*fixture.node.gpus.front().model, fixture.e.instances, 2));
  EXPECT_EQ(best.arrangements, all.size());
  const double least = sim::estimate(makespans(best.runs)).mean;
  for (const sim::Arrangement& arrangement : all) {
    const auto runs = or_stop(fixture.study.run(
        fixture.e, {Study::baseline(fixture.node, arrangement)}, fixture.workload));
    EXPECT_LE(least, sim::estimate(makespans(runs[0])).mean);
  }
}

TEST(Study, ThreadsChangeNothing) {
  StudyFixture one(1);
  StudyFixture three(3);
  const auto a = or_stop(ablate(one.study, one.e, "normal25"));
  const auto b = or_stop(ablate(three.study, three.e, "normal25"));
  for (std::size_t i = 0; i < kAblationSettings; ++i) {
    EXPECT_EQ(makespans(a.runs[i]), makespans(b.runs[i]));
  }
}

TEST(Study, AnErrorIsNotCached) {
  StudyFixture fixture;
  sim::Setting wrong = fixture.node;
  wrong.tuning.placement = "wrong";
  for (int i = 0; i < 2; ++i) {
    const auto runs = fixture.study.run(fixture.e, {fixture.node, wrong}, fixture.workload);
    ASSERT_FALSE(runs);
    EXPECT_THAT(runs.error().message, HasSubstr("unknown placement policy 'wrong'"));
  }
  const auto good = or_stop(fixture.study.run(fixture.e, {fixture.node}, fixture.workload));
  EXPECT_EQ(good[0].size(), 2U);
}

}  // namespace
}  // namespace tangram::lab
