// Placements as people write them: what is read, what is refused and with which words.
#include "mig/layout.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::model;
using testing::try_layout;

const Model& a100() { return model("A100-40GB"); }

std::string refusal(const Model& m, std::initializer_list<std::string_view> texts) {
  const Result<Layout> layout = try_layout(m, texts);
  return layout ? "(legal)" : layout.error().message;
}

TEST(ParsePlacement, ReadsProfileAndStart) {
  EXPECT_EQ(*parse_placement("2g.10gb@4"), (PlacementText{"2g.10gb", 4}));
  EXPECT_EQ(*parse_placement("1g.24gb+me.all@15"), (PlacementText{"1g.24gb+me.all", 15}));
}

TEST(ParsePlacement, RefusesAnythingElse) {
  for (const char* text :
       {"", "@", "@4", "2g.10gb", "2g.10gb@", "2g.10gb@x", "2g.10gb@4x", "2g.10gb@ 4", "2g.10gb@+4",
        "2g.10gb@-1", "2g.10gb@16", "2g.10gb@4@4", "2g.10gb@99999999999999999999"}) {
    const Result<PlacementText> parsed = parse_placement(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid);
    EXPECT_EQ(parsed.error().message,
              "cannot read the placement '" + std::string(text) +
                  "'; write PROFILE@START, e.g. 2g.10gb@4, with a start from 0 to 15.");
  }
}

TEST(Layout, KeepsTheOrderGiven) {
  const Result<Layout> layout = try_layout(a100(), {"1g.5gb@6", "2g.10gb@4"});
  ASSERT_TRUE(layout.has_value());
  ASSERT_EQ(layout->placements().size(), 2U);
  EXPECT_EQ(to_string(a100(), layout->placements()[0]), "1g.5gb@6");
  EXPECT_EQ(to_string(a100(), layout->placements()[1]), "2g.10gb@4");
  EXPECT_EQ(a100().slices(layout->occupancy()), 0b01110000);
  EXPECT_EQ(a100().compute_used(layout->occupancy()), 3);
}

TEST(Layout, OfNothingIsTheEmptyGpu) { EXPECT_EQ(try_layout(a100(), {})->occupancy(), kEmpty); }

TEST(Layout, RefusesAnOverlapAndNamesBoth) {
  EXPECT_EQ(refusal(a100(), {"4g.20gb@0", "1g.5gb@4", "2g.10gb@2"}),
            "2g.10gb@2 overlaps 4g.20gb@0: both take memory slices from 2 on.");
  EXPECT_EQ(refusal(a100(), {"1g.5gb@3", "4g.20gb@0"}),
            "4g.20gb@0 overlaps 1g.5gb@3: both take memory slices from 3 on.");
  EXPECT_EQ(refusal(a100(), {"1g.5gb@3", "1g.5gb@3"}),
            "1g.5gb@3 overlaps 1g.5gb@3: both take memory slices from 3 on.");
}

TEST(Layout, RefusesOneTooMany) {
  EXPECT_EQ(refusal(a100(), {"1g.5gb+me@0", "1g.5gb@1", "1g.5gb+me@2"}),
            "1g.5gb+me@2 is one too many: a GPU can have at most 1 1g.5gb+me.");
  EXPECT_EQ(refusal(model("RTX-PRO-6000-96GB"), {"1g.24gb+me.all@0", "1g.24gb@3"}),
            "1g.24gb@3 is one too many: 1g.24gb+me.all has all media engines: only -me profiles "
            "can be added.");
}

TEST(Layout, RefusesUnknownProfilesAndIllegalStarts) {
  EXPECT_EQ(try_layout(a100(), {"5g.20gb@0"}).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(refusal(a100(), {"4g.20gb@4"}),
            "a 4g.20gb cannot start at 4 on A100-40GB; allowed: 0.");
}

TEST(ForEachLayout, EnumeratesAnA30InOrder) {
  const Model& m = model("A30-24GB");
  const std::vector<ProfileIndex> halves = {testing::profile(m, "2g.12gb"),
                                            testing::profile(m, "4g.24gb")};
  std::vector<std::string> seen;
  for_each_layout(m, halves, [&](std::span<const Placement> placements, Occupancy) {
    std::string text;
    for (const Placement& p : placements) text += to_string(m, p) + " ";
    seen.push_back(text);
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"", "2g.12gb@0 ", "2g.12gb@0 2g.12gb@2 ", "4g.24gb@0 ",
                                            "2g.12gb@2 "}));
}

}  // namespace
}  // namespace tangram::mig
