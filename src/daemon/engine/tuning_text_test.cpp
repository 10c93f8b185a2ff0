// Tuning as text: printed as it was parsed; an error names its key.
#include "daemon/engine/tuning_text.hpp"

#include <gtest/gtest.h>

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
  EXPECT_TRUE(error_of({.gain = "much"}).starts_with("gain: "));
  EXPECT_TRUE(error_of({.window = "25:00-01:00"}).starts_with("window: "));
  EXPECT_TRUE(error_of({.window = "22:00"}).starts_with("window: "));
}

}  // namespace
}  // namespace tangram::daemon
