// Specifications of arrays: what is read, what is written, what is refused.
#include "api/array_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ArraySpec, ReadsListsRangesAndSteps) {
  EXPECT_THAT(parse_indices("7").value(), ElementsAre(7));
  EXPECT_THAT(parse_indices("5-9,1,3").value(), ElementsAre(1, 3, 5, 6, 7, 8, 9));
  EXPECT_THAT(parse_indices("0-20:5").value(), ElementsAre(0, 5, 10, 15, 20));
  EXPECT_THAT(parse_indices("0-19:5").value(), ElementsAre(0, 5, 10, 15));
  EXPECT_THAT(parse_indices("1000000").value(), ElementsAre(1'000'000));
  EXPECT_EQ(parse_array("1-10000").value().indices.size(), kMaxArrayTasks);
  EXPECT_EQ(parse_array("1-100%8").value().most_active, 8U);
  EXPECT_EQ(parse_array("1-100").value().most_active, 0U);
}

TEST(ArraySpec, WritesWhatItReads) {
  for (const char* text : {"7", "1-100%8", "0-20:5", "1,3,5-9", "2,5", "1-3,10-30:10,99%1"}) {
    const auto spec = parse_array(text);
    ASSERT_TRUE(spec) << text;
    EXPECT_EQ(parse_array(array_text(*spec)).value(), *spec) << text;
  }
  EXPECT_EQ(array_text(parse_array("9,8,7,5,3,1%2").value()), "1-7:2,8-9%2");
  EXPECT_EQ(array_text(parse_array("1-100%8").value()), "1-100%8");
}

TEST(ArraySpec, RefusesAnythingElse) {
  const auto error = [](std::string_view text) {
    const auto spec = parse_array(text);
    return spec ? "accepted" : spec.error().message;
  };
  for (const char* text : {"", ",", "1,", ",1", "a", "-1", "1-", "1--2", "1-2-3", "1:2",
                           "1-5:", "1 ", "+1", "0x1", "99999999999"}) {
    EXPECT_THAT(error(text), HasSubstr("indices")) << text;
  }
  EXPECT_THAT(error("9-5"), HasSubstr("the first index is above the last"));
  EXPECT_THAT(error("1-5:0"), HasSubstr("the step must be at least 1"));
  EXPECT_THAT(error("1-3,2"), HasSubstr("index 2 is named twice"));
  EXPECT_THAT(error("1000001"), HasSubstr("above the maximum of 1000000"));
  EXPECT_THAT(error("0-10000"), HasSubstr("at most 10000 tasks"));
  EXPECT_THAT(error("1-6000,10001-16000"), HasSubstr("at most 10000 tasks"));
  for (const char* text : {"1-5%", "1-5%0", "1-5%x", "1-5%%2"}) {
    EXPECT_THAT(error(text), HasSubstr("invalid limit")) << text;
  }
}

TEST(ArraySpec, FindsTheJobOfATask) {
  ArrayView array;
  array.spec = parse_array("3,5,9").value();
  array.first = 13;
  EXPECT_EQ(job_of_task(array, 3), 13U);
  EXPECT_EQ(job_of_task(array, 9), 15U);
  EXPECT_EQ(job_of_task(array, 4), std::nullopt);
  EXPECT_EQ(job_of_task(array, 10), std::nullopt);
}

}  // namespace
}  // namespace tangram::api
