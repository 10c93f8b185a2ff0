// The driver's choice of start: every sequence that was observed on hardware, and the two that are
// known not to follow the rule. A table of observations, not of what our code does: when a new
// one disagrees, the rule is wrong, not the table.
#include "mig/driver.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "mig/test_models.hpp"

namespace tangram::mig {
namespace {

constexpr std::nullopt_t kInsufficientResources = std::nullopt;
using Starts = std::vector<std::optional<int>>;

struct Observation {
  std::vector<std::string_view> models;
  std::vector<std::string_view> created;  // "2g" is the model's first profile of two slices
  Starts starts;
};

const std::vector<std::string_view> kSevenSlices = {"A100-40GB", "A100-80GB", "H100-80GB"};

const std::vector<Observation>& observations() {
  static const std::vector<Observation> all = {
      {kSevenSlices, {"1g", "1g", "1g", "1g", "1g", "1g", "1g"}, {6, 4, 5, 0, 1, 2, 3}},
      {kSevenSlices, {"1g", "2g", "4g"}, {6, 4, 0}},
      {kSevenSlices, {"1g", "1g", "2g", "3g"}, {6, 4, 0, kInsufficientResources}},
      {kSevenSlices, {"3g", "1g", "2g", "1g"}, {4, 0, 2, 1}},
      {kSevenSlices, {"2g", "1g", "1g", "1g", "1g", "1g"}, {4, 6, 0, 1, 2, 3}},
      {kSevenSlices, {"2g", "2g", "2g", "1g+me"}, {4, 0, 2, 6}},
      {kSevenSlices, {"2g", "2g", "1g"}, {4, 0, 6}},
      {kSevenSlices, {"3g", "2g", "1g"}, {4, 0, 2}},
      {kSevenSlices, {"3g", "4g"}, {4, 0}},
      {{"H100-PCIe-80GB"}, {"1g.20gb"}, {6}},
      {{"A30-24GB"}, {"1g", "1g", "2g"}, {0, 1, 2}},
      {{"RTX-PRO-6000-96GB"}, {"1g", "1g", "1g", "1g"}, {0, 3, 6, 9}},
      {{"RTX-PRO-6000-96GB"}, {"2g", "1g", "1g"}, {0, 6, 9}},
  };
  return all;
}

// A full name, or slices and suffix: "1g+me" is the first profile "1g.<memory>+me".
ProfileIndex profile_like(const Model& m, std::string_view name) {
  if (const auto exact = m.find_profile(name)) return *exact;
  const std::size_t slices = name.find('g') + 1;
  const std::string_view suffix = name.substr(slices);
  const auto& all = m.profiles();
  const auto found = std::ranges::find_if(all, [&](const Profile& p) {
    return p.name.starts_with(std::string(name.substr(0, slices)) + ".") &&
           p.name.ends_with(suffix.empty() ? "gb" : suffix);
  });
  return ProfileIndex(static_cast<std::uint8_t>(found - all.begin()));
}

Starts create_all(const Model& m, const std::vector<std::string_view>& names) {
  Starts starts;
  Occupancy o = kEmpty;
  for (const std::string_view name : names) {
    const ProfileIndex p = profile_like(m, name);
    starts.push_back(driver_start(m, o, p));
    if (!starts.back()) continue;
    o = m.with(o, {p, static_cast<std::uint8_t>(*starts.back())});
  }
  return starts;
}

TEST(DriverStart, FollowsEveryObservation) {
  for (const Observation& seen : observations()) {
    for (const std::string_view name : seen.models) {
      std::string sequence(name);
      for (const std::string_view profile : seen.created) sequence.append(" ").append(profile);
      EXPECT_EQ(create_all(testing::model(name), seen.created), seen.starts) << sequence;
    }
  }
}

// Hardware put three 1g.24gb of a GH200 96GB at 4, 0, 2; the rule says 6, 4, 0.
TEST(DriverStart, KnownExceptionDoubleMemoryOnGh200) {
  const Starts hardware = {4, 0, 2};
  const Starts rule = create_all(testing::model("GH200-96GB"), {"1g.24gb", "1g.24gb", "1g.24gb"});
  EXPECT_EQ(rule, (Starts{6, 4, 0}));
  EXPECT_NE(rule, hardware) << "the rule follows the exception now: move it to the table";
}

// An R450-era listing shows two 3g of an A100 at 0, 4; the rule (and newer drivers) say 4, 0.
TEST(DriverStart, KnownExceptionFirst3gOfR450) {
  const Starts hardware = {0, 4};
  const Starts rule = create_all(testing::model("A100-40GB"), {"3g", "3g"});
  EXPECT_EQ(rule, (Starts{4, 0}));
  EXPECT_NE(rule, hardware) << "the rule follows the exception now: move it to the table";
}

TEST(DriverStart, IsNoneOnAFullGpu) {
  const Model& m = testing::model("A100-40GB");
  EXPECT_EQ(driver_start(m, testing::occupied(m, {"7g.40gb@0"}), testing::profile(m, "1g.5gb")),
            std::nullopt);
}

}  // namespace
}  // namespace tangram::mig
