// Threshold: which texts are one, what is printed, and that Lazy is exact: one billionth decides
// where a load such as 4/7 has no decimal of its own, and at t = 0 and t = 1.
#include "core/threshold.hpp"

#include <gtest/gtest.h>

namespace tangram::core {
namespace {

std::int64_t billionths(std::string_view text) {
  const auto parsed = Threshold::parse(text);
  return parsed ? parsed->billionths() : -1;
}

TEST(Threshold, IsThePapersByDefault) {
  EXPECT_EQ(Threshold().billionths(), 400'000'000);
  EXPECT_EQ(Threshold().text(), "0.4");
}

TEST(Threshold, ParsesPlainDecimals) {
  EXPECT_EQ(billionths("0"), 0);
  EXPECT_EQ(billionths("1"), Threshold::kOne);
  EXPECT_EQ(billionths("0.0"), 0);
  EXPECT_EQ(billionths("1.0"), Threshold::kOne);
  EXPECT_EQ(billionths("1.000000000"), Threshold::kOne);
  EXPECT_EQ(billionths("0.4"), 400'000'000);
  EXPECT_EQ(billionths("0.40"), 400'000'000);
  EXPECT_EQ(billionths("0.05"), 50'000'000);
  EXPECT_EQ(billionths("0.571428571"), 571'428'571);
  EXPECT_EQ(billionths("0.000000001"), 1);
  EXPECT_EQ(billionths("0.999999999"), 999'999'999);
}

TEST(Threshold, RefusesWhatIsNotOneAndSaysWhy) {
  for (const char* text :
       {"",     ".",           ".4",           "0.",           "1.",   "0.4.",        "0..4",
        "0.4 ", " 0.4",        "0,4",          "4e-1",         "0.4f", "0x0",         "-0",
        "-0.4", "+0.4",        "0.-4",         "0.+4",         "00.4", "01",          "2",
        "1.1",  "1.000000001", "0.0000000001", "0.4000000000", "10",   "99999999999", "nan",
        "inf",  "half"}) {
    const auto parsed = Threshold::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalid) << text;
    EXPECT_NE(parsed.error().message.find("is not a decimal from 0 to 1"), std::string::npos);
  }
  using std::string_view_literals::operator""sv;
  EXPECT_FALSE(Threshold::parse("0.4\0"sv).has_value());
  EXPECT_FALSE(Threshold::parse("0\0"sv).has_value());
}

TEST(Threshold, TextIsShortestAndReadsBack) {
  for (const std::int64_t n :
       {0L, 1L, 10L, 50'000'000L, 400'000'000L, 571'428'571L, 999'999'999L, 1'000'000'000L}) {
    const Threshold t = Threshold::from_billionths(n);
    EXPECT_EQ(billionths(t.text()), n) << t.text();
  }
  EXPECT_EQ(Threshold::from_billionths(0).text(), "0.0");
  EXPECT_EQ(Threshold::from_billionths(Threshold::kOne).text(), "1.0");
  EXPECT_EQ(Threshold::from_billionths(50'000'000).text(), "0.05");
  EXPECT_EQ(Threshold::from_billionths(1).text(), "0.000000001");
}

TEST(Threshold, LazyIsStrictlyBelow) {
  // Of 4 and of 16 slices every load is a decimal: at the load itself the GPU is Busy.
  for (const int total : {4, 8, 16}) {
    for (int used = 0; used <= total; ++used) {
      const std::int64_t load = Threshold::kOne / total * used;
      EXPECT_FALSE(Threshold::from_billionths(load).lazy(used, total));
      EXPECT_TRUE(Threshold::from_billionths(load + 1).lazy(used, total));
    }
  }
  // 4/7 = 0.571428571428…: between two billionths, Busy for the lower and Lazy for the upper one.
  for (int used = 1; used < 7; ++used) {
    const std::int64_t below = Threshold::kOne * used / 7;
    EXPECT_FALSE(Threshold::from_billionths(below).lazy(used, 7)) << used;
    EXPECT_TRUE(Threshold::from_billionths(below + 1).lazy(used, 7)) << used;
  }
  EXPECT_FALSE(Threshold::parse("0.571428571")->lazy(4, 7));
  EXPECT_TRUE(Threshold::parse("0.571428572")->lazy(4, 7));
}

TEST(Threshold, ZeroIsAllBusyAndOneOnlyTheFull) {
  for (int total = 1; total <= 16; ++total) {
    for (int used = 0; used <= total; ++used) {
      EXPECT_FALSE(Threshold::from_billionths(0).lazy(used, total));
      EXPECT_EQ(Threshold::from_billionths(Threshold::kOne).lazy(used, total), used < total);
    }
  }
}

TEST(Threshold, IsOrdered) {
  EXPECT_LT(*Threshold::parse("0.4"), *Threshold::parse("0.5"));
  EXPECT_EQ(*Threshold::parse("0.40"), Threshold());
}

}  // namespace
}  // namespace tangram::core
