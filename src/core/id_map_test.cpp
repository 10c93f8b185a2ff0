// IdMap against std::map: random inserts and erases, ids that all want the same cell, and every
// order of erasing a run of them, so that a gap closed wrongly loses or doubles an id.
#include "core/id_map.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

using Oracle = std::map<std::uint64_t, std::uint32_t>;

testing::AssertionResult same(const IdMap& map, const Oracle& oracle,
                              std::span<const std::uint64_t> ids) {
  if (map.size() != oracle.size()) return testing::AssertionFailure() << "size " << map.size();
  for (const std::uint64_t id : ids) {
    const auto at = oracle.find(id);
    const JobSlot expected = at == oracle.end() ? kNoJob : JobSlot(at->second);
    if (map.find(JobId(id)) != expected) return testing::AssertionFailure() << "id " << id;
  }
  return testing::AssertionSuccess();
}

TEST(IdMap, StartsEmpty) {
  const IdMap map;
  EXPECT_EQ(map.size(), 0U);
  EXPECT_EQ(map.find(JobId(0)), kNoJob);
  EXPECT_EQ(map.find(JobId(~std::uint64_t{0})), kNoJob);
}

// A step of 2^24 does not change the home in the first table of 16 cells, one of 2^44 not in any
// table up to 2^24 cells.
TEST(IdMap, RandomInsertsAndErases) {
  for (const unsigned shift : {0U, 1U, 24U, 44U}) {
    for (const std::size_t range : {5U, 7U, 40U, 1000U}) {
      std::vector<std::uint64_t> ids;
      for (std::uint64_t i = 0; i < range; ++i) ids.push_back((i << shift) + (i % 3));
      std::mt19937_64 random(range * 100 + shift);
      IdMap map;
      Oracle oracle;
      for (std::uint32_t step = 0; step < 4'000; ++step) {
        const std::uint64_t id = ids[random() % ids.size()];
        if (oracle.erase(id) == 1) {
          map.erase(JobId(id));
        } else {
          map.insert(JobId(id), JobSlot(step));
          oracle.emplace(id, step);
        }
        const bool all = range <= 40 || step % 100 == 0;
        ASSERT_TRUE(same(map, oracle, all ? std::span(ids) : std::span(&id, 1)))
            << "shift " << shift << ", of " << range << ", step " << step;
      }
    }
  }
}

// Runs of up to six ids with two homes, at every place of the table, so that some runs go over its
// end: each order of erasing them must leave the others where they are found.
TEST(IdMap, ErasingClosesTheGapInEveryOrder) {
  for (std::uint64_t base = 0; base < 64; ++base) {
    std::array<std::uint64_t, 6> ids{};
    for (std::uint64_t i = 0; i < ids.size(); ++i) ids[i] = base + (i << 24U) + (i % 2) * 3;
    std::array<std::size_t, 6> order{0, 1, 2, 3, 4, 5};
    do {
      IdMap map;
      Oracle oracle;
      for (const std::uint64_t id : ids) {
        map.insert(JobId(id), JobSlot(static_cast<std::uint32_t>(id)));
        oracle.emplace(id, static_cast<std::uint32_t>(id));
      }
      for (const std::size_t i : order) {
        map.erase(JobId(ids[i]));
        oracle.erase(ids[i]);
        ASSERT_TRUE(same(map, oracle, ids)) << "base " << base;
      }
    } while (std::ranges::next_permutation(order).found);
  }
}

TEST(IdMap, GrowsAndKeepsAll) {
  IdMap map;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    map.insert(JobId(std::uint64_t{i} * i), JobSlot(i));
    ASSERT_EQ(map.size(), i + 1);
  }
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    ASSERT_EQ(map.find(JobId(std::uint64_t{i} * i)), JobSlot(i));
  }
}

TEST(IdMapDeathTest, RefusesWhatIsThereAndWhatIsNot) {
  IdMap map;
  map.insert(JobId(7), JobSlot(1));
  EXPECT_DEATH(map.insert(JobId(7), JobSlot(2)), "CHECK");
  EXPECT_DEATH(map.erase(JobId(8)), "CHECK");
}

}  // namespace
}  // namespace tangram::core
