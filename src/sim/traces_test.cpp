// Traces: each form gives the tasks it says, and the same seed the same tasks.
#include "sim/traces_test.hpp"

#include <numeric>

#include <gmock/gmock.h>

#include "sim/llm.hpp"

namespace tangram::sim {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Traces, APlainRowIsATaskWithADuration) {
  const Trace trace = read(
      "arrival_s,profile,duration_s,transfer_share,movable\n"
      "10,1g.5gb,30,0.25,0\n"
      "12.5,2g.10gb,1e2,1,true\n"
      "20,1g.5gb,0,0,false\n");
  EXPECT_EQ(trace.name, "t.csv");
  EXPECT_EQ(trace.form, TraceForm::kPlain);
  EXPECT_EQ(trace.rows, 3U);
  EXPECT_THAT(trace.profiles, ElementsAre("1g.5gb", "2g.10gb"));
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0, 2.5, 10));
  EXPECT_THAT(all(trace, &Task::duration_s), ElementsAre(30, 100, 0));
  EXPECT_THAT(all(trace, &Task::transfer_share), ElementsAre(0.25, 1, 0));
  EXPECT_THAT(all(trace, &Task::profile), ElementsAre(0, 1, 0));
  EXPECT_THAT(all(trace, &Task::movable), ElementsAre(0, 1, 0));
  EXPECT_THAT(all(trace, &Task::model), Each(-1));
}

TEST(Traces, APlainRowIsATaskOfALanguageModel) {
  const Trace trace = read(
      "model,queries,profile,response_tokens,prompt_tokens,arrival_s\r\n"
      "bloom-1b7,3,1g.5gb,50,700,0\r\n"
      "opt-13b,65535,4g.20gb,1,1000000000,1");
  EXPECT_EQ(language_models()[static_cast<std::size_t>(trace.tasks[0].model)].name, "bloom-1b7");
  EXPECT_EQ(language_models()[static_cast<std::size_t>(trace.tasks[1].model)].name, "opt-13b");
  EXPECT_THAT(all(trace, &Task::queries), ElementsAre(3, 65535));
  EXPECT_THAT(all(trace, &Task::prompt_tokens), ElementsAre(700, 1e9));
  EXPECT_THAT(all(trace, &Task::response_tokens), ElementsAre(50, 1));
  EXPECT_THAT(all(trace, &Task::movable), Each(1));
}

TEST(Traces, OptionalColumnsOfThePlainFormHaveDefaults) {
  const Task timed = read(cat(kTimed, "0,p,1\n")).tasks.at(0);
  EXPECT_EQ(timed.transfer_share, 0);
  EXPECT_TRUE(timed.movable);
  EXPECT_EQ(read(cat(kTokens, "0,p,opt-13b,2,3\n")).tasks.at(0).queries, 1);
}

TEST(Traces, RowsOutOfOrderAreSortedAndEqualOnesKeepTheirOrder) {
  const Trace trace = read(cat(kTimed, "7,a,1\n5,b,2\n7,c,3\n5,d,4\n6,e,5\n"));
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0, 0, 1, 2, 2));
  EXPECT_THAT(all(trace, &Task::duration_s), ElementsAre(2, 4, 5, 1, 3));
}

TEST(Traces, ASpeedUpDividesArrivalsAndNothingElse) {
  TraceOptions options;
  options.speed_up = 4;
  const Trace trace = read(cat(kTimed, "2,a,8\n10,a,8\n"), options);
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0, 2));
  EXPECT_THAT(all(trace, &Task::duration_s), Each(8));
}

TEST(Traces, MostTasksTakesTheFirstByArrival) {
  TraceOptions options = queries_each(2);
  options.max_tasks = 2;
  const Trace plain = read(cat(kTimed, "9,a,1\n1,a,2\n5,a,3\n"), options);
  EXPECT_THAT(all(plain, &Task::duration_s), ElementsAre(2, 3));
  EXPECT_EQ(plain.not_used, 1U);
  const Trace queries = read(burst_of(7), options);
  EXPECT_THAT(all(queries, &Task::prompt_tokens), ElementsAre(3, 7));
  EXPECT_EQ(queries.not_used, 3U);
}

TEST(Traces, BurstGptIsReadWithAndWithoutSessions) {
  const Trace older = read(cat(kBurst, "5,ChatGPT,40,10,50,Conversation log\n"));
  const Trace newer = read(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
      "Log Type\n5.0,\"s,1\",3,GPT-4,40,10,50,Conversation log\n");
  for (const Trace& trace : {older, newer}) {
    EXPECT_EQ(trace.form, TraceForm::kBurstGpt);
    EXPECT_EQ(trace.tasks.size(), 1U);
    EXPECT_EQ(trace.tasks.at(0).prompt_tokens, 40);
    EXPECT_EQ(trace.tasks.at(0).response_tokens, 10);
    EXPECT_EQ(trace.tasks.at(0).arrival_s, 0);
  }
}

