#include "cli/node/tuning_change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::vector<std::string>& typed) {
  const auto change = tuning_change(typed);
  return change ? "" : change.error().message;
}

TEST(TuningChange, SetsTheGivenKeysOnly) {
  const auto change = tuning_change(
      {"threshold=0.5", "cooldown=90s", "most_moves=2", "protect_head=off", "window=22:00-06:00"});
  ASSERT_TRUE(change) << change.error().message;
  api::TuningChange expected;
  expected.threshold = "0.5";
  expected.cooldown = std::chrono::seconds(90);
  expected.most_moves = 2;
  expected.protect_head = false;
  expected.window = "22:00-06:00";
  EXPECT_EQ(*change, expected);
}

TEST(TuningChange, AlwaysIsAnEmptyWindow) {
  EXPECT_EQ(tuning_change({"window=always"})->window, "");
}

TEST(TuningChange, EveryKeyIsKnown) {
  for (const std::string& key : tuning_keys()) {
    const bool number = tuning_change({key + "=1"}).has_value();
    EXPECT_TRUE(number || tuning_change({key + "=true"})) << key;
  }
}

TEST(TuningChange, ErrorsNameTheMistake) {
  EXPECT_THAT(refusal({"treshold=1"}), HasSubstr("did you mean threshold?"));
  EXPECT_THAT(refusal({"xyzzy=1"}), HasSubstr("Known keys: threshold, placement"));
  EXPECT_THAT(refusal({"threshold"}), HasSubstr("use KEY=VALUE"));
  EXPECT_THAT(refusal({"=1"}), HasSubstr("use KEY=VALUE"));
  EXPECT_THAT(refusal({"gain=1", "gain=2"}), HasSubstr("gain is given twice"));
  EXPECT_THAT(refusal({"most_moves=-1"}), HasSubstr("a whole number"));
  EXPECT_THAT(refusal({"cooldown=soon"}), HasSubstr("a duration, e.g. 90s"));
  EXPECT_THAT(refusal({"max_passes=some"}), HasSubstr("max_passes=some: use a whole number"));
  EXPECT_THAT(refusal({"ageing=soon"}), HasSubstr("ageing=soon: use a duration, e.g. 90s"));
  EXPECT_THAT(refusal({"half_life=-1h"}), HasSubstr("half_life=-1h: use a duration"));
  EXPECT_THAT(refusal({"protect_head=maybe"}), HasSubstr("true or false"));
}

}  // namespace
}  // namespace tangram::cli
