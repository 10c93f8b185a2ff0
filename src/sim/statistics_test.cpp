// Statistics against what a textbook's table and a hand calculation give.
#include "sim/statistics.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tangram::sim {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = 1; i <= n; ++i) values.push_back(i);
  return values;
}

// The numbers 1 … n have the mean (n + 1) / 2 and the sample variance n (n + 1) / 12, so the
// interval is t · √((n + 1) / 12) with the tabled t of n − 1 degrees of freedom.
TEST(Statistics, TheIntervalIsStudents) {
  struct Row {
    int n;
    double t;
  };
  const Row table[] = {{2, 12.706},  {3, 4.3027},  {4, 3.1824},  {5, 2.7764},   {6, 2.5706},
                       {10, 2.2622}, {20, 2.0930}, {30, 2.0452}, {100, 1.9842}, {1000, 1.9623}};
  for (const Row& row : table) {
    const Estimate e = estimate(one_to(row.n));
    EXPECT_DOUBLE_EQ(e.mean, (row.n + 1) / 2.0);
    EXPECT_NEAR(e.ci95 / std::sqrt((row.n + 1) / 12.0), row.t, 0.0015 * row.t) << row.n;
  }
}

TEST(Statistics, OfOneRunNoIntervalIsKnown) {
  EXPECT_EQ(estimate({}).mean, 0);
  EXPECT_EQ(estimate({}).ci95, 0);
  const std::vector<double> one{7.5};
  EXPECT_EQ(estimate(one).mean, 7.5);
  EXPECT_EQ(estimate(one).ci95, 0);
}

TEST(Statistics, EqualRunsHaveNoWidth) {
  const std::vector<double> same(10, 3.25);
  EXPECT_EQ(estimate(same).mean, 3.25);
  EXPECT_EQ(estimate(same).ci95, 0);
}

// By hand: 1 − 39/60 = 0.35; leaving one out gives 0.32, 0.275 and 0.5, whose mean is 0.365 and
// whose squares sum to 0.02835; the variance is 2/3 of that, and t of two degrees 4.303.
TEST(Statistics, TheReductionIsThatOfTheMeansWithAJackknifeInterval) {
  const std::vector<double> base{10, 20, 30};
  const std::vector<double> ours{5, 10, 24};
  const Estimate cut = reduction(base, ours);
  EXPECT_DOUBLE_EQ(cut.mean, 0.35);
  EXPECT_NEAR(cut.ci95, 4.303 * std::sqrt(0.0189), 1e-9);
}

TEST(Statistics, TheReductionIsPairedBySeed) {
  const std::vector<double> base{10, 200, 3000};
  const std::vector<double> ours{9, 180, 2700};  // a tenth less on every seed
  EXPECT_NEAR(reduction(base, ours).mean, 0.1, 1e-12);
  EXPECT_NEAR(reduction(base, ours).ci95, 0, 1e-9);
  const std::vector<double> other{180, 2700, 9};
  EXPECT_NEAR(reduction(base, other).mean, 0.1, 1e-12);
  EXPECT_GT(reduction(base, other).ci95, 0.1);
}

TEST(Statistics, MoreThanBeforeIsANegativeReduction) {
  const std::vector<double> base{10, 10};
  const std::vector<double> ours{15, 15};
  EXPECT_DOUBLE_EQ(reduction(base, ours).mean, -0.5);
}

TEST(Statistics, NothingCanBeReducedFromZero) {
  const std::vector<double> zero{0, 0, 0};
  const std::vector<double> ours{1, 2, 3};
  EXPECT_EQ(reduction(zero, ours).mean, 0);
  EXPECT_EQ(reduction(zero, ours).ci95, 0);
  EXPECT_EQ(reduction({}, {}).mean, 0);
}

TEST(Statistics, ASeedThatAloneHasATimeGivesAFiniteInterval) {
  const std::vector<double> base{0, 0, 5};
  const std::vector<double> ours{0, 0, 2};
  EXPECT_DOUBLE_EQ(reduction(base, ours).mean, 0.6);
  EXPECT_TRUE(std::isfinite(reduction(base, ours).ci95));
  const std::vector<double> one{8};
  const std::vector<double> half{4};
  EXPECT_EQ(reduction(one, half).mean, 0.5);
  EXPECT_EQ(reduction(one, half).ci95, 0);
}

}  // namespace
}  // namespace tangram::sim
