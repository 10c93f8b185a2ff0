// Text utilities: strict parsing of numbers, safe quoting of input, and suggestions for typos.
#include "base/text.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tangram {
namespace {

using Words = std::vector<std::string>;

TEST(Cat, PutsPartsOneAfterAnother) {
  EXPECT_EQ(cat("start ", 3, ' ', std::string("is"), std::string_view(" taken")),
            "start 3 is taken");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(-1, ' ', std::numeric_limits<std::uint64_t>::max()), "-1 18446744073709551615");
}

TEST(JoinWords, ReadsLikeASentence) {
  EXPECT_EQ(join_words(Words{}), "none");
  EXPECT_EQ(join_words(Words{"0"}), "0");
  EXPECT_EQ(join_words(Words{"0", "2"}), "0 and 2");
  EXPECT_EQ(join_words(Words{"0", "2", "4"}), "0, 2 and 4");
}

TEST(ParseInt, AcceptsDecimalIntegersInTheRange) {
  EXPECT_EQ(parse_int("0", 0, 15), 0);
  EXPECT_EQ(parse_int("15", 0, 15), 15);
  EXPECT_EQ(parse_int("-3", -3, 3), -3);
  EXPECT_EQ(parse_int("2147483647", 0, std::numeric_limits<int>::max()), 2147483647);
  EXPECT_EQ(parse_int("-2147483648", std::numeric_limits<int>::min(), 0),
            std::numeric_limits<int>::min());
}

TEST(ParseInt, RejectsAnythingElse) {
  for (const char* text : {"", " ", " 1", "1 ", "+1", "-", "--1", "1x", "x", "0x1", "1.0", "1e1",
                           "2147483648", "99999999999999999999", "\xd9\xa1"}) {
    EXPECT_EQ(parse_int(text, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()),
              std::nullopt)
        << text;
  }
  EXPECT_EQ(parse_int(std::string_view("1\0", 2), 0, 15), std::nullopt);
}

TEST(ParseInt, RejectsNonCanonicalSpellings) {
  for (const char* text : {"00", "01", "007", "-0", "-01"}) {
    EXPECT_EQ(parse_int(text, -15, 15), std::nullopt) << text;
  }
}

TEST(ParseInt, RejectsNumbersOutsideTheRange) {
  EXPECT_EQ(parse_int("-1", 0, 15), std::nullopt);
  EXPECT_EQ(parse_int("16", 0, 15), std::nullopt);
}

TEST(Quoted, KeepsPrintableTextAndEscapesTheRest) {
  EXPECT_EQ(quoted(""), "''");
  EXPECT_EQ(quoted("2g.10gb@4 ~"), "'2g.10gb@4 ~'");
  EXPECT_EQ(quoted("a\x1b[31m\n\x7f"), "'a\\x1b[31m\\x0a\\x7f'");
  EXPECT_EQ(quoted("é"), "'\\xc3\\xa9'");
  EXPECT_EQ(quoted(std::string_view("\0", 1)), "'\\x00'");
}

TEST(Quoted, CutsLongInput) {
  EXPECT_EQ(tangram::quoted(std::string(60, 'x')), "'" + std::string(60, 'x') + "'");
  EXPECT_EQ(tangram::quoted(std::string(61, 'x')), "'" + std::string(60, 'x') + "…'");
}

TEST(Printable, EscapesWithoutCutting) {
  EXPECT_EQ(printable(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(printable("\t'"), "\\x09'");
}

TEST(Nearest, FindsTypingMistakes) {
  const Words words = {"A100-40GB", "A100-80GB", "H100-80GB", "RTX-PRO-6000-96GB"};
  EXPECT_EQ(nearest("A100-4GB", words), "A100-40GB");
  EXPECT_EQ(nearest("a10080gb", words), "A100-80GB");
  EXPECT_EQ(nearest("H10O-80GB", words), "H100-80GB");
}

TEST(Nearest, AcceptsAPrefix) {
  const Words words = {"A100-40GB", "RTX-PRO-6000-96GB"};
  EXPECT_EQ(nearest("rtx", words), "RTX-PRO-6000-96GB");
}

TEST(Nearest, PrefersTheWholeWordToALongerOneThatBeginsWithIt) {
  EXPECT_EQ(nearest("1G.5GB", Words{"1g.5gb+me", "1g.5gb"}), "1g.5gb");
}

TEST(Nearest, SuggestsNothingThatIsFar) {
  const Words words = {"A100-40GB"};
  EXPECT_EQ(nearest("quantum", words), std::nullopt);
  EXPECT_EQ(nearest("", words), std::nullopt);
  EXPECT_EQ(nearest(std::string(65, 'A'), words), std::nullopt);
  EXPECT_EQ(nearest("A100", Words{}), std::nullopt);
}

}  // namespace
}  // namespace tangram
