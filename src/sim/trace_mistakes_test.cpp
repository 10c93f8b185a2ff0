// Mistakes in traces: each is reported where it is, with what is there and what is needed, or is
// skipped and counted.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "sim/traces_test.hpp"

namespace tangram::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kPlainNeeds =
    "plain needs arrival_s, profile and duration_s; plain with language models needs arrival_s, "
    "profile, model, prompt_tokens and response_tokens";
constexpr std::string_view kQueryNeeds =
    "; burstgpt needs Timestamp, Request tokens and Response tokens; azure needs TIMESTAMP, "
    "ContextTokens and GeneratedTokens.";

TEST(TraceMistakes, BadFieldsAreReportedWithLineColumnAndWhatIsNeeded) {
  const auto timed = [](std::string_view row) {
    return message_of(cat("arrival_s,profile,duration_s,transfer_share,movable\n0,p,1,0,1\n", row));
  };
  const std::string seconds = "; a number of seconds from 0 to 1e9 is needed.";
  EXPECT_EQ(timed("1,p,abc,0,1"), "t.csv:3: the column duration_s has 'abc'" + seconds);
  EXPECT_EQ(timed("\n1,p,-1,0,1"), "t.csv:4: the column duration_s has '-1'" + seconds);
  EXPECT_EQ(timed("1,p,nan,0,1"), "t.csv:3: the column duration_s has 'nan'" + seconds);
  EXPECT_EQ(timed("1,p,inf,0,1"), "t.csv:3: the column duration_s has 'inf'" + seconds);
  EXPECT_EQ(timed("1,p,1.1e9,0,1"), "t.csv:3: the column duration_s has '1.1e9'" + seconds);
  EXPECT_EQ(timed("1,p,1e999,0,1"), "t.csv:3: the column duration_s has '1e999'" + seconds);
  EXPECT_EQ(timed("1,p, 1,0,1"), "t.csv:3: the column duration_s has ' 1'" + seconds);
  EXPECT_EQ(timed("1,p,,0,1"), "t.csv:3: the column duration_s has ''" + seconds);
  EXPECT_EQ(
      timed("2e10,p,1,0,1"),
      "t.csv:3: the column arrival_s has '2e10'; a number of seconds from 0 to 1e10 is needed.");
  EXPECT_EQ(timed("1,p,1,1.5,1"),
            "t.csv:3: the column transfer_share has '1.5'; a number from 0 to 1 is needed.");
  EXPECT_EQ(timed("1,p,1,0,yes"),
            "t.csv:3: the column movable has 'yes'; 0, 1, true or false is needed.");
  EXPECT_EQ(timed("1,,1,0,1"),
            "t.csv:3: the column profile has ''; a name of 1 to 64 letters, digits, '.', '_', '+' "
            "or '-' is needed.");
  EXPECT_THAT(timed("1,1g 5gb,1,0,1"), HasSubstr("t.csv:3: the column profile has '1g 5gb'"));
  EXPECT_THAT(timed(cat("1,", std::string(65, 'x'), ",1,0,1")), HasSubstr("a name of 1 to 64"));
}

TEST(TraceMistakes, TheFirstMistakeOfARowIsItsReason) {
  EXPECT_THAT(message_of(cat(kTimed, "x,,y\n")), HasSubstr("the column arrival_s has 'x'"));
}

TEST(TraceMistakes, BadRowsAreReportedAsWhole) {
  EXPECT_EQ(message_of(cat(kTimed, "1,p\n")),
            "t.csv:2: the row has 2 fields; the first line names 3 columns.");
  EXPECT_EQ(message_of(cat(kTimed, "1,p,1\n1,p,1,\n")),
            "t.csv:3: the row has 4 fields; the first line names 3 columns.");
  EXPECT_EQ(message_of(cat(kTimed, "1,p,1\n1,\"p,1\n")),
            "t.csv:3: a field in quotes does not end in its line.");
  EXPECT_EQ(message_of(cat(kTimed, "1,p,1", '\0', "\n")),
            "t.csv:2: the line has a NUL byte; a CSV file is text.");
}

TEST(TraceMistakes, UnknownLanguageModelsAreReportedWithTheKnownOnes) {
  EXPECT_EQ(message_of(cat(kTokens, "0,p,opt-13,5,5\n")),
            "t.csv:2: the column model has 'opt-13', which is not a language model; did you mean "
            "opt-13b? Known: opt-6.7b, opt-13b, bloom-1b7 and bloom-7b1.");
  EXPECT_EQ(message_of(cat(kTokens, "0,p,,5,5\n")),
            "t.csv:2: the column model has '', which is not a language model. Known: opt-6.7b, "
            "opt-13b, bloom-1b7 and bloom-7b1.");
}

