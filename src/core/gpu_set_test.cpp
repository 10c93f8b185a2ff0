// GpuSet and CountedGpuSet against std::set: members, the first, the next from every place and the
// bits of the blocks, for capacities about every border of the levels, up to 70,000 and beyond.
#include "core/gpu_set.hpp"

#include <algorithm>
#include <initializer_list>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

using Oracle = std::set<std::uint32_t>;
constexpr std::uint32_t kSizes[] = {1,     2,      63,     64,     65,    127,
                                    128,   129,    1'000,  4'095,  4'096, 4'097,
                                    8'192, 65'535, 65'536, 65'537, 70'000};

std::uint32_t next_of(const Oracle& oracle, std::uint32_t from) {
  const auto at = oracle.lower_bound(from);
  return at == oracle.end() ? GpuSet::kNone : *at;
}

testing::AssertionResult same_at(const GpuSet& set, const Oracle& oracle, std::uint32_t gpu) {
  if (set.empty() != oracle.empty()) return testing::AssertionFailure() << "empty";
  if (set.first() != next_of(oracle, 0)) return testing::AssertionFailure() << "first";
  if (set.next(gpu) != next_of(oracle, gpu)) return testing::AssertionFailure() << "next " << gpu;
  if (set.contains(gpu) != oracle.contains(gpu)) return testing::AssertionFailure() << gpu;
  return testing::AssertionSuccess();
}

testing::AssertionResult same(const GpuSet& set, const Oracle& oracle, std::uint32_t size) {
  for (std::uint32_t gpu = 0; gpu <= size + 200; ++gpu) {
    if (const auto ok = same_at(set, oracle, gpu); !ok) return ok;
    const bool bit = ((set.block(gpu / 64) >> (gpu % 64)) & 1U) != 0;
    if (bit != oracle.contains(gpu)) return testing::AssertionFailure() << "block of " << gpu;
  }
  return testing::AssertionSuccess();
}

TEST(GpuSet, NeverUsedOwnsNothing) {
  const GpuSet set;
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.bytes(), 0U);
  EXPECT_EQ(set.first(), GpuSet::kNone);
  EXPECT_FALSE(set.contains(0));
  EXPECT_EQ(set.block(0), 0U);
}

// Every single member and every pair of a small set; erased again, it is empty.
TEST(GpuSet, EveryPairOfASmallSet) {
  constexpr std::uint32_t kSize = 140;
  for (std::uint32_t a = 0; a < kSize; ++a) {
    for (std::uint32_t b = a; b < kSize; ++b) {
      GpuSet set;
      set.insert(a, kSize);
      set.insert(b, kSize);
      ASSERT_EQ(set.first(), a);
      ASSERT_EQ(set.next(a + 1), a == b ? GpuSet::kNone : b);
      ASSERT_EQ(set.next(b), b);
      ASSERT_EQ(set.next(b + 1), GpuSet::kNone);
      set.erase(a);
      ASSERT_EQ(set.first(), a == b ? GpuSet::kNone : b);
      ASSERT_EQ(set.empty(), a == b);
    }
  }
}

