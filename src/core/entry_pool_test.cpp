// EntryPool against a vector per GPU: random pushes, erases and clears keep every block's entries
// and their order, blocks never share memory, and what is given back is used again.
#include "core/entry_pool.hpp"

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

Entry entry(std::uint32_t id) { return {.placement = {}, .id = InstanceId(id)}; }

testing::AssertionResult same(const EntryPool& pool, const EntryBlock& block,
                              const std::vector<std::uint32_t>& ids) {
  const std::span<const Entry> entries = pool.of(block);
  if (entries.size() != ids.size()) return testing::AssertionFailure() << entries.size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (entries[i].id != InstanceId(ids[i])) return testing::AssertionFailure() << "at " << i;
  }
  return testing::AssertionSuccess();
}

TEST(EntryPool, RandomChangesOfManyBlocks) {
  constexpr std::size_t kBlocks = 40;
  std::mt19937 random(1);
  EntryPool pool;
  std::vector<EntryBlock> blocks(kBlocks);
  std::vector<std::vector<std::uint32_t>> oracle(kBlocks);
  for (std::uint32_t step = 1; step <= 20'000; ++step) {
    const std::size_t b = random() % kBlocks;
    const std::size_t what = random() % 100;
    if (what < 2) {
      pool.clear(blocks[b]);
      oracle[b].clear();
    } else if (what < 40 && !oracle[b].empty()) {
      const std::size_t at = random() % oracle[b].size();
      pool.erase(blocks[b], at);
      oracle[b].erase(oracle[b].begin() + static_cast<std::ptrdiff_t>(at));
    } else if (oracle[b].size() < 32) {
      pool.push(blocks[b], entry(step));
      oracle[b].push_back(step);
    }
    ASSERT_TRUE(same(pool, blocks[b], oracle[b])) << "step " << step;
    if (step % 50 != 0) continue;
    for (std::size_t i = 0; i < kBlocks; ++i) ASSERT_TRUE(same(pool, blocks[i], oracle[i])) << i;
  }
}

TEST(EntryPool, BlocksGrowFromFourToThirtyTwoAndKeepTheOrder) {
  EntryPool pool;
  EntryBlock block;
  EXPECT_TRUE(pool.of(block).empty());
  const auto size_class = [](std::uint32_t entries) {
    if (entries <= 4) return 0;
    if (entries <= 8) return 1;
    return entries <= 16 ? 2 : 3;
  };
  std::vector<std::uint32_t> ids;
  for (std::uint32_t id = 1; id <= 32; ++id) {
    pool.push(block, entry(id));
    ids.push_back(id);
    ASSERT_TRUE(same(pool, block, ids));
    EXPECT_EQ(int{block.size_class}, size_class(id));
  }
}

// A step must not allocate: a pool that has held so much before does not grow when it holds as
// much again.
TEST(EntryPool, UsesAgainWhatWasGivenBack) {
  EntryPool pool;
  std::size_t bytes = 0;
  for (int round = 0; round < 10; ++round) {
    std::vector<EntryBlock> blocks(9);
    for (std::uint32_t id = 1; id <= 32; ++id) {
      for (EntryBlock& block : blocks) pool.push(block, entry(id));
    }
    for (EntryBlock& block : blocks) {
      pool.clear(block);
      EXPECT_TRUE(pool.of(block).empty());
    }
    if (round == 1) bytes = pool.bytes();
    if (round > 1) {
      EXPECT_EQ(pool.bytes(), bytes);
    }
  }
}

TEST(EntryPoolDeathTest, RefusesTheThirtyThirdAndWhatIsNotThere) {
  EntryPool pool;
  EntryBlock block;
  EXPECT_DEATH(pool.erase(block, 0), "CHECK");
  for (std::uint32_t id = 1; id <= 32; ++id) pool.push(block, entry(id));
  EXPECT_DEATH(pool.push(block, entry(33)), "CHECK");
  EXPECT_DEATH(pool.erase(block, 32), "CHECK");
}

// Which states hold slices: all but idle and going ones; a promise only while it is a job's.
TEST(Entry, OccupiesAndIsPhysicalByItsState) {
  struct Row {
    EntryState state;
    bool without_job;
    bool with_job;
    bool physical;
  };
  constexpr Row kRows[] = {
      {EntryState::kReserved, false, true, false},   {EntryState::kCreating, false, true, true},
      {EntryState::kIdle, false, false, true},       {EntryState::kHeld, true, true, true},
      {EntryState::kDestroying, false, false, true}, {EntryState::kQuarantined, true, true, true},
      {EntryState::kForeign, true, true, true},
  };
  for (const Row& row : kRows) {
    Entry e{.placement = {}, .state = row.state, .id = InstanceId(1)};
    EXPECT_EQ(e.occupies(), row.without_job) << static_cast<int>(row.state);
    EXPECT_EQ(e.physical(), row.physical) << static_cast<int>(row.state);
    e.job = JobSlot(0);
    EXPECT_EQ(e.occupies(), row.with_job) << static_cast<int>(row.state);
  }
}

}  // namespace
}  // namespace tangram::core
