// Arrangements: the paper's multiset on its four GPUs, a small case against all subsets of
// placements, and what cannot be arranged.
#include "sim/arrangements.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::sim {
namespace {

using mig::testing::model;
using ::testing::HasSubstr;

using Content = std::map<std::string, int>;  // instances by profile
using Contents = std::vector<Content>;       // by GPU

Content content_of(const mig::Model& m, const std::vector<mig::Placement>& layout) {
  Content content;
  for (const mig::Placement& p : layout) ++content[m.profile(p.profile).name];
  return content;
}

Contents contents_of(const mig::Model& m, const Arrangement& arrangement) {
  Contents contents;
  for (const auto& layout : arrangement) contents.push_back(content_of(m, layout));
  return contents;
}

bool is_legal(const mig::Model& m, const std::vector<mig::Placement>& layout) {
  std::vector<mig::PlacementText> texts;
  for (const mig::Placement& p : layout) texts.push_back({m.profile(p.profile).name, p.start});
  return mig::Layout::make(m, texts).has_value();
}

TEST(Arrangements, ThePapersInstancesHave276) {
  const mig::Model& a100 = model("A100-40GB");
  const auto all = arrangements(a100, paper_mix(), 4);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 276U);
  const Content wanted{{"1g.5gb", 4}, {"2g.10gb", 3}, {"3g.20gb", 3}, {"4g.20gb", 2}};
  std::set<Contents> different;
  for (const Arrangement& arrangement : *all) {
    ASSERT_EQ(arrangement.size(), 4U);
    Content content;
    for (const auto& layout : arrangement) {
      EXPECT_TRUE(is_legal(a100, layout));
      for (const auto& [profile, count] : content_of(a100, layout)) content[profile] += count;
    }
    EXPECT_EQ(content, wanted);
    different.insert(contents_of(a100, arrangement));
  }
  EXPECT_EQ(different.size(), all->size());
}

// Every content that a subset of all placements gives a GPU, if the subset is legal.
std::set<Content> all_contents(const mig::Model& m, const std::vector<std::string>& profiles) {
  std::vector<mig::Placement> placements;
  for (const std::string& name : profiles) {
    const mig::ProfileIndex profile = mig::testing::profile(m, name);
    for (const int start : m.profile(profile).starts) {
      placements.push_back(mig::testing::or_stop(m.placement(profile, start)));
    }
  }
  std::set<Content> contents;
  for (unsigned subset = 0; subset < 1U << placements.size(); ++subset) {
    std::vector<mig::Placement> layout;
    for (std::size_t i = 0; i < placements.size(); ++i) {
      if ((subset >> i & 1U) != 0) layout.push_back(placements[i]);
    }
    if (is_legal(m, layout)) contents.insert(content_of(m, layout));
  }
  return contents;
}

TEST(Arrangements, AreAllThereAre) {
  const mig::Model& a30 = model("A30-24GB");
  const std::set<Content> contents = all_contents(a30, {"1g.6gb", "2g.12gb"});
  for (int ones = 1; ones <= 8; ++ones) {
    for (int twos = 1; twos <= 4; ++twos) {
      std::set<Contents> expected;
      for (const Content& first : contents) {
        for (const Content& second : contents) {
          Content both = first;
          for (const auto& [profile, count] : second) both[profile] += count;
          if (both == Content{{"1g.6gb", ones}, {"2g.12gb", twos}}) {
            expected.insert({first, second});
          }
        }
      }
      const auto found = arrangements(a30, {{"1g.6gb", ones}, {"2g.12gb", twos}}, 2);
      EXPECT_EQ(found.has_value(), !expected.empty()) << ones << " and " << twos;
      if (!found) continue;
      std::set<Contents> got;
      for (const Arrangement& arrangement : *found) got.insert(contents_of(a30, arrangement));
      EXPECT_EQ(got, expected) << ones << " and " << twos;
      EXPECT_EQ(found->size(), expected.size());
    }
  }
}

TEST(Arrangements, WhatDoesNotFitIsAnError) {
  const auto found = arrangements(model("A100-40GB"), {{"4g.20gb", 3}}, 2);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(found.error().message,
            "no arrangement of the instances fits on 2 GPUs of model A100-40GB; use "
            "fewer or smaller ones.");
  EXPECT_FALSE(arrangements(model("A100-40GB"), {{"1g.5gb", 1}}, 0));
}

TEST(Arrangements, UnknownProfilesAreAnError) {
  const auto found = arrangements(model("A100-40GB"), {{"1g.5gb", 1}, {"2g.12gb", 1}}, 1);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, HasSubstr("no profile '2g.12gb'; did you mean 2g.10gb?"));
}

}  // namespace
}  // namespace tangram::sim
