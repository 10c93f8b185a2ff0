// Saving and restoring the scheduler, in random worlds with every kind of failure; see shadow.hpp.
#include <gtest/gtest.h>

#include "shadow.hpp"
#include "world.hpp"

namespace tangram::properties {
namespace {

class SavedWorlds : public ::testing::TestWithParam<int> {};

TEST_P(SavedWorlds, RestoredSchedulersGoOnAsTheOriginals) {
  constexpr int kWorlds = 25;
  int restored = 0;
  for (int i = 0; i < kWorlds; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * kWorlds + i + 1);
    Shadow shadow(seed ^ 0x5A7EDU);
    World world(shadow.options({.seed = seed, .steps = 600, .full_checks = false}));
    try {
      world.run();
    } catch (const Broken& broken) {
      FAIL() << world.story() << broken.what() << "\nseed " << seed;
    }
    restored += shadow.restored();
  }
  EXPECT_GT(restored, kWorlds * 10);
}

// Any state that a step leaves can be loaded by the next start of the daemon. Users request moves
// often, also within the cooldown, which restrains only the jobs' owners.
TEST_P(SavedWorlds, EveryStepCanBeRestored) {
  constexpr int kWorlds = 10;
  for (int i = 0; i < kWorlds; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * kWorlds + i + 10'001);
    Shadow shadow(seed ^ 0x5A7EDU, 1'000);
    World world(shadow.options(
        {.seed = seed, .steps = 600, .many_requested_moves = true, .full_checks = false}));
    try {
      world.run();
    } catch (const Broken& broken) {
      FAIL() << world.story() << broken.what() << "\nseed " << seed;
    }
    EXPECT_GE(shadow.restored(), 600);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SavedWorlds, ::testing::Range(0, 8));

}  // namespace
}  // namespace tangram::properties
