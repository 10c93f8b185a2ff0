// Table I of the paper (§II): the GPU instance profiles of an A100 40GB, row by row, and what §II
// says of them in words. Deviation: NVIDIA's list has a seventh profile, 1g.5gb+me, which the paper
// leaves out; it has the geometry of 1g.5gb, so it is placeable but adds nothing to FragCost.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::occupied;
using testing::placement;
using testing::profile;

const Model& a100() { return testing::model("A100-40GB"); }

struct TableRow {
  const char* profile;
  int compute_slices;
  int memory_slices;
  std::vector<int> starting_idx;
  int size;
};

const std::vector<TableRow>& table_1() {
  static const std::vector<TableRow> rows = {
      {"7g.40gb", 7, 8, {0}, 8},          {"4g.20gb", 4, 4, {0}, 4},
      {"3g.20gb", 3, 4, {0, 4}, 4},       {"2g.10gb", 2, 2, {0, 2, 4}, 2},
      {"1g.10gb", 1, 2, {0, 2, 4, 6}, 2}, {"1g.5gb", 1, 1, {0, 1, 2, 3, 4, 5, 6}, 1},
  };
  return rows;
}

TEST(PaperTable1, GpuInstanceProfilesOnA100) {
  for (const TableRow& row : table_1()) {
    const Profile& p = a100().profile(profile(a100(), row.profile));
    EXPECT_EQ(p.compute_slices, row.compute_slices) << row.profile;
    EXPECT_EQ(p.memory_slices, row.memory_slices) << row.profile;
    EXPECT_EQ(p.starts, row.starting_idx) << row.profile;
    const SliceMask range = a100().range(placement(a100(), std::string(row.profile) + "@0"));
    EXPECT_EQ(range, (1 << row.size) - 1) << row.profile;  // Size, from index 0 on
  }
}

// FragCost averages over the profiles of the table and no others.
TEST(PaperTable1, AreTheProfilesFragCostAveragesOver) {
  std::vector<std::string> averaged;
  for (const ProfileIndex p : a100().representatives()) averaged.push_back(a100().profile(p).name);
  std::vector<std::string> rows;
  for (const TableRow& row : table_1()) rows.emplace_back(row.profile);
  std::ranges::sort(averaged);
  std::ranges::sort(rows);
  EXPECT_EQ(averaged, rows);
}

// §II-C: "A100 40 GB can be partitioned into 1g, 2g, 3g, 4g, or 7g, but not 5g and 6g."
TEST(PaperSection2C, ThereIsNo5gAnd6g) {
  for (const Profile& p : a100().profiles()) {
    EXPECT_NE(p.compute_slices, 5);
    EXPECT_NE(p.compute_slices, 6);
  }
}

// §II-B: "A GPU with configuration [4g,3g] can be reconfigured to [4g,2g,1g] by destroying the 3g
// MIG instance and then creating the 2g and 1g MIG instance".
TEST(PaperSection2B, Reconfigures4g3gTo4g2g1g) {
  Occupancy o = occupied(a100(), {"4g.20gb@0", "3g.20gb@4"});
  EXPECT_EQ(a100().feasible(o, profile(a100(), "1g.5gb")), 0);
  o = a100().without(o, placement(a100(), "3g.20gb@4"));
  o = a100().with(o, placement(a100(), "2g.10gb@4"));
  o = a100().with(o, placement(a100(), "1g.5gb@6"));
  EXPECT_EQ(o, occupied(a100(), {"4g.20gb@0", "2g.10gb@4", "1g.5gb@6"}));
  EXPECT_EQ(a100().compute_used(o), 7);
}

}  // namespace
}  // namespace tangram::mig
