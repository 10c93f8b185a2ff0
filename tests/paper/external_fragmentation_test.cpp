// §III-A of the paper, external fragmentation: legal indexes, not only free space, decide what
// fits (Fig. 1), and the driver and FragCost both place so that the most stays possible. The
// figure is a picture without numbers; its GPU 1 and GPU 2 are read as one 3g at index 0 and one
// 3g at index 4.
#include <bit>

#include <gtest/gtest.h>

#include "mig/driver.hpp"
#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::occupied;
using testing::profile;

const Model& a100() { return testing::model("A100-40GB"); }
Occupancy gpu_1() { return occupied(a100(), {"3g.20gb@0"}); }
Occupancy gpu_2() { return occupied(a100(), {"3g.20gb@4"}); }

// "GPU 1 has a contiguous 4g space, but a 4g MIG instance cannot be created because it can only be
// created at index 0."
TEST(PaperFigure1, ContiguousSpaceAt4To7CannotHostA4g) {
  EXPECT_EQ(a100().slices(gpu_1()), 0b00001111);  // 4–7 are free
  EXPECT_EQ(a100().ideal(gpu_1(), profile(a100(), "4g.20gb")), 1);
  EXPECT_EQ(a100().feasible(gpu_1(), profile(a100(), "4g.20gb")), 0);
  EXPECT_EQ(a100().best_start(gpu_1(), profile(a100(), "4g.20gb")), std::nullopt);
}

// "GPU 1 and GPU 2 have the same remaining GPU resources but differ in availability. A 4g MIG
// instance can be created on GPU 2 but not on GPU 1."
TEST(PaperFigure1, EqualRemainingSlicesDifferInAvailability) {
  EXPECT_EQ(a100().compute_used(gpu_1()), a100().compute_used(gpu_2()));
  EXPECT_EQ(std::popcount(a100().slices(gpu_1())), std::popcount(a100().slices(gpu_2())));
  EXPECT_EQ(a100().feasible(gpu_2(), profile(a100(), "4g.20gb")), 1);
  EXPECT_EQ(a100().best_start(gpu_2(), profile(a100(), "4g.20gb")), 0);
}

// FragCost distinguishes the two: more is lost on GPU 1.
TEST(PaperFigure1, FragCostIsHigherWhereA4gIsLost) {
  EXPECT_GT(a100().frag_cost(gpu_1()), a100().frag_cost(gpu_2()));
  EXPECT_EQ(a100().frag_cost(gpu_1()).fraction(), "7/24");
  EXPECT_EQ(a100().frag_cost(gpu_2()).fraction(), "0/1");
}

// "When creating a 2g MIG instance, rather than creating on index 0 or 2, it prefers index 4
// because occupying indexes 0-4 restricts the GPU's availability to serve a 4g MIG instance."
// (0-4 in the paper; a 4g takes memory slices 0 to 3.)
TEST(PaperSection3A, A2gPrefersIndex4) {
  const ProfileIndex two = profile(a100(), "2g.10gb");
  EXPECT_EQ(driver_start(a100(), kEmpty, two), 4);
  EXPECT_EQ(a100().best_start(kEmpty, two), 4);
  EXPECT_TRUE(a100().fits(occupied(a100(), {"2g.10gb@4"}), {profile(a100(), "4g.20gb"), 0}));
  EXPECT_FALSE(a100().fits(occupied(a100(), {"2g.10gb@0"}), {profile(a100(), "4g.20gb"), 0}));
  EXPECT_FALSE(a100().fits(occupied(a100(), {"2g.10gb@2"}), {profile(a100(), "4g.20gb"), 0}));
}

// On an empty GPU the lowest FragCost is where the driver goes for the other profiles as well.
TEST(PaperSection3A, LowestFragCostIsTheDriversChoiceOnAnEmptyGpu) {
  for (const ProfileIndex p : a100().representatives()) {
    EXPECT_EQ(a100().best_start(kEmpty, p), driver_start(a100(), kEmpty, p))
        << a100().profile(p).name;
  }
  EXPECT_EQ(a100().best_start(kEmpty, profile(a100(), "3g.20gb")), 4);
  EXPECT_EQ(a100().best_start(kEmpty, profile(a100(), "1g.5gb")), 6);
}

// Fig. 2: instances placed well become external fragmentation when short jobs leave. Here a 4g
// would have the slices it needs, but a 2g was left behind at index 2.
TEST(PaperFigure2, FragmentationAppearsWhenJobsLeave) {
  const Occupancy full = occupied(a100(), {"2g.10gb@4", "2g.10gb@0", "2g.10gb@2", "1g.5gb@6"});
  EXPECT_EQ(a100().frag_cost(full).fraction(), "0/1");
  const Occupancy left = occupied(a100(), {"2g.10gb@2"});
  EXPECT_EQ(a100().ideal(left, profile(a100(), "4g.20gb")), 1);
  EXPECT_EQ(a100().feasible(left, profile(a100(), "4g.20gb")), 0);
  EXPECT_GT(a100().frag_cost(left), a100().frag_cost(occupied(a100(), {"2g.10gb@4"})));
}

}  // namespace
}  // namespace tangram::mig
