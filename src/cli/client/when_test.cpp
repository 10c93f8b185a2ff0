#include "cli/client/when.hpp"

#include <cstdlib>
#include <ctime>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

using ::testing::HasSubstr;

const api::WallTime kNow = *api::parse_wall("2026-11-16T12:00:00.000000Z");

// Runs in a time zone one hour ahead of UTC without daylight saving time.
class When : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "XXX-1", 1);  // POSIX: any three letters for the zone's name
    ::tzset();
  }
  static std::string at(const std::string& typed) {
    const auto when = parse_when("--since", typed, kNow);
    return when ? api::wall_text(*when) : when.error().message;
  }
};

TEST_F(When, ParsesDurationsBeforeNow) {
  EXPECT_EQ(at("2d"), "2026-11-14T12:00:00.000000Z");
  EXPECT_EQ(at("90m"), "2026-11-16T10:30:00.000000Z");
}

TEST_F(When, ParsesLocalDatesAndExactTimes) {
  EXPECT_EQ(at("2026-11-16"), "2026-11-15T23:00:00.000000Z");
  EXPECT_EQ(at("2026-11-16 14:30"), "2026-11-16T13:30:00.000000Z");
  EXPECT_EQ(at("2026-11-16T14:30:05"), "2026-11-16T13:30:05.000000Z");
  EXPECT_EQ(at("2026-11-16T14:30:05.000000Z"), "2026-11-16T14:30:05.000000Z");
}

TEST_F(When, RejectsInvalidTimes) {
  for (const char* typed : {"", "yesterday", "2026-02-31", "2026-11-16 25:00", "2026-11-16x"}) {
    EXPECT_THAT(at(typed), HasSubstr("--since: ")) << typed;
  }
}

}  // namespace
}  // namespace tangram::cli
