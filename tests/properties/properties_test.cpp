// The properties of the scheduler over a million random steps (world.hpp): no overlap, only valid
// placements, each job in one slot or one move, first come first served, no action on a lost GPU,
// no instance destroyed that is in use, nothing forgotten, and in the end nothing left. A failure
// prints its seed; TANGRAM_SEED=N runs that one alone.
#include <cstdio>
#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "world.hpp"

namespace tangram::properties {
namespace {

constexpr int kWorldsPerShard = 250;
constexpr int kStepsPerWorld = 1000;

class Properties : public testing::TestWithParam<int> {};

TEST_P(Properties, HoldAfterEveryStep) {
  const char* const seed_text = std::getenv("TANGRAM_SEED");
  std::uint64_t steps = 0;
  try {
    if (seed_text != nullptr) {
      run_world({.seed = std::strtoull(seed_text, nullptr, 10), .steps = kStepsPerWorld});
      return;
    }
    for (int i = 0; i < kWorldsPerShard; ++i) {
      const auto seed = static_cast<std::uint64_t>(GetParam() * kWorldsPerShard + i + 1);
      steps += run_world({.seed = seed, .steps = kStepsPerWorld});
    }
  } catch (const Broken& broken) {
    FAIL() << broken.what();
  }
  EXPECT_GE(steps, 250'000U);  // four shards: a million
}

INSTANTIATE_TEST_SUITE_P(Seeds, Properties, testing::Range(0, 4));

TEST(Properties, TheSameSeedGivesTheSameTranscript) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const std::uint64_t once = transcript_hash_of(seed, 500);
    EXPECT_EQ(once, transcript_hash_of(seed, 500)) << "seed " << seed;
    hashes.insert(once);
  }
  EXPECT_EQ(hashes.size(), 40U);  // and another seed another one
}

// The worlds must cover everything: every action is requested, every kind of action fails, every
// end of a move and every news of a job occurs.
TEST(Properties, TheWorldsCoverEverything) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    World world({.seed = seed, .steps = kStepsPerWorld, .full_checks = false});
    world.run();
    coverage.add(world.coverage());
  }
  for (std::size_t i = 0; i < coverage.cancelled_in.size(); ++i) {
    std::printf("cancelled in move phase %zu: %d\n", i, coverage.cancelled_in[i]);
  }
  for (std::size_t i = 0; i < coverage.move_news.size(); ++i) {
    std::printf("move news %zu: %d\n", i, coverage.move_news[i]);
  }
  for (std::size_t i = 0; i < coverage.events.size(); ++i) EXPECT_GT(coverage.events[i], 0) << i;
  for (std::size_t i = 0; i < coverage.actions.size(); ++i) EXPECT_GT(coverage.actions[i], 0) << i;
  for (std::size_t i = 0; i < coverage.failures.size(); ++i)
    EXPECT_GT(coverage.failures[i], 0) << i;
  for (std::size_t i = 0; i < coverage.job_news.size(); ++i)
    EXPECT_GT(coverage.job_news[i], 0) << i;
  for (std::size_t i = 0; i < coverage.move_news.size(); ++i) {
    EXPECT_GT(coverage.move_news[i], 0) << i;
  }
  for (std::size_t i = 0; i < coverage.gpu_news.size(); ++i)
    EXPECT_GT(coverage.gpu_news[i], 0) << i;
  // Enough of the rare ends of a move: its job cancelled in each phase of it.
  for (std::size_t i = 1; i < coverage.cancelled_in.size(); ++i) {
    EXPECT_GT(coverage.cancelled_in[i], 0) << "move phase " << i;
  }
}

}  // namespace
}  // namespace tangram::properties