TEST(TraceMistakes, TokensAndQueriesAreWholeNumbersOfTheirRange) {
  const std::string tokens = "; a whole number from 1 to 1e9 is needed.";
  EXPECT_EQ(message_of(cat(kTokens, "0,p,opt-13b,0,5\n")),
            "t.csv:2: the column prompt_tokens has '0'" + tokens);
  EXPECT_EQ(message_of(cat(kTokens, "0,p,opt-13b,5,2.5\n")),
            "t.csv:2: the column response_tokens has '2.5'" + tokens);
  for (const std::string_view queries : {"0", "65536", "1.5", "-1", "+1"}) {
    EXPECT_EQ(message_of(cat("arrival_s,profile,model,prompt_tokens,response_tokens,queries\n",
                             "0,p,opt-13b,5,5,", queries)),
              cat("t.csv:2: the column queries has '", queries,
                  "'; a whole number from 1 to 65535 is needed."));
  }
  EXPECT_EQ(message_of(cat(kBurst, "1,m,-5,5,5,x\n")),
            "t.csv:2: the column Request tokens has '-5'; a whole number from 0 to 1e9 is needed.");
}

TEST(TraceMistakes, InvalidTimesAreReported) {
  for (const std::string_view time :
       {"2023-13-01 00:00:00", "2023-02-31 00:00:00", "2023-02-29 00:00:00", "2023-00-10 00:00:00",
        "2023-01-00 00:00:00", "2023-01-01 24:00:00", "2023-01-01 00:60:00", "2023-01-01 00:00:60",
        "2023-01-01", "2023-1-01 00:00:00", "2023/01/01 00:00:00", "2023-01-01 00:00:00.",
        "2023-01-01 00:00:00.1234567890", "2023-01-01 00:00:00.1x", "2023-01-01 00:00:00+01:00", "",
        "17"}) {
    EXPECT_EQ(message_of(cat(kAzure, "2023-01-01 00:00:00,1,1\n", time, ",1,1\n")),
              cat("t.csv:3: the column TIMESTAMP has '", time,
                  "'; a time such as 2023-11-16 18:17:03.97 (fraction optional) is needed."));
  }
}

TEST(TraceMistakes, NoMoreProfilesThanTheMaximum) {
  std::string text(kTimed);
  for (int i = 0; i < 200; ++i) text += cat("0,p", i, ",1\n");
  EXPECT_EQ(read(text).profiles.size(), 200U);
  EXPECT_EQ(message_of(text + "0,p7,1\n0,q,1\n"),
            "t.csv:203: the column profile has 'q' after 200 other profiles, the maximum.");
}

TEST(TraceMistakes, AnUnknownFirstLineNamesWhatIsMissingAndWhatTheFormsNeed) {
  EXPECT_EQ(
      message_of("arrival_s,profile,length\n"),
      cat("t.csv:1: the column duration_s is missing. Known forms: ", kPlainNeeds, kQueryNeeds));
  EXPECT_EQ(message_of("Timestamp,ContextTokens,GeneratedTokens\n"),
            cat("t.csv:1: the column TIMESTAMP is missing; is it the one named 'Timestamp'? "
                "Known forms: ",
                kPlainNeeds, kQueryNeeds));
  EXPECT_EQ(message_of("0,1g.5gb,30\n"),
            cat("t.csv:1: the first line names the columns of no known form of trace: ",
                kPlainNeeds, kQueryNeeds));
}

TEST(TraceMistakes, WithAFormOnlyItsColumnsAreNeeded) {
  EXPECT_EQ(message_of("Timestamp,Request token,Response tokens\n", of_form(TraceForm::kBurstGpt)),
            "t.csv:1: the column Request tokens is missing; is it the one named 'Request token'? "
            "The form burstgpt needs Timestamp, Request tokens and Response tokens.");
  EXPECT_EQ(message_of("a,b\n", of_form(TraceForm::kPlain)),
            cat("t.csv:1: the column arrival_s is missing. The form ", kPlainNeeds, "."));
  EXPECT_EQ(read(cat(kAzure, "2023-01-01 00:00:00,1,1\n"), of_form(TraceForm::kAzure)).rows, 1U);
}

