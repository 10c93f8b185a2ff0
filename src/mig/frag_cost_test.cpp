// FragCost as a number: equality and order of fractions with unlike denominators, and its text.
#include "mig/frag_cost.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace tangram::mig {
namespace {

TEST(FragCost, IsZeroByDefault) {
  EXPECT_EQ(FragCost(), FragCost(0, 420));
  EXPECT_EQ(FragCost().fraction(), "0/1");
}

TEST(FragCost, ComparesAcrossDenominators) {
  EXPECT_EQ(FragCost(7, 24), FragCost(735, 2520));
  EXPECT_LT(FragCost(1, 3), FragCost(8, 23));
  EXPECT_GT(FragCost(1, 2), FragCost(49, 100));
  EXPECT_NE(FragCost(1, 3), FragCost(1, 2));
}

// A third has no double; a tenth three times is not three tenths in doubles.
TEST(FragCost, TiesAreExact) {
  EXPECT_EQ(FragCost(333'333'333, 999'999'999), FragCost(1, 3));
  EXPECT_LT(FragCost(333'333'333, 1'000'000'000), FragCost(1, 3));
}

TEST(FragCost, ComparesTheLargestNumbersWithoutOverflow) {
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  EXPECT_LT(FragCost(kMax - 1, kMax), FragCost(kMax, kMax));
  EXPECT_LT(FragCost(1, kMax), FragCost(1, kMax - 1));
}

TEST(FragCost, TextIsInLowestTerms) {
  EXPECT_EQ(FragCost(735, 2520).fraction(), "7/24");
  EXPECT_EQ(FragCost(0, 2520).fraction(), "0/1");
  EXPECT_EQ(FragCost(2520, 2520).fraction(), "1/1");
  EXPECT_EQ(FragCost(-630, 2520).fraction(), "-1/4");
}

TEST(FragCost, ApproximateIsForPrinting) { EXPECT_DOUBLE_EQ(FragCost(1, 4).approximate(), 0.25); }

}  // namespace
}  // namespace tangram::mig
