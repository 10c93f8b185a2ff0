// The limits on instances beyond geometry: which may be combined, with the message. Each pair is
// tried in both orders.
#include "mig/limits.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::model;
using testing::profile;

std::string broken(const Model& m, std::initializer_list<std::string_view> present,
                   std::string_view wanted) {
  std::vector<ProfileIndex> profiles;
  for (const std::string_view name : present) profiles.push_back(profile(m, name));
  const auto why = limit_broken(m, profiles, profile(m, wanted));
  EXPECT_EQ(within_limits(m, profiles, profile(m, wanted)), !why.has_value());
  return why.value_or("");
}

TEST(Limits, OneExtendedInstancePerA100) {
  const Model& m = model("A100-40GB");
  EXPECT_EQ(broken(m, {}, "1g.5gb+me"), "");
  EXPECT_EQ(broken(m, {"1g.5gb", "3g.20gb"}, "1g.5gb+me"), "");
  EXPECT_EQ(broken(m, {"1g.5gb+me"}, "1g.5gb"), "");
  EXPECT_EQ(broken(m, {"1g.5gb", "1g.5gb+me"}, "1g.5gb+me"), "a GPU can have at most 1 1g.5gb+me.");
}

TEST(Limits, TheTwoExtendedKindsOfAnA30ExcludeEachOther) {
  const Model& m = model("A30-24GB");
  EXPECT_EQ(broken(m, {"1g.6gb+me"}, "2g.12gb+me"),
            "a GPU can have one instance with +me engines, and 1g.6gb+me already has them.");
  EXPECT_EQ(broken(m, {"2g.12gb+me"}, "1g.6gb+me"),
            "a GPU can have one instance with +me engines, and 2g.12gb+me already has them.");
  EXPECT_EQ(broken(m, {"2g.12gb+me"}, "2g.12gb"), "");
}

TEST(Limits, BesideAllMediaOnlyNoMedia) {
  const Model& m = model("RTX-PRO-6000-96GB");
  const std::string why = " has all media engines: only -me profiles can be added.";
  EXPECT_EQ(broken(m, {"1g.24gb+me.all"}, "1g.24gb"), "1g.24gb+me.all" + why);
  EXPECT_EQ(broken(m, {"1g.24gb+me.all"}, "1g.24gb+gfx"), "1g.24gb+me.all" + why);
  EXPECT_EQ(broken(m, {"2g.48gb+me.all"}, "2g.48gb+gfx"), "2g.48gb+me.all" + why);
  EXPECT_EQ(broken(m, {"2g.48gb+me.all"}, "1g.24gb-me"), "");
  EXPECT_EQ(broken(m, {"1g.24gb+me.all", "1g.24gb-me"}, "2g.48gb-me"), "");
}

TEST(Limits, AllMediaNeedsThatNoInstanceHasAny) {
  const Model& m = model("RTX-PRO-6000-96GB");
  EXPECT_EQ(broken(m, {"1g.24gb"}, "1g.24gb+me.all"),
            "1g.24gb+me.all needs all media engines, but 1g.24gb has some of them.");
  EXPECT_EQ(broken(m, {"1g.24gb-me", "2g.48gb+gfx"}, "1g.24gb+me.all"),
            "1g.24gb+me.all needs all media engines, but 2g.48gb+gfx has some of them.");
  EXPECT_EQ(broken(m, {"1g.24gb-me", "2g.48gb-me"}, "1g.24gb+me.all"), "");
}

TEST(Limits, ExtendedAndAllMediaShareTheSameEngines) {
  const Model& m = model("RTX-PRO-6000-96GB");
  EXPECT_NE(broken(m, {"1g.24gb+me"}, "1g.24gb+me.all"), "");
  EXPECT_NE(broken(m, {"1g.24gb+me.all"}, "1g.24gb+me"), "");
  EXPECT_NE(broken(m, {"1g.24gb+me.all"}, "2g.48gb+me.all"), "");
}

TEST(Limits, GraphicsAndNoMediaCoexistWithTheOthers) {
  const Model& m = model("RTX-PRO-6000-96GB");
  EXPECT_EQ(broken(m, {"1g.24gb+gfx", "1g.24gb+gfx", "1g.24gb"}, "1g.24gb+me"), "");
  EXPECT_EQ(broken(m, {"1g.24gb+me", "1g.24gb-me"}, "1g.24gb+gfx"), "");
}

TEST(Limits, EachProfileHasItsOwnMaximum) {
  const Model& m = model("A100-40GB");
  EXPECT_EQ(broken(m, {"3g.20gb"}, "3g.20gb"), "");
  EXPECT_EQ(broken(m, {"3g.20gb", "3g.20gb"}, "3g.20gb"), "a GPU can have at most 2 3g.20gb.");
}

TEST(Limits, AreKnownWhereGeometryDoesNotEnforceThem) {
  const Model& a100 = model("A100-40GB");
  for (const char* name : {"1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}) {
    EXPECT_FALSE(is_limited(a100, profile(a100, name))) << name;
  }
  EXPECT_TRUE(is_limited(a100, profile(a100, "1g.5gb+me")));
  const Model& rtx = model("RTX-PRO-6000-96GB");
  EXPECT_TRUE(is_limited(rtx, profile(rtx, "2g.48gb+me.all")));
  EXPECT_FALSE(is_limited(rtx, profile(rtx, "1g.24gb-me")));
  const Model two_of_four =
      *Model::build(testing::made_spec(4, 4, {testing::made_profile("p", 1, 1, {0, 1, 2, 3}, 2)}));
  EXPECT_TRUE(is_limited(two_of_four, ProfileIndex(0)));
}

// Starts 0, 1, 2 of size 2: three starts, but two side by side at most.
TEST(Limits, OverlappingStartsDoNotCountTwice) {
  const Model m =
      *Model::build(testing::made_spec(4, 4, {testing::made_profile("p", 1, 2, {0, 1, 2}, 2)}));
  EXPECT_FALSE(is_limited(m, ProfileIndex(0)));
}

TEST(Media, IsGivenByTheSuffix) {
  EXPECT_EQ(media_of("1g.24gb"), Media::kStandard);
  EXPECT_EQ(media_of("1g.24gb+gfx"), Media::kStandard);
  EXPECT_EQ(media_of("1g.24gb+me"), Media::kExtended);
  EXPECT_EQ(media_of("1g.24gb+me.all"), Media::kAll);
  EXPECT_EQ(media_of("1g.24gb-me"), Media::kNone);
}

}  // namespace
}  // namespace tangram::mig
