// A built model's queries by name and by state, and wrong queries. All states of all models are
// compared with a naive reference in tests/mig.
#include "mig/model.hpp"

#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::occupied;
using testing::placement;
using testing::profile;

const Model& a100() { return testing::model("A100-40GB"); }

TEST(Model, FindsAProfileByItsExactName) {
  EXPECT_EQ(a100().profile(*a100().find_profile("1g.5gb+me")).name, "1g.5gb+me");
}

TEST(Model, SuggestsTheNearestProfile) {
  const Result<ProfileIndex> found = a100().find_profile("3g.2gb");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(found.error().message,
            "A100-40GB has no profile '3g.2gb'; did you mean 3g.20gb? Its profiles: 1g.5gb, "
            "1g.5gb+me, 1g.10gb, 2g.10gb, 3g.20gb, 4g.20gb and 7g.40gb.");
}

TEST(Model, SuggestsNothingForNonsense) {
  EXPECT_EQ(a100().find_profile("").error().message,
            "A100-40GB has no profile ''. Its profiles: 1g.5gb, 1g.5gb+me, 1g.10gb, 2g.10gb, "
            "3g.20gb, 4g.20gb and 7g.40gb.");
}

TEST(Model, RefusesAnIllegalStartAndListsTheLegalOnes) {
  const Result<Placement> p = a100().placement(profile(a100(), "2g.10gb"), 6);
  ASSERT_FALSE(p.has_value());
  EXPECT_EQ(p.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(p.error().message, "a 2g.10gb cannot start at 6 on A100-40GB; allowed: 0, 2 and 4.");
  EXPECT_FALSE(a100().placement(profile(a100(), "2g.10gb"), -1).has_value());
}

// 3g takes 3 compute slices but 4 memory slices: its size is never its compute.
TEST(Model, RangeIsTheMemorySize) {
  EXPECT_EQ(a100().range(placement(a100(), "3g.20gb@4")), 0b11110000);
  const Occupancy o = occupied(a100(), {"3g.20gb@4"});
  EXPECT_EQ(a100().slices(o), 0b11110000);
  EXPECT_EQ(a100().compute_used(o), 3);
}

// Slices 0 and 1 taken by two 1g.5gb or by one 1g.10gb: the same slices, another state.
TEST(Model, StatesDifferByComputeToo) {
  const Occupancy two = occupied(a100(), {"1g.5gb@0", "1g.5gb@1"});
  const Occupancy one = occupied(a100(), {"1g.10gb@0"});
  EXPECT_EQ(a100().slices(two), a100().slices(one));
  EXPECT_NE(two, one);
}

TEST(Model, StateDoesNotDependOnTheOrderOfCreation) {
  EXPECT_EQ(occupied(a100(), {"1g.5gb@0", "3g.20gb@4"}),
            occupied(a100(), {"3g.20gb@4", "1g.5gb@0"}));
}

TEST(Model, EngineVariantOccupiesLikeItsPlainProfile) {
  EXPECT_EQ(occupied(a100(), {"1g.5gb+me@3"}), occupied(a100(), {"1g.5gb@3"}));
}

// Every start of an empty A30 leaves the same cost; the highest is taken.
TEST(Model, BestStartIsTheHighestOnTies) {
  const Model& a30 = testing::model("A30-24GB");
  EXPECT_EQ(a30.frag_cost(occupied(a30, {"1g.6gb@0"})), a30.frag_cost(occupied(a30, {"1g.6gb@3"})));
  EXPECT_EQ(a30.best_start(kEmpty, profile(a30, "1g.6gb")), 3);
}

TEST(ModelDeathTest, AddingWhereItIsTakenIsABug) {
  const Occupancy o = occupied(a100(), {"3g.20gb@0"});
  EXPECT_DEATH((void)a100().with(o, placement(a100(), "2g.10gb@2")), "CHECK");
}

TEST(ModelDeathTest, AddingAtAnIllegalStartIsABug) {
  const Placement p{profile(a100(), "2g.10gb"), 1};
  EXPECT_DEATH((void)a100().with(kEmpty, p), "CHECK");
}

TEST(ModelDeathTest, TakingAwayWhatIsNotHeldIsABug) {
  const Occupancy o = occupied(a100(), {"1g.5gb@0"});
  EXPECT_DEATH((void)a100().without(o, placement(a100(), "1g.5gb@1")), "CHECK");
  EXPECT_DEATH((void)a100().without(kEmpty, placement(a100(), "1g.5gb@0")), "CHECK");
}

}  // namespace
}  // namespace tangram::mig
