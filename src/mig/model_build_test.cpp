// What Model::build rejects, each with its whole message, which is all that the author of a model
// file or a bug report has.
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "mig/model.hpp"
#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::made_profile;
using testing::made_spec;

// Quarters and halves of a GPU with 4 slices; each test breaks one part of it.
ModelSpec good() {
  return made_spec(
      4, 4, {made_profile("1g", 1, 1, {0, 1, 2, 3}, 4), made_profile("2g", 2, 2, {0, 2}, 2)});
}

std::string refusal(const ModelSpec& spec) {
  const Result<Model> model = Model::build(spec);
  if (model) return "(built)";
  EXPECT_EQ(model.error().code, ErrorCode::kInvalid);
  return model.error().message;
}

std::string refusal_of_first(const Profile& profile) {
  ModelSpec spec = good();
  spec.profiles[0] = profile;
  return refusal(spec);
}

TEST(ModelBuild, BuildsAGoodSpecification) { EXPECT_EQ(refusal(good()), "(built)"); }

TEST(ModelBuild, RefusesAModelWithoutAName) {
  ModelSpec spec = good();
  spec.name.clear();
  EXPECT_EQ(refusal(spec), "a GPU model needs a name.");
}

TEST(ModelBuild, RefusesSliceCountsOutOfRange) {
  ModelSpec spec = good();
  spec.compute_slices = 0;
  EXPECT_EQ(refusal(spec), "toy: compute_slices is 0; allowed: 1 to 16.");
  spec.compute_slices = 17;
  EXPECT_EQ(refusal(spec), "toy: compute_slices is 17; allowed: 1 to 16.");
  spec = good();
  spec.memory_slices = -1;
  EXPECT_EQ(refusal(spec), "toy: memory_slices is -1; allowed: 1 to 16.");
  spec.memory_slices = 17;
  EXPECT_EQ(refusal(spec), "toy: memory_slices is 17; allowed: 1 to 16.");
}

TEST(ModelBuild, RefusesNoProfilesAndTooMany) {
  ModelSpec spec = good();
  spec.profiles.clear();
  EXPECT_EQ(refusal(spec), "toy: the number of profiles is 0; allowed: 1 to 32.");
  for (int i = 0; i < 33; ++i) {
    spec.profiles.push_back(made_profile("p" + std::to_string(i), 1, 1, {0}));
  }
  EXPECT_EQ(refusal(spec), "toy: the number of profiles is 33; allowed: 1 to 32.");
  spec.profiles.pop_back();
  EXPECT_EQ(refusal(spec), "(built)");
}

TEST(ModelBuild, RefusesProfileNamesThatCannotBeWritten) {
  const std::string why =
      " of toy: a profile name must not be empty or contain '@' or white space.";
  EXPECT_EQ(refusal_of_first(made_profile("", 1, 1, {0})), "profile ''" + why);
  EXPECT_EQ(refusal_of_first(made_profile("1g@0", 1, 1, {0})), "profile '1g@0'" + why);
  EXPECT_EQ(refusal_of_first(made_profile("1 g", 1, 1, {0})), "profile '1 g'" + why);
  EXPECT_EQ(refusal_of_first(made_profile("1g\n", 1, 1, {0})), "profile '1g\\x0a'" + why);
}

TEST(ModelBuild, RefusesTheSameNameTwice) {
  EXPECT_EQ(refusal_of_first(made_profile("2g", 1, 1, {0})), "toy: profile '2g' is given twice.");
}

TEST(ModelBuild, RefusesProfileNumbersOutOfRange) {
  const std::string subject = "profile 'p' of toy: ";
  EXPECT_EQ(refusal_of_first(made_profile("p", 0, 1, {0})),
            subject + "compute_slices is 0; allowed: 1 to 4.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 5, 1, {0})),
            subject + "compute_slices is 5; allowed: 1 to 4.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 1, 0, {0})),
            subject + "memory_slices is 0; allowed: 1 to 4.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 1, 5, {0})),
            subject + "memory_slices is 5; allowed: 1 to 4.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 1, 1, {0}, 0)),
            subject + "max_instances is 0; allowed: 1 to 16.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 1, 1, {0}, 17)),
            subject + "max_instances is 17; allowed: 1 to 16.");
}

TEST(ModelBuild, RefusesStartsThatDoNotFit) {
  const std::string subject = "profile 'p' of toy: ";
  EXPECT_EQ(refusal_of_first(made_profile("p", 1, 1, {})),
            subject + "it has no start; give at least one.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 2, 2, {0, 3})),
            subject + "start 3 with size 2 does not fit in 4 memory slices; allowed: 0 to 2.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 2, 2, {-1})),
            subject + "start -1 with size 2 does not fit in 4 memory slices; allowed: 0 to 2.");
  EXPECT_EQ(refusal_of_first(made_profile("p", 2, 2, {0, 2, 0})),
            subject + "start 0 is given twice.");
}

// start + size must not wrap around.
TEST(ModelBuild, RefusesTheHighestPossibleStart) {
  EXPECT_EQ(refusal_of_first(made_profile("p", 2, 2, {std::numeric_limits<int>::max()})),
            "profile 'p' of toy: start 2147483647 with size 2 does not fit in 4 memory slices; "
            "allowed: 0 to 2.");
}

TEST(ModelBuild, RefusesPlacementsThatTakeMoreComputeThanThereIs) {
  ModelSpec spec = good();
  spec.compute_slices = 3;
  EXPECT_EQ(refusal(spec),
            "toy: its placements allow instances with 4 compute slices together (the last one a "
            "2g at 2), but the GPU has 3; sizes or starts must be wrong.");
}

TEST(ModelBuild, RefusesTooManyStates) {
  std::vector<int> starts(16);
  for (int i = 0; i < 16; ++i) starts[static_cast<std::size_t>(i)] = i;
  EXPECT_EQ(refusal(made_spec(16, 16, {made_profile("p", 1, 1, starts, 16)})),
            "toy: more than 60000 occupancy states.");
}

TEST(ModelBuild, TakesTheLargestGpuThereCanBe) {
  EXPECT_EQ(refusal(made_spec(16, 16, {made_profile("p", 16, 16, {0})})), "(built)");
}

// The order in which a table lists the starts is not part of the geometry.
TEST(ModelBuild, ProfilesOfTheSameShapeAreOneGeometry) {
  ModelSpec spec = good();
  spec.profiles.push_back(made_profile("2g+me", 2, 2, {2, 0}));
  spec.profiles.push_back(made_profile("2g.half", 2, 2, {0}));
  const Result<Model> model = Model::build(spec);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ(model->geometry_count(), 3);
  EXPECT_EQ(model->geometry_of(ProfileIndex(2)), model->geometry_of(ProfileIndex(1)));
  EXPECT_NE(model->geometry_of(ProfileIndex(3)), model->geometry_of(ProfileIndex(1)));
  EXPECT_EQ(model->representatives(),
            (std::vector<ProfileIndex>{ProfileIndex(0), ProfileIndex(1), ProfileIndex(3)}));
}

}  // namespace
}  // namespace tangram::mig
