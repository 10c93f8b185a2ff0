// CHECK: aborts with location and condition, in every build.
#include "base/check.hpp"

#include <gtest/gtest.h>

namespace tangram {
namespace {

TEST(CheckDeathTest, AbortsAndPrintsTheCondition) {
  const int answer = 41;
  EXPECT_DEATH(CHECK(answer == 42),
               "tangram: .*check_test.cpp:[0-9]+: CHECK\\(answer == 42\\) failed: this is a bug");
}

TEST(Check, EvaluatesItsConditionOnce) {
  int evaluations = 0;
  CHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(Check, IsAnExpression) {
  const int value = (CHECK(true), 7);
  EXPECT_EQ(value, 7);
}

}  // namespace
}  // namespace tangram
