// RateLimiter: bursts, refill, clients apart from each other, a changed rate, and bounded memory.
#include "base/rate_limiter.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tangram {
namespace {

using std::chrono::milliseconds;

constexpr RateLimiter::Time kStart{std::chrono::hours(1)};

TEST(RateLimiter, AllowsABurstAndThenTheRate) {
  RateLimiter limiter(3, 2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter.try_acquire("a", kStart));
  EXPECT_FALSE(limiter.try_acquire("a", kStart));
  EXPECT_TRUE(limiter.try_acquire("b", kStart));
  EXPECT_FALSE(limiter.try_acquire("a", kStart + milliseconds(400)));
  EXPECT_TRUE(limiter.try_acquire("a", kStart + milliseconds(500)));
  EXPECT_FALSE(limiter.try_acquire("a", kStart + milliseconds(500)));
}

TEST(RateLimiter, AskingTakesNothing) {
  RateLimiter limiter(1, 1);
  EXPECT_TRUE(limiter.can_acquire("a", kStart));
  EXPECT_TRUE(limiter.can_acquire("a", kStart));
  EXPECT_TRUE(limiter.try_acquire("a", kStart));
  EXPECT_FALSE(limiter.can_acquire("a", kStart));
  EXPECT_FALSE(limiter.can_acquire("a", kStart + milliseconds(999)));
  EXPECT_TRUE(limiter.can_acquire("a", kStart + milliseconds(1'000)));
}

TEST(RateLimiter, AChangedRateAppliesToTakenTokens) {
  RateLimiter limiter(2, 1);
  EXPECT_TRUE(limiter.try_acquire("a", kStart));
  EXPECT_TRUE(limiter.try_acquire("a", kStart));
  limiter.set_rate(4, 10);
  EXPECT_TRUE(limiter.try_acquire("a", kStart));
  EXPECT_TRUE(limiter.try_acquire("a", kStart));
  EXPECT_FALSE(limiter.try_acquire("a", kStart));
  EXPECT_TRUE(limiter.try_acquire("a", kStart + milliseconds(100)));
}

// Many clients do not give one that is out of tokens new ones, as long as any bucket is full.
TEST(RateLimiter, DropsFullBucketsOnly) {
  RateLimiter limiter(1, 1);
  const RateLimiter::Time later = kStart + milliseconds(1'500);
  for (int i = 0; i < 9'999; ++i) EXPECT_TRUE(limiter.try_acquire(std::to_string(i), kStart));
  EXPECT_TRUE(limiter.try_acquire("empty", later));
  EXPECT_TRUE(limiter.try_acquire("new", later));
  EXPECT_FALSE(limiter.try_acquire("empty", later));
}

}  // namespace
}  // namespace tangram
