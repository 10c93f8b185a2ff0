// The naive reference against results worked out by hand: a reference that shared an error with the
// tables would prove nothing.
#include "tests/mig/naive.hpp"

#include <gtest/gtest.h>

namespace tangram::naive {
namespace {

// A GPU of 4 memory slices with halves (2 compute slices) and quarters (1), and a second kind of
// half that only differs in its engines.
mig::ModelSpec quarters_and_halves() {
  const auto profile = [](const char* name, int slices, std::vector<int> starts, int most) {
    return mig::Profile{.name = name,
                        .compute_slices = slices,
                        .memory_slices = slices,
                        .starts = std::move(starts),
                        .max_instances = most,
                        .facts = {}};
  };
  return {.name = "small",
          .compute_slices = 4,
          .memory_slices = 4,
          .device_names = {},
          .profiles = {profile("1g", 1, {0, 1, 2, 3}, 4), profile("2g", 2, {0, 2}, 2),
                       profile("2g+me", 2, {2, 0}, 1)}};
}

TEST(Naive, FractionsAreInLowestTerms) {
  EXPECT_EQ(text(fraction(6, 8)), "3/4");
  EXPECT_EQ(text(fraction(0, 5)), "0/1");
  EXPECT_EQ(text(fraction(2, -4)), "-1/2");
  EXPECT_EQ(text(sum(fraction(1, 6), fraction(1, 3))), "1/2");
  EXPECT_TRUE(less(fraction(1, 3), fraction(1, 2)));
  EXPECT_FALSE(less(fraction(2, 4), fraction(1, 2)));
}

TEST(Naive, ALoneQuarterCostsNothingTwoInDifferentHalvesCostAHalf) {
  const mig::ModelSpec spec = quarters_and_halves();
  const Pieces pieces = {{0, 1}};
  EXPECT_EQ(ideal(spec, pieces, 0), 3);
  EXPECT_EQ(free_starts(spec, pieces, 0), (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(ideal(spec, pieces, 1), 1);
  EXPECT_EQ(free_starts(spec, pieces, 1), std::vector<int>{2});
  EXPECT_EQ(text(frag_cost(spec, pieces)), "0/1");
  // Two quarters in different halves: 2/2 of the quarters, 0/1 of the halves.
  EXPECT_EQ(text(frag_cost(spec, {{0, 1}, {0, 2}})), "1/2");
}

TEST(Naive, BestStartKeepsTheHalfAndTakesTheHighestOnTies) {
  const mig::ModelSpec spec = quarters_and_halves();
  EXPECT_EQ(best_start(spec, {{0, 1}}, 0), 0);  // 2 and 3 would break the other half
  EXPECT_EQ(best_start(spec, {}, 0), 3);        // all four cost the same
  EXPECT_EQ(driver_start(spec, {}, 0), 0);      // and the driver takes the lowest
  EXPECT_EQ(best_start(spec, {{1, 0}, {1, 2}}, 0), std::nullopt);
}

TEST(Naive, EngineVariantsAreOneGeometryAndAreLimited) {
  const mig::ModelSpec spec = quarters_and_halves();
  EXPECT_EQ(geometries(spec), (std::vector<int>{0, 1}));
  EXPECT_TRUE(within_limits(spec, {{2, 0}, {1, 2}}));
  EXPECT_FALSE(within_limits(spec, {{2, 0}, {2, 2}}));
}

// Per half: empty, two single quarters, both quarters, one half: 5; two halves: 25.
TEST(Naive, LayoutsAreCounted) {
  const mig::ModelSpec spec = quarters_and_halves();
  EXPECT_EQ(layouts(spec, geometries(spec)).size(), 25U);
}

TEST(Naive, OversubscribedSpecificationIsNotSound) {
  mig::ModelSpec spec = quarters_and_halves();
  EXPECT_TRUE(is_sound(spec));
  spec.compute_slices = 3;
  EXPECT_FALSE(is_sound(spec));
}

}  // namespace
}  // namespace tangram::naive
