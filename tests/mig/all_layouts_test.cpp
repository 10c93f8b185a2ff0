// Every reachable layout of every built-in model, against the naive reference: the geometry is
// small enough to need no sampling. The layouts come from the reference's own enumeration, because
// for_each_layout is under test too.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "mig/catalog.hpp"
#include "mig/layout.hpp"
#include "tests/mig/agreement.hpp"
#include "tests/mig/naive.hpp"

namespace tangram::mig {
namespace {

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelSpec& spec : catalog_specs()) names.push_back(spec.name);
  return names;
}

class AllLayouts : public testing::TestWithParam<std::string> {
 protected:
  static const Model& model() { return **find_model(GetParam()); }

  // The layouts as sorted lists; fails if one is enumerated twice.
  static std::set<naive::Pieces> enumerated(std::span<const ProfileIndex> profiles) {
    std::set<naive::Pieces> seen;
    for_each_layout(model(), profiles, [&](std::span<const Placement> placements, Occupancy o) {
      naive::Pieces pieces;
      for (const Placement& p : placements) pieces.push_back({p.profile.value(), p.start});
      EXPECT_EQ(naive::occupancy_of(model(), pieces), o);
      EXPECT_TRUE(std::ranges::is_sorted(placements, {}, &Placement::start));
      EXPECT_TRUE(seen.insert(pieces).second) << "enumerated twice";
    });
    return seen;
  }
};

TEST_P(AllLayouts, AgreeWithTheNaiveReference) {
  const ModelSpec& spec = model().spec();
  std::size_t layouts = 0;
  for (const naive::Pieces& pieces : naive::layouts(spec, naive::geometries(spec))) {
    ASSERT_EQ(naive::disagreement(model(), pieces), std::nullopt);
    ++layouts;
  }
  EXPECT_GE(layouts, 25U);
}

TEST_P(AllLayouts, AreWhatForEachLayoutGives) {
  const ModelSpec& spec = model().spec();
  const std::vector<naive::Pieces> expected = naive::layouts(spec, naive::geometries(spec));
  EXPECT_EQ(enumerated(model().representatives()),
            std::set<naive::Pieces>(expected.begin(), expected.end()));
}

TEST_P(AllLayouts, WithEngineVariantsStayWithinTheLimits) {
  const ModelSpec& spec = model().spec();
  std::set<naive::Pieces> expected;
  for (const naive::Pieces& pieces : naive::layouts(spec, naive::all_profiles(spec))) {
    if (naive::within_limits(spec, pieces)) expected.insert(pieces);
  }
  std::vector<ProfileIndex> all;
  for (const int profile : naive::all_profiles(spec)) all.push_back(naive::index_of(profile));
  EXPECT_EQ(enumerated(all), expected);
}

// A Model treats "free" as depending on memory slices only; this is what allows it.
TEST_P(AllLayouts, RangesWithoutOverlapNeverExceedTheComputeSlices) {
  const ModelSpec& spec = model().spec();
  int most = 0;
  for (const naive::Pieces& pieces : naive::layouts(spec, naive::all_profiles(spec))) {
    ASSERT_LE(naive::compute_used(spec, pieces), spec.compute_slices);
    most = std::max(most, naive::compute_used(spec, pieces));
  }
  EXPECT_EQ(most, spec.compute_slices);
}

TEST_P(AllLayouts, HaveAsManyStatesAsTheModel) {
  const ModelSpec& spec = model().spec();
  std::set<std::pair<std::vector<bool>, int>> states;
  for (const naive::Pieces& pieces : naive::layouts(spec, naive::geometries(spec))) {
    states.emplace(naive::slices_taken(spec, pieces), naive::compute_used(spec, pieces));
  }
  EXPECT_EQ(model().state_count(), static_cast<int>(states.size()));
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Catalog, AllLayouts, testing::ValuesIn(model_names()), test_name);

}  // namespace
}  // namespace tangram::mig
