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

#include "tests/support/mig/models.hpp"
#include "tests/support/mig/observations.hpp"

namespace tangram::mig {
namespace {

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
