// BitRow against std::set: find-next over every pair of borders, for rows about the ends of the
// words.
#include "core/bit_row.hpp"

#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

std::size_t next_of(const std::set<std::size_t>& oracle, std::size_t from, std::size_t end) {
  const auto at = oracle.lower_bound(from);
  return at == oracle.end() || *at >= end ? BitRow::kNone : *at;
}

TEST(BitRow, EmptyRowHasNothing) {
  const BitRow row;
  EXPECT_EQ(row.next(0, 0), BitRow::kNone);
  EXPECT_EQ(row.bytes(), 0U);
}

TEST(BitRow, NextOverEveryPairOfBorders) {
  for (const std::size_t bits : {1U, 2U, 63U, 64U, 65U, 127U, 128U, 129U, 193U}) {
    for (const std::size_t members : {1U, 3U, 20U}) {
      std::mt19937 random(static_cast<unsigned>(bits * 100 + members));
      BitRow row(bits);
      std::set<std::size_t> oracle;
      for (std::size_t i = 0; i < members; ++i) {
        const std::size_t bit = random() % bits;
        row.set(bit);
        oracle.insert(bit);
      }
      for (std::size_t from = 0; from <= bits; ++from) {
        for (std::size_t end = 0; end <= bits; ++end) {
          ASSERT_EQ(row.next(from, end), next_of(oracle, from, from > end ? 0 : end))
              << "of " << bits << " from " << from << " to " << end;
        }
      }
    }
  }
}

TEST(BitRow, EveryBitIsSetAndClearedAlone) {
  constexpr std::size_t kBits = 130;
  BitRow row(kBits);
  for (std::size_t i = 0; i < kBits; ++i) row.set(i);
  for (std::size_t i = 0; i < kBits; ++i) {
    ASSERT_EQ(row.next(0, kBits), i);
    row.clear(i);
    row.clear(i);  // twice is once
  }
  EXPECT_EQ(row.next(0, kBits), BitRow::kNone);
  for (std::size_t i = kBits; i-- > 0;) {
    row.set(i);
    row.set(i);
    ASSERT_EQ(row.next(0, kBits), i);
    ASSERT_EQ(row.next(0, i), BitRow::kNone);
  }
}

}  // namespace
}  // namespace tangram::core
