// Offered load: the rule for the queries per task gives exactly the requested load, and a
// simulation without neighbours or waits uses that load.
#include "sim/offered.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/sim/worlds.hpp"

namespace tangram::sim {
namespace {

using testing::node_of;
using testing::watch;

TEST(Offered, QueriesForALoadGiveThatLoadOnTheBusierResource) {
  int links_busier = 0;
  int compute_busier = 0;
  for (const std::string& name : paper_workload_names()) {
    for (const double bytes : {2.0, 4.0}) {
      for (const double flow : {25.7, 10.0, 6.3}) {
        for (const double prefetch : {0.0, 1.0}) {
          Setting setting = node_of(4);
          setting.knobs.bytes_per_weight = bytes;
          setting.knobs.flow_gbps = flow;
          setting.knobs.prefetch = prefetch;
          PaperWorkload paper = *paper_workload(name);
          const auto queries = queries_for_load(paper, setting, 0.8);
          ASSERT_TRUE(queries);
          if (*queries == 1) continue;
          paper.queries_per_task = *queries;
          const auto offered = offered_load(paper, setting);
          ASSERT_TRUE(offered);
          EXPECT_NEAR(std::max(offered->compute, offered->links), 0.8, 1e-9) << name;
          ++(offered->links > offered->compute ? links_busier : compute_busier);
        }
      }
    }
  }
  EXPECT_GT(compute_busier, 0);
  EXPECT_GT(links_busier, 0);
}

TEST(Offered, AtLeastOneQuery) {
  for (const double load : {0.0, 1e-6}) {
    EXPECT_EQ(queries_for_load(*paper_workload("long25"), node_of(1), load), 1.0);
  }
}

TEST(Offered, TwiceTheNodeOrHalfTheArrivalsIsHalfTheLoad) {
  const auto one = *offered_load(*paper_workload("normal25"), node_of(2));
  const auto larger = *offered_load(*paper_workload("normal25"), node_of(4));
  const auto slower = *offered_load(*paper_workload("normal50"), node_of(2));
  EXPECT_NEAR(larger.compute, one.compute / 2, 1e-12);
  EXPECT_NEAR(larger.links, one.links / 2, 1e-12);
  EXPECT_NEAR(slower.compute, one.compute / 2, 1e-12);
  EXPECT_NEAR(slower.links, one.links / 2, 1e-12);
}

TEST(Offered, MistakesAreReported) {
  EXPECT_FALSE(offered_load(PaperWorkload(), Setting()));
  EXPECT_FALSE(queries_for_load(PaperWorkload(), Setting(), 0.8));
  const auto other = offered_load(PaperWorkload(), node_of(1, "H100-80GB"));
  ASSERT_FALSE(other);  // it has no 1g.5gb
  EXPECT_THAT(other.error().message, ::testing::HasSubstr("1g.5gb"));
}

// On a node so large that no task waits, without contention or moves: the slice seconds that 5,000
// tasks hold, against the offered ones. A task's slice seconds vary about as much as their mean, so
// four standard errors are 6 %.
TEST(Offered, IsWhatASimulationUses) {
  PaperWorkload paper = *paper_workload("normal25");
  paper.tasks = 5000;
  Setting setting = node_of(40);
  setting.knobs.contention = 0;
  setting.tuning.migration = "off";
  const auto seen = watch(setting, generate(paper, 1), 1e9);
  ASSERT_EQ(seen.summary.wait.largest(), 0);
  const double used = seen.summary.compute_used * seen.summary.end_s / (5000 * 25.0);
  const double offered = offered_load(paper, setting)->compute;
  EXPECT_NEAR(used, offered, 0.06 * offered);
}

}  // namespace
}  // namespace tangram::sim