TEST(GpuSet, RandomChangesOfEverySize) {
  for (const std::uint32_t size : kSizes) {
    for (const unsigned members : {2U, 30U, 2'000U}) {
      std::mt19937 random(size + members);
      GpuSet set;
      Oracle oracle;
      for (int step = 0; step < 2'000; ++step) {
        const auto gpu = static_cast<std::uint32_t>(random() % size);
        if (oracle.size() >= members || random() % 3 == 0) {
          const std::uint32_t gone = oracle.empty() ? GpuSet::kNone : set.next(gpu);
          if (gone != GpuSet::kNone) {
            ASSERT_EQ(oracle.erase(gone), 1U);
            set.erase(gone);
          }
        } else {
          set.insert(gpu, size);
          oracle.insert(gpu);
        }
        const auto from = static_cast<std::uint32_t>(random() % (size + 70));
        ASSERT_TRUE(same_at(set, oracle, from)) << "of " << size << ", step " << step;
      }
      ASSERT_TRUE(same(set, oracle, size)) << "of " << size;
      while (!oracle.empty()) {
        set.erase(*oracle.begin());
        oracle.erase(oracle.begin());
        ASSERT_EQ(set.first(), next_of(oracle, 0));
      }
      ASSERT_TRUE(set.empty());
      ASSERT_TRUE(same(set, oracle, size));
    }
  }
}

// The node grows: each member comes with a larger capacity, the older ones stay; a capacity that
// is too small does not count.
TEST(GpuSet, GrowsWithItsMembers) {
  for (const std::uint32_t bound : {0U, 1U, 100U}) {
    GpuSet set;
    Oracle oracle;
    for (const std::uint32_t size : kSizes) {
      set.insert(size - 1, bound == 1 ? size : bound);
      oracle.insert(size - 1);
      ASSERT_TRUE(same(set, oracle, size));
    }
  }
}

// Over 16 million, where the top level has more than one word.
TEST(GpuSet, HugeNumbers) {
  constexpr std::uint32_t kWord = 1U << 24U;
  GpuSet set;
  for (const std::uint32_t gpu : {5U, kWord + 7, 3 * kWord + 1}) set.insert(gpu, 4 * kWord);
  EXPECT_EQ(set.first(), 5U);
  EXPECT_EQ(set.next(6), kWord + 7);
  EXPECT_EQ(set.next(kWord + 8), 3 * kWord + 1);
  EXPECT_EQ(set.next(3 * kWord + 2), GpuSet::kNone);
  set.erase(5);
  set.erase(3 * kWord + 1);
  EXPECT_EQ(set.first(), kWord + 7);
  EXPECT_FALSE(set.empty());
  set.erase(kWord + 7);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.first(), GpuSet::kNone);
}

TEST(GpuSetDeathTest, RefusesToEraseWhatIsNotThere) {
  GpuSet set;
  EXPECT_DEATH(set.erase(3), "CHECK");
  set.insert(2, 10);
  EXPECT_DEATH(set.erase(3), "CHECK");
}

TEST(CountedGpuSet, RandomChangesOfEverySize) {
  for (const std::uint32_t size : kSizes) {
    std::mt19937 random(size);
    CountedGpuSet set;
    Oracle oracle;
    ASSERT_EQ(set.bytes(), 0U);
    const std::uint32_t blocks = (size + 63) / 64;
    for (int step = 0; step < 3'000; ++step) {
      const auto gpu = static_cast<std::uint32_t>(random() % size);
      if (oracle.erase(gpu) == 1) {
        set.erase(gpu);
      } else if (const std::uint32_t old = next_of(oracle, gpu);
                 old != GpuSet::kNone && random() % 2 == 0) {
        oracle.erase(old);
        set.erase(old);
      } else {
        oracle.insert(gpu);
        set.insert(gpu, size);
      }
      ASSERT_EQ(set.empty(), oracle.empty());
      const auto from = static_cast<std::uint32_t>(random() % (blocks + 1));
      const std::uint32_t next = next_of(oracle, from * 64);
      ASSERT_EQ(set.next_block(from), next == GpuSet::kNone ? GpuSet::kNone : next / 64)
          << "of " << size << ", step " << step;
    }
  }
}

// A whole block: it stays until its 64th member is gone.
TEST(CountedGpuSet, AFullBlockCountsItsMembers) {
  CountedGpuSet set;
  for (std::uint32_t gpu = 64; gpu < 128; ++gpu) set.insert(gpu, 0);
  for (std::uint32_t gpu = 127; gpu >= 64; --gpu) {
    ASSERT_EQ(set.next_block(0), 1U);
    ASSERT_EQ(set.next_block(2), GpuSet::kNone);
    set.erase(gpu);
  }
  EXPECT_TRUE(set.empty());
}

TEST(CountedGpuSetDeathTest, RefusesToEraseFromAnEmptyBlock) {
  CountedGpuSet set;
  EXPECT_DEATH(set.erase(0), "CHECK");
  set.insert(0, 100);
  EXPECT_DEATH(set.erase(64), "CHECK");
}

}  // namespace
}  // namespace tangram::core
