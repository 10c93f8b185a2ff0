// The vocabulary types Error and Result, Id, Instant. Most of their guarantees are that something
// does not compile, so they are checked at compile time.
#include <chrono>
#include <concepts>
#include <type_traits>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/id.hpp"
#include "base/instant.hpp"

namespace tangram {
namespace {

TEST(Error, HasTheCodeOfItsFactory) {
  const Result<int> wrong = invalid("the input is wrong");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error(), (Error{ErrorCode::kInvalid, "the input is wrong"}));
  EXPECT_EQ(not_found("x").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(failed("x").error().code, ErrorCode::kFailed);
}

using JobId = Id<struct JobTag>;
using GpuId = Id<struct GpuTag>;

static_assert(!std::is_convertible_v<JobId, GpuId> && !std::is_constructible_v<GpuId, JobId>);
static_assert(!std::is_convertible_v<int, JobId> && !std::is_convertible_v<JobId, int>);
static_assert(std::totally_ordered<JobId> && !std::equality_comparable_with<JobId, GpuId>);
static_assert(sizeof(Id<struct SmallTag, std::uint8_t>) == 1);

TEST(Id, ComparesByValue) {
  EXPECT_EQ(JobId().value(), 0U);
  EXPECT_EQ(JobId(7), JobId(7));
  EXPECT_LT(JobId(7), JobId(8));
}

template <class Clock>
concept HasNow = requires { Clock::now(); };

static_assert(!HasNow<SchedulerClock>, "pure modules get time only as an argument");
static_assert(!std::is_convertible_v<std::chrono::system_clock::time_point, Instant>);

TEST(Instant, CountsMicroseconds) {
  using std::chrono::hours;
  using std::chrono::microseconds;
  using std::chrono::seconds;
  const Instant start{};
  EXPECT_EQ((start + seconds(1)).time_since_epoch().count(), 1'000'000);
  EXPECT_EQ((start + seconds(2)) - (start + microseconds(1)), Duration(1'999'999));
  EXPECT_GT(Instant::max() - start, hours(24 * 365 * 100));
}

}  // namespace
}  // namespace tangram