TEST(TraceMistakes, ColumnsWithoutAMeaningAreRefusedInThePlainFormOnly) {
  EXPECT_EQ(message_of("arrival_s,profile,duration_s,moveable\n0,p,1,0\n"),
            "t.csv:1: the column 'moveable' is not allowed beside duration_s; did you mean "
            "movable? Allowed: arrival_s, profile and duration_s; optional: transfer_share and "
            "movable.");
  EXPECT_THAT(message_of("arrival_s,profile,duration_s,model\n"),
              HasSubstr("the column 'model' is not allowed beside duration_s."));
  EXPECT_EQ(read("x,TIMESTAMP,ContextTokens,GeneratedTokens\n,2023-01-01 00:00:00,1,1\n").rows, 1U);
}

TEST(TraceMistakes, FilesWithoutTasksAreErrors) {
  EXPECT_EQ(message_of(""), "t.csv:1: the file is empty; its first line must name the columns.");
  EXPECT_EQ(message_of(kTimed), "t.csv:1: there are no rows below the first line.");
  EXPECT_EQ(
      message_of(cat(kBurst, "1,m,0,0,0,x\n2,m,0,0,0,x\n")),
      "t.csv:1: no row can become a task: 2 left out for having no tokens or too many, 0 bad.");
  EXPECT_EQ(message_of("arrival_s,profile,profile\n"),
            "t.csv:1: the first line names the column 'profile' twice.");
  EXPECT_EQ(message_of("arrival_s,\"profile\n"),
            "t.csv:1: a field in quotes does not end in its line.");
}

TEST(TraceMistakes, SkippedRowsAreCountedAndTheFirstFiveKept) {
  std::string text = cat(kTimed, "0,good,1\n");
  for (int i = 0; i < 7; ++i) text += cat("1,bad", i, ",x", i, '\n');
  text += "2,good\n3,last,1\n";
  const Trace trace = read(text, skipping());
  EXPECT_EQ(trace.rows, 10U);
  EXPECT_EQ(trace.bad_rows, 8U);
  EXPECT_THAT(trace.profiles, ElementsAre("good", "last"));
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0, 3));
  ASSERT_EQ(trace.first_bad.size(), 5U);
  EXPECT_EQ(trace.first_bad[0].line, 3U);
  EXPECT_EQ(trace.first_bad[0].reason,
            "the column duration_s has 'x0'; a number of seconds from 0 to 1e9 is needed.");
  EXPECT_EQ(trace.first_bad[4].line, 7U);
}

TEST(TraceMistakes, SkippingWorksForQueriesAndBrokenLines) {
  const Trace trace =
      read(cat(kBurst, "1,m,5,5,0,x\n2,m,five,5,0,x\n\"3,m\n4,m,0,0,0,x\n5,m,6,5,0,x"), skipping());
  EXPECT_EQ(trace.rows, 5U);
  EXPECT_EQ(trace.bad_rows, 2U);
  EXPECT_EQ(trace.left_out, 1U);
  EXPECT_THAT(all(trace, &Task::prompt_tokens), ElementsAre(11));
}

TEST(TraceMistakes, ABadRowDoesNotSetTheDayAzureTimesCountFrom) {
  const Trace trace =
      read(cat(kAzure, "2023-02-30 00:00:00,1,1\n2023-03-01 00:00:07,1,1\n"), skipping());
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0));
  EXPECT_EQ(trace.bad_rows, 1U);
}

TEST(TraceMistakes, IfEveryRowIsBadSkippingIsAnErrorToo) {
  EXPECT_EQ(message_of(cat(kTimed, "\n0,p\n1,p\n"), skipping()),
            "t.csv:1: every row is bad; the first, in line 3: the row has 2 fields; the first line "
            "names 3 columns.");
}

TEST(TraceMistakes, OptionsOutOfRangeAreRefused) {
  const std::string text = burst_of(3);
  for (const double speed : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    TraceOptions options;
    options.speed_up = speed;
    EXPECT_EQ(message_of(text, options), "the speed-up of a trace must be a number above 0.");
  }
  for (const double queries : {0.0, 65536.0, std::nan("")}) {
    EXPECT_EQ(message_of(text, queries_each(queries)),
              "the queries per task of a trace must be above 0 and at most 65535.");
  }
  TraceOptions no_mix;
  no_mix.mix.clear();
  EXPECT_THAT(message_of(text, no_mix), HasSubstr("must name 1 to 64 profiles"));
  TraceOptions no_tokens;
  no_tokens.max_tokens = 0;
  EXPECT_EQ(message_of(text, no_tokens),
            "the maximum number of tokens of a query must be above 0.");
}

TEST(TraceMistakes, ASlowedTraceMustStillEnd) {
  TraceOptions options;
  options.speed_up = 1e-9;
  EXPECT_EQ(
      message_of(burst_of(30), options),
      "t.csv:1: the last task would come more than 1e10 seconds after the first; use a larger "
      "speed-up.");
}

}  // namespace
}  // namespace tangram::sim
