// Tuning as text: printed as it was parsed; an error names its key.
#include "daemon/engine/tuning_text.hpp"

#include <gtest/gtest.h>

#include "daemon/engine/default_tuning.hpp"

namespace tangram::daemon {
namespace {

TEST(TuningText, PrintsWhatItParsed) {
  for (const std::string text : {"", "22:00-06:00", "00:00-23:59", "08:30-08:31"}) {
    const auto window = parse_window(text);
    ASSERT_TRUE(window) << window.error().message;
    EXPECT_EQ(window_text(*window), text);
  }
  for (const std::string text : {"0", "0.05", "0.000001", "1", "0.5"}) {
    const auto gain = parse_gain(text);
    ASSERT_TRUE(gain) << gain.error().message;
    EXPECT_EQ(gain_text(*gain), text);
  }
}

TEST(TuningText, ChangesOnlyWhatIsNamed) {
  core::Tuning tuning;
  tuning.migration = "off";
  api::TuningChange change;
  change.threshold = "0.5";
  change.window = "01:00-02:00";
  change.most_moves = 0;
  const auto next = apply_change(tuning, change);
  ASSERT_TRUE(next) << next.error().message;
  const api::TuningView view = view_of(*next);
  EXPECT_EQ(view.threshold, "0.5");
  EXPECT_EQ(view.window, "01:00-02:00");
  EXPECT_EQ(view.most_moves, 0U);
  EXPECT_EQ(view.migration, "off");
  EXPECT_EQ(view.cooldown, std::chrono::seconds(60));
}

TEST(TuningText, ErrorsNameTheKey) {
  const auto error_of = [](const api::TuningChange& change) {
    const auto next = apply_change(core::Tuning(), change);
    return next ? std::string("accepted") : next.error().message;
  };
  EXPECT_TRUE(error_of({.threshold = "2"}).starts_with("threshold: "));
  EXPECT_TRUE(error_of({.placement = "papr"}).starts_with("placement: "));
  EXPECT_TRUE(error_of({.migration = "sometimes"}).starts_with("migration: "));
  EXPECT_TRUE(error_of({.queue = "lifo"}).starts_with("queue: "));
  EXPECT_TRUE(error_of({.most_moves = 2000}).starts_with("most_moves: "));
  EXPECT_TRUE(error_of({.max_passes = 10'001}).starts_with("max_passes: "));
  EXPECT_TRUE(error_of({.gain = "much"}).starts_with("gain: "));
  EXPECT_TRUE(error_of({.window = "25:00-01:00"}).starts_with("window: "));
  EXPECT_TRUE(error_of({.window = "22:00"}).starts_with("window: "));
}

TEST(TuningText, OfTheFileOnlyChangedKeysAreApplied) {
  const api::TuningChange file{.threshold = "0.5", .queue = "fcfs", .window = ""};
  EXPECT_EQ(not_yet_applied(file, ""), file);
  EXPECT_EQ(not_yet_applied(file, applied_text(file)), api::TuningChange{});
  EXPECT_EQ(not_yet_applied(file, applied_text({.threshold = "0.4", .window = ""})),
            (api::TuningChange{.threshold = "0.5", .queue = "fcfs"}));
  EXPECT_EQ(not_yet_applied({}, applied_text(file)), api::TuningChange{});  // keys removed
}

// What earlier versions kept: every key, also those that the file did not set.
TEST(TuningText, AnUnchangedFileOfAnEarlierVersionIsNotAppliedAgain) {
  const std::string kept =
      R"({"threshold":"0.4","placement":"paper","migration":"both","queue":"fcfs","most_moves":4,)"
      R"("cooldown":"1m","gain":"0","window":null,"protect_head":true})";
  EXPECT_EQ(not_yet_applied({}, kept), api::TuningChange{});
  EXPECT_EQ(
      not_yet_applied({.queue = "fcfs", .cooldown = std::chrono::seconds(60), .window = ""}, kept),
      api::TuningChange{});
  EXPECT_EQ(not_yet_applied({.queue = "largest-memory"}, kept),
            api::TuningChange{.queue = "largest-memory"});
}

TEST(TuningText, DifferencesAreFromTheFileElseFromTheDefault) {
  EXPECT_TRUE(differences(default_tuning(), {}).empty());
  core::Tuning tuning = default_tuning();
  tuning.threshold = *core::Threshold::parse("0.5");
  tuning.placement = "best-fit";
  tuning.restraint.window = {.from_s = 3600, .to_s = 7200};
  tuning.fairness.ageing = {};
  const api::TuningChange file{.threshold = "0.6", .placement = "best-fit"};
  const std::vector<api::TuningDifference> expected = {
      {.key = "threshold", .value = "0.5", .expected = "0.6", .in_file = true},
      {.key = "window", .value = "01:00-02:00", .expected = "always", .in_file = false},
      {.key = "ageing", .value = "0s", .expected = "1h", .in_file = false}};
  EXPECT_EQ(differences(tuning, file), expected);
}

}  // namespace
}  // namespace tangram::daemon