TEST(Traces, AzureTimesAreExactOverMidnightAndLeapDays) {
  const Trace trace = read(cat(kAzure,
                               "2024-02-28 23:59:59.5000000,3,1\r\n"
                               "2024-02-29 00:00:00,3,1\r\n"
                               "2024-03-01 00:00:00.0000001+00:00,3,1"),
                           queries_each(1));
  EXPECT_EQ(trace.form, TraceForm::kAzure);
  ASSERT_EQ(trace.tasks.size(), 3U);
  EXPECT_DOUBLE_EQ(trace.tasks[1].arrival_s, 0.5);
  EXPECT_NEAR(trace.tasks[2].arrival_s, 86400.5000001, 1e-9);
}

TEST(Traces, FailuresAndOutliersAreLeftOutAndCounted) {
  TraceOptions options = queries_each(1);
  options.max_tokens = 100;
  const Trace trace =
      read(cat(kBurst, "1,m,0,5,5,x\n2,m,5,0,5,x\n3,m,60,40,100,x\n4,m,61,40,1,x\n"), options);
  EXPECT_THAT(all(trace, &Task::prompt_tokens), ElementsAre(60));
  EXPECT_EQ(trace.tasks[0].arrival_s, 0);
  EXPECT_EQ(trace.rows, 4U);
  EXPECT_EQ(trace.left_out, 3U);
  EXPECT_EQ(trace.bad_rows, 0U);
}

TEST(Traces, QueriesInARowBecomeATaskThatComesWithTheFirst) {
  const Trace trace = read(burst_of(7), queries_each(3));
  EXPECT_THAT(all(trace, &Task::queries), ElementsAre(3, 3, 1));
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0, 3, 6));
  EXPECT_THAT(all(trace, &Task::prompt_tokens), ElementsAre(6, 15, 7));
  EXPECT_THAT(all(trace, &Task::response_tokens), ElementsAre(3, 3, 1));
}

TEST(Traces, QueriesAreGroupedByArrivalNotByPlaceInTheFile) {
  const Trace trace =
      read(cat(kBurst, "9,m,8,1,0,x\n1,m,1,1,0,x\n8,m,4,1,0,x\n2,m,2,1,0,x\n"), queries_each(2));
  EXPECT_THAT(all(trace, &Task::prompt_tokens), ElementsAre(3, 12));
  EXPECT_THAT(all(trace, &Task::arrival_s), ElementsAre(0, 7));
}

TEST(Traces, QueriesPerTaskAreTheNumberBelowOrAboveTheMean) {
  const Trace trace = read(burst_of(2000), queries_each(2.25));
  std::vector<double> queries = all(trace, &Task::queries);
  queries.pop_back();  // may be short
  EXPECT_THAT(queries, Each(::testing::AnyOf(2, 3)));
  const double mean =
      std::reduce(queries.begin(), queries.end()) / static_cast<double>(queries.size());
  EXPECT_NEAR(mean, 2.25, 0.05);
  EXPECT_THAT(all(read(burst_of(5), queries_each(0.5)), &Task::queries), Each(1));
}

TEST(Traces, ProfilesFollowTheMixAndModelsThePapersRule) {
  TraceOptions options = queries_each(1);
  options.mix = {{"1g.5gb", 3}, {"3g.20gb", 1}};
  const Trace trace = read(burst_of(2000), options);
  EXPECT_THAT(trace.profiles, ElementsAre("1g.5gb", "3g.20gb"));
  std::vector<int> of_model(4);
  int large = 0;
  for (const Task& task : trace.tasks) {
    large += task.profile;
    ++of_model.at(static_cast<std::size_t>(task.model));
    EXPECT_TRUE(task.model == paper_model(task.profile == 0, false) ||
                task.model == paper_model(task.profile == 0, true));
  }
  EXPECT_NEAR(large, 500, 60);
  EXPECT_THAT(of_model, ElementsAre(::testing::Gt(600), ::testing::Gt(150), ::testing::Gt(600),
                                    ::testing::Gt(150)));
}

TEST(Traces, TheSameSeedGivesTheSameTasksAndAnotherOneOthers) {
  const auto drawn = [](std::uint64_t seed) {
    TraceOptions options = queries_each(1.5);
    options.seed = seed;
    const Trace trace = read(burst_of(200), options);
    std::vector<double> out = all(trace, &Task::profile);
    for (const double model : all(trace, &Task::model)) out.push_back(model);
    for (const double queries : all(trace, &Task::queries)) out.push_back(queries);
    return out;
  };
  EXPECT_EQ(drawn(7), drawn(7));
  EXPECT_NE(drawn(7), drawn(8));
}

TEST(Traces, TheMixLeavesTheNumberOfQueriesAlone) {
  TraceOptions options = queries_each(1.5);
  const Trace before = read(burst_of(100), options);
  options.mix = {{"a", 1}};
  EXPECT_EQ(all(read(burst_of(100), options), &Task::queries), all(before, &Task::queries));
}

TEST(Traces, FormsHaveNames) {
  EXPECT_EQ(parse_trace_form("auto"), TraceForm::kAuto);
  EXPECT_EQ(parse_trace_form("plain"), TraceForm::kPlain);
  EXPECT_EQ(parse_trace_form("burstgpt"), TraceForm::kBurstGpt);
  EXPECT_EQ(parse_trace_form("azure"), TraceForm::kAzure);
  EXPECT_EQ(
      parse_trace_form("burst").error().message,
      "unknown form of trace 'burst'; did you mean burstgpt? Known: auto, plain, burstgpt and "
      "azure.");
}

}  // namespace
}  // namespace tangram::sim
