// CSV: fields, rejected lines, and line numbers that stay true.
#include "sim/csv.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> first_fields(std::string_view text) {
  CsvReader reader(text);
  if (!reader.next()) return {"no line"};
  if (!reader.problem().empty()) return {std::string(reader.problem())};
  return {reader.fields().begin(), reader.fields().end()};
}

std::string first_problem(std::string_view text) {
  CsvReader reader(text);
  if (!reader.next()) return "no line";
  EXPECT_EQ(reader.fields().empty(), !reader.problem().empty());
  return std::string(reader.problem());
}

// "1:a|b 3:c": line numbers and fields; "2!" for a line with a problem.
std::string all_lines(std::string_view text) {
  std::string out;
  CsvReader reader(text);
  while (reader.next()) {
    out += (out.empty() ? "" : " ") + std::to_string(reader.line());
    if (!reader.problem().empty()) {
      out += '!';
      continue;
    }
    char mark = ':';
    for (const std::string_view field : reader.fields()) {
      out += mark;
      out += field;
      mark = '|';
    }
  }
  return out;
}

TEST(Csv, FieldsAreSeparatedByCommasAndKeepTheirSpaces) {
  EXPECT_THAT(first_fields("a,b c, d ,,e"), ElementsAre("a", "b c", " d ", "", "e"));
  EXPECT_THAT(first_fields(","), ElementsAre("", ""));
}

TEST(Csv, QuotedFieldsMayHoldCommasAndDoubledQuotes) {
  EXPECT_THAT(first_fields(R"("a,b",c,"say ""no""","","""")"),
              ElementsAre("a,b", "c", R"(say "no")", "", "\""));
  EXPECT_THAT(first_fields(R"(x,"y",)"), ElementsAre("x", "y", ""));
}

TEST(Csv, FieldsWithoutDoubledQuotesAreNotCopied) {
  constexpr std::string_view kText = R"(ab,"cd")";
  CsvReader reader(kText);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.fields()[0].data(), kText.data());
  EXPECT_EQ(reader.fields()[1].data(), kText.data() + 4);
}

TEST(Csv, LinesEndInLfOrCrlfAndTheLastNeedsNoEnd) {
  EXPECT_EQ(all_lines("a,b\nc\r\nd,e"), "1:a|b 2:c 3:d|e");
  EXPECT_EQ(all_lines("a\r\nb\r\n"), "1:a 2:b");
  EXPECT_EQ(all_lines("a\r"), "1:a");
}

TEST(Csv, EmptyLinesAreNoRowsButAreCounted) {
  EXPECT_EQ(all_lines("\n\r\na\n\n\nb\n\n"), "3:a 6:b");
  EXPECT_EQ(all_lines(""), "");
  EXPECT_EQ(all_lines("\n\n"), "");
}

TEST(Csv, AByteOrderMarkIsPassedOverOnlyAtTheBeginning) {
  EXPECT_THAT(first_fields("\xEF\xBB\xBF"
                           "a,b"),
              ElementsAre("a", "b"));
  EXPECT_THAT(first_fields("\xEF\xBB\xBF\"a\",b"), ElementsAre("a", "b"));
  EXPECT_EQ(all_lines("\xEF\xBB\xBF"), "");
  EXPECT_EQ(all_lines("a\n\xEF\xBB\xBF"
                      "b"),
            "1:a 2:\xEF\xBB\xBF"
            "b");
}

TEST(Csv, WhatCannotBeReadIsRefusedWithItsReason) {
  using namespace std::string_view_literals;
  EXPECT_EQ(first_problem("a,b\0c,d"sv), "the line has a NUL byte; a CSV file is text.");
  EXPECT_EQ(first_problem("a\rb"),
            "the line has a carriage return before its end; lines end in LF or CRLF.");
  EXPECT_EQ(first_problem("a,\"b,c"), "a field in quotes does not end in its line.");
  EXPECT_EQ(first_problem("a,\""), "a field in quotes does not end in its line.");
  EXPECT_EQ(first_problem("\"a\"\""), "a field in quotes does not end in its line.");
  EXPECT_THAT(first_problem("a\"b,c"), HasSubstr("a double quote in its middle"));
  EXPECT_THAT(first_problem(R"("a"b,c)"), HasSubstr("text after the closing quote"));
  EXPECT_THAT(first_problem("a,b"), IsEmpty());
}

TEST(Csv, ALineMayBeAsLongAsTheLimitAndNoLonger) {
  EXPECT_THAT(first_problem(std::string(kMaxCsvLineBytes, 'x') + "\r\n"), IsEmpty());
  EXPECT_EQ(first_problem(std::string(kMaxCsvLineBytes + 1, 'x')),
            "the line is longer than 65536 bytes.");
}

TEST(Csv, ABadLineSpoilsOnlyItself) {
  EXPECT_EQ(all_lines("a\n\"b,c\nd\"e\n\"f\",g\n"), "1:a 2! 3! 4:f|g");
}

TEST(Csv, ManyDoubledQuotesInOneLineKeepEarlierFields) {
  std::string line;
  for (int i = 0; i < 500; ++i) line += R"("a""b",)";
  const std::vector<std::string> fields = first_fields(line);
  ASSERT_EQ(fields.size(), 501U);
  EXPECT_EQ(fields.front(), "a\"b");
  EXPECT_EQ(fields[499], "a\"b");
  EXPECT_EQ(fields.back(), "");
}

}  // namespace
}  // namespace tangram::sim
