// §IV-B of the paper: Eq. 3 (ideal), Eq. 4 (feasible) and Eq. 5 (FragCost), worked out by hand.
// Deviations: M is all six profiles of Table I (the paper names 1g to 4g as its targets in §II-A,
// but its equations average over "the set of available MIG instance profiles"); and 0/0, which the
// paper leaves open, is 1: a profile that could not fit even without MIG's rules is not lost to
// fragmentation.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::occupied;
using testing::profile;

const Model& a100() { return testing::model("A100-40GB"); }

struct Counts {
  const char* profile;
  int ideal;
  int feasible;
};

void expect_counts(Occupancy o, const std::vector<Counts>& expected) {
  for (const Counts& c : expected) {
    EXPECT_EQ(a100().ideal(o, profile(a100(), c.profile)), c.ideal) << c.profile;
    EXPECT_EQ(a100().feasible(o, profile(a100(), c.profile)), c.feasible) << c.profile;
  }
}

std::string cost(Occupancy o) { return a100().frag_cost(o).fraction(); }

// [3g@0]: RC = 7 − 3 = 4, RM = 8 − 4 = 4; slices 4–7 are free.
//   1g.5gb   min(4/1, 4/1) = 4, starts 4 5 6     3/4
//   1g.10gb  min(4/1, 4/2) = 2, starts 4 6       2/2
//   2g.10gb  min(4/2, 4/2) = 2, start 4          1/2
//   3g.20gb  min(4/3, 4/4) = 1, start 4          1/1
//   4g.20gb  min(4/4, 4/4) = 1, no start         0/1
//   7g.40gb  min(4/7, 4/8) = 0, no start         0/0 := 1
// FragCost = 1 − (3/4 + 1 + 1/2 + 1 + 0 + 1) / 6 = 1 − 17/24 = 7/24.
TEST(PaperEquation5, A3gAtIndex0) {
  const Occupancy o = occupied(a100(), {"3g.20gb@0"});
  expect_counts(o, {{"1g.5gb", 4, 3},
                    {"1g.10gb", 2, 2},
                    {"2g.10gb", 2, 1},
                    {"3g.20gb", 1, 1},
                    {"4g.20gb", 1, 0},
                    {"7g.40gb", 0, 0}});
  EXPECT_EQ(cost(o), "7/24");
}

// [1g.5gb@0]: RC = 6, RM = 7; slices 1–7 are free.
//   1g.5gb 6/6, 1g.10gb 3/3 (2 4 6), 2g.10gb 2/3 (2 4), 3g.20gb 1/1 (4), 4g.20gb 0/1, 7g.40gb 0/0.
// FragCost = 1 − (1 + 1 + 2/3 + 1 + 0 + 1) / 6 = 1 − 14/18 = 2/9.
TEST(PaperEquation5, A1gAtIndex0) {
  const Occupancy o = occupied(a100(), {"1g.5gb@0"});
  expect_counts(o, {{"1g.5gb", 6, 6},
                    {"1g.10gb", 3, 3},
                    {"2g.10gb", 3, 2},
                    {"3g.20gb", 1, 1},
                    {"4g.20gb", 1, 0},
                    {"7g.40gb", 0, 0}});
  EXPECT_EQ(cost(o), "2/9");
}

// [1g.10gb@0, 1g.10gb@4]: RC = 5, RM = 4; slices 2 3 6 7 are free. Compute and memory bind in turn:
//   1g.5gb   min(5/1, 4/1) = 4, starts 2 3 6     3/4
//   1g.10gb  min(5/1, 4/2) = 2, starts 2 6       2/2
//   2g.10gb  min(5/2, 4/2) = 2, start 2          1/2
//   3g.20gb  min(5/3, 4/4) = 1, no start         0/1
//   4g.20gb  min(5/4, 4/4) = 1, no start         0/1
//   7g.40gb  min(5/7, 4/8) = 0, no start         0/0 := 1
// FragCost = 1 − (3/4 + 1 + 1/2 + 0 + 0 + 1) / 6 = 1 − 13/24 = 11/24.
TEST(PaperEquation5, TwoWide1gInDifferentHalves) {
  const Occupancy o = occupied(a100(), {"1g.10gb@0", "1g.10gb@4"});
  expect_counts(o, {{"1g.5gb", 4, 3},
                    {"1g.10gb", 2, 2},
                    {"2g.10gb", 2, 1},
                    {"3g.20gb", 1, 0},
                    {"4g.20gb", 1, 0},
                    {"7g.40gb", 0, 0}});
  EXPECT_EQ(cost(o), "11/24");
}

// An empty A100: 7/7, 4/4, 3/3, 2/2, 1/1, 1/1.
TEST(PaperEquation5, AnEmptyGpuCostsNothing) {
  expect_counts(kEmpty, {{"1g.5gb", 7, 7},
                         {"1g.10gb", 4, 4},
                         {"2g.10gb", 3, 3},
                         {"3g.20gb", 2, 2},
                         {"4g.20gb", 1, 1},
                         {"7g.40gb", 1, 1}});
  EXPECT_EQ(cost(kEmpty), "0/1");
}

// A full one is 0/0 throughout; read as 0 it would cost 1, the most, and never be preferred.
TEST(PaperEquation5, AFullGpuCostsNothing) {
  for (const Occupancy o :
       {occupied(a100(), {"7g.40gb@0"}), occupied(a100(), {"4g.20gb@0", "3g.20gb@4"})}) {
    expect_counts(o, {{"1g.5gb", 0, 0}, {"7g.40gb", 0, 0}});
    EXPECT_EQ(cost(o), "0/1");
  }
}

TEST(PaperEquation5, EmptyGpusOfEveryModelCostNothing) {
  for (const Model& m : catalog()) EXPECT_EQ(m.frag_cost(kEmpty).fraction(), "0/1") << m.name();
}

}  // namespace
}  // namespace tangram::mig
