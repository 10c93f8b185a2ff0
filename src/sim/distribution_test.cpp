// Distribution against the sorted values themselves: number, sum, mean and largest are exact,
// quantiles are never below the truth and at most 1.6 % above it.
#include "sim/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/random.hpp"

namespace tangram::sim {
namespace {

TEST(Distribution, OfNothingIsZero) {
  const Distribution none;
  EXPECT_EQ(none.count(), 0U);
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.largest(), 0);
  for (const double part : {0.0, 0.5, 1.0}) EXPECT_EQ(none.quantile(part), 0);
}

// The upper edge of a bucket is cut at the largest value, so that one value is itself.
TEST(Distribution, OfOneValueIsThatValue) {
  for (const double value : {1e-5, 0.3, 1.0, 1.5, 300.0, 1e9}) {
    Distribution one;
    one.add(value);
    EXPECT_EQ(one.count(), 1U);
    EXPECT_EQ(one.mean(), value);
    EXPECT_EQ(one.largest(), value);
    for (const double part : {0.0, 0.5, 1.0}) EXPECT_EQ(one.quantile(part), value) << value;
  }
}

TEST(Distribution, ZerosCountAndAreZero) {
  Distribution waits;
  for (int i = 0; i < 75; ++i) waits.add(0);
  for (int i = 0; i < 25; ++i) waits.add(8);
  EXPECT_EQ(waits.count(), 100U);
  EXPECT_EQ(waits.mean(), 2);
  EXPECT_EQ(waits.quantile(0.25), 0);
  EXPECT_EQ(waits.quantile(0.75), 0);  // exactly three quarters do not exceed 0
  EXPECT_EQ(waits.quantile(0.7578125), 8);
  EXPECT_EQ(waits.quantile(1), 8);
}

// Below about a microsecond is no time at all.
TEST(Distribution, LessThanAMicrosecondIsZeroInQuantilesOnly) {
  Distribution tiny;
  tiny.add(5e-7);
  EXPECT_EQ(tiny.quantile(1), 0);
  EXPECT_EQ(tiny.mean(), 5e-7);
  EXPECT_EQ(tiny.largest(), 5e-7);
}

std::vector<double> drawn(int law, std::size_t count, Random& random) {
  std::vector<double> values(count);
  for (double& value : values) {
    if (law == 0) value = random.exponential(300);
    if (law == 1) value = random.uniform() * 10;
    if (law == 2) value = std::exp(3 * random.normal());
    if (law == 3) value = random.uniform() < 0.3 ? 0 : random.exponential(20);
  }
  return values;
}

TEST(Distribution, QuantilesOfRandomValuesAreWithin16PerThousand) {
  Random random(3);
  for (int law = 0; law < 4; ++law) {
    for (const std::size_t count : {2U, 10U, 1000U, 20'000U}) {
      std::vector<double> values = drawn(law, count, random);
      Distribution distribution;
      for (const double value : values) distribution.add(value);
      const double sum = std::accumulate(values.begin(), values.end(), 0.0);
      EXPECT_EQ(distribution.sum(), sum);
      EXPECT_EQ(distribution.mean(), sum / static_cast<double>(count));
      std::ranges::sort(values);
      EXPECT_EQ(distribution.largest(), values.back());
      for (int step = 1; step <= 64; ++step) {
        const double part = step / 64.0;
        const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(count)));
        const double truth = values[rank - 1];
        const double estimate = distribution.quantile(part);
        const std::string where = "law " + std::to_string(law) + ", " + std::to_string(count) +
                                  " values, " + std::to_string(part);
        if (truth < 0x1.0p-20) {
          EXPECT_EQ(estimate, 0) << where;
          continue;
        }
        EXPECT_GE(estimate, truth) << where;
        EXPECT_LE(estimate, truth * 1.016) << where;
      }
    }
  }
}

}  // namespace
}  // namespace tangram::sim
