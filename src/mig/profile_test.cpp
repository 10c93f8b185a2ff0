// See profile.hpp.
#include "mig/profile.hpp"

#include <gtest/gtest.h>

namespace tangram::mig {
namespace {

const std::vector<std::string> kNames = {"1g.5gb",  "1g.5gb+me", "1g.10gb", "2g.10gb",
                                         "3g.20gb", "4g.20gb",   "7g.40gb"};

TEST(NearestProfile, OfAnotherModelsNameHasAsManyComputeSlices) {
  EXPECT_EQ(nearest_profile("4g.40gb", kNames), "4g.20gb");
  EXPECT_EQ(nearest_profile("7g.80gb", kNames), "7g.40gb");
  EXPECT_EQ(nearest_profile("1g.12gb", kNames), "1g.10gb");
  EXPECT_EQ(nearest_profile("1g.6gb", kNames), "1g.5gb");
  EXPECT_EQ(nearest_profile("1g.6gb+me", kNames), "1g.5gb+me");
  EXPECT_EQ(nearest_profile("2g.20gb+gfx", kNames), "2g.10gb");
}

TEST(NearestProfile, IsNoneWhereNoProfileHasSoManyComputeSlices) {
  EXPECT_EQ(nearest_profile("9g.99gb", kNames), std::nullopt);
  EXPECT_EQ(nearest_profile("5g.20gb", kNames), std::nullopt);
}

TEST(NearestProfile, OfAMistypedNameIsTheOneAlikeInLetters) {
  EXPECT_EQ(nearest_profile("3g20gb", kNames), "3g.20gb");
  EXPECT_EQ(nearest_profile("3g.2Ogb", kNames), "3g.20gb");
  EXPECT_EQ(nearest_profile("3G.20GB", kNames), "3g.20gb");
  EXPECT_EQ(nearest_profile("g.gb", kNames), "1g.5gb");
  EXPECT_EQ(nearest_profile("large", kNames), std::nullopt);
  EXPECT_EQ(nearest_profile("3g.20gb", {}), std::nullopt);
}

}  // namespace
}  // namespace tangram::mig
