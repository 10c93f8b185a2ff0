// Workloads: the same seed gives the same tasks, each purpose has a stream of its own, and what is
// drawn has the right mean. Every tolerance is some standard errors of that mean, so that a right
// generator fails with a chance of one in ten thousand per seed.
#include "sim/workload.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/llm.hpp"

namespace tangram::sim {
namespace {

using ::testing::HasSubstr;

constexpr double kErrors = 4;  // standard errors allowed

std::vector<Task> all_tasks(const Workload& workload) {
  std::vector<Task> tasks;
  Task task;
  while (workload.next(task)) tasks.push_back(task);
  EXPECT_EQ(tasks.size(), workload.tasks);
  return tasks;
}

bool same(const Task& a, const Task& b) {
  return a.arrival_s == b.arrival_s && a.duration_s == b.duration_s &&
         a.prompt_tokens == b.prompt_tokens && a.response_tokens == b.response_tokens &&
         a.transfer_share == b.transfer_share && a.queries == b.queries && a.model == b.model &&
         a.profile == b.profile && a.movable == b.movable;
}

PaperWorkload many(const char* name, int tasks = 20'000) {
  PaperWorkload paper = *paper_workload(name);
  paper.tasks = tasks;
  return paper;
}

template <class Value>
double mean_of(const std::vector<Task>& tasks, Value value) {
  double sum = 0;
  for (const Task& task : tasks) sum += static_cast<double>(value(task));
  return sum / static_cast<double>(tasks.size());
}

TEST(Workload, TheSameSeedGivesTheSameTasks) {
  const Synthetic synthetic{.movable_share = 0.5};
  for (const std::uint64_t seed : {1U, 2U, 77U}) {
    const auto a = all_tasks(generate(many("long25", 500), seed));
    const auto b = all_tasks(generate(many("long25", 500), seed));
    const auto c = all_tasks(generate(many("long25", 500), seed + 1));
    EXPECT_TRUE(std::ranges::equal(a, b, same));
    EXPECT_FALSE(std::ranges::equal(a, c, same));
    EXPECT_TRUE(std::ranges::equal(all_tasks(generate(synthetic, seed)),
                                   all_tasks(generate(synthetic, seed)), same));
    EXPECT_FALSE(std::ranges::equal(all_tasks(generate(synthetic, seed)),
                                    all_tasks(generate(synthetic, seed + 1)), same));
  }
}

TEST(Workload, ThePapersFourAreKnownByName) {
  for (const std::string& name : paper_workload_names()) {
    const auto paper = paper_workload(name);
    ASSERT_TRUE(paper) << name;
    EXPECT_EQ(paper->name, name);
    EXPECT_EQ(paper->long_queries, name == "long25" || name == "long50");
    EXPECT_EQ(paper->mean_arrival_s, name == "normal50" || name == "long50" ? 50 : 25);
  }
  const auto unknown = paper_workload("normal52");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("did you mean normal50?"));
}

// Of the 744 rows: request 429.5 and response 209.3; Long 718.9 and 304.5. Drawn independently and
// cut at 2048 tokens in total, long requests and long responses meet less often than in the trace:
// the means are 422.9 and 205.0 (2 % less), and 692.6 and 279.4 (4 and 8 % less) for Long. The
// tolerance is those differences rounded up, and far from taking one kind of query for the other.
TEST(Workload, MeanQueriesAreThoseOfTheTrace) {
  const MeanQuery normal = mean_query(false);
  EXPECT_NEAR(normal.prompt_tokens, 429.5, 0.03 * 429.5);
  EXPECT_NEAR(normal.response_tokens, 209.3, 0.03 * 209.3);
  const MeanQuery longer = mean_query(true);
  EXPECT_NEAR(longer.prompt_tokens, 718.9, 0.05 * 718.9);
  EXPECT_NEAR(longer.response_tokens, 304.5, 0.10 * 304.5);
}

// 60,000 queries; the standard deviations of a query are below 450 and 260 tokens.
TEST(Workload, TasksHaveTheMeanQuery) {
  for (const char* name : {"normal25", "long50"}) {
    const PaperWorkload paper = many(name);
    const auto tasks = all_tasks(generate(paper, 5));
    const MeanQuery query = mean_query(paper.long_queries);
    const double root = std::sqrt(3.0 * 20'000);
    EXPECT_NEAR(mean_of(tasks, [](const Task& t) { return t.prompt_tokens; }) / 3,
                query.prompt_tokens, kErrors * 450 / root)
        << name;
    EXPECT_NEAR(mean_of(tasks, [](const Task& t) { return t.response_tokens; }) / 3,
                query.response_tokens, kErrors * 260 / root)
        << name;
  }
}

TEST(Workload, QueriesKeepToTheirLimits) {
  for (const char* name : {"normal25", "long25"}) {
    PaperWorkload paper = many(name);
    paper.queries_per_task = 1;
    for (const Task& task : all_tasks(generate(paper, 6))) {
      ASSERT_GE(task.prompt_tokens, 1);
      ASSERT_GE(task.response_tokens, 1);
      ASSERT_LE(task.prompt_tokens + task.response_tokens, 2048);
      ASSERT_GE(task.prompt_tokens + task.response_tokens, paper.long_queries ? 492 : 2);
    }
  }
}

// A Poisson stream: the gaps have the mean, and as their variance its square.
void expect_poisson(const std::vector<Task>& tasks, double mean) {
  const auto count = static_cast<double>(tasks.size());
  double before = 0;
  double squares = 0;
  for (const Task& task : tasks) {
    ASSERT_GE(task.arrival_s, before);
    squares += (task.arrival_s - before) * (task.arrival_s - before);
    before = task.arrival_s;
  }
  EXPECT_NEAR(before / count, mean, kErrors * mean / std::sqrt(count));
  // The mean square is 2m², with a standard deviation of √20·m².
  EXPECT_NEAR(squares / count, 2 * mean * mean,
              kErrors * std::sqrt(20.0) * mean * mean / std::sqrt(count));
}

TEST(Workload, ArrivalsArePoisson) {
  for (const char* name : {"normal25", "long50"}) {
    const PaperWorkload paper = many(name);
    expect_poisson(all_tasks(generate(paper, 7)), paper.mean_arrival_s);
  }
  expect_poisson(all_tasks(generate(Synthetic{.tasks = 50'000, .mean_arrival_s = 3}, 7)), 3);
}

TEST(Workload, ProfilesFollowTheMix) {
  const Workload workload = generate(many("normal25"), 8);
  EXPECT_EQ(workload.profiles,
            (std::vector<std::string>{"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb"}));
  const auto tasks = all_tasks(workload);
  const double shares[] = {4 / 12.0, 3 / 12.0, 3 / 12.0, 2 / 12.0};
  for (std::size_t i = 0; i < 4; ++i) {
    const double share = mean_of(tasks, [&](const Task& t) { return t.profile == i; });
    EXPECT_NEAR(share, shares[i], kErrors * std::sqrt(shares[i] * (1 - shares[i]) / 20'000)) << i;
  }
}

// §V-A: opt-6.7b or bloom-1b7 on the two smaller profiles, opt-13b or bloom-7b1 on the others; each
// half of the time.
TEST(Workload, ModelsFollowThePapersRule) {
  const char* const expected[4][2] = {{"opt-6.7b", "bloom-1b7"},
                                      {"opt-6.7b", "bloom-1b7"},
                                      {"opt-13b", "bloom-7b1"},
                                      {"opt-13b", "bloom-7b1"}};
  int counts[4][2] = {};
  for (const Task& task : all_tasks(generate(many("normal25"), 9))) {
    ASSERT_GE(task.model, 0);
    const auto name = language_models()[static_cast<std::size_t>(task.model)].name;
    const auto& pair = expected[task.profile];
    ASSERT_TRUE(name == pair[0] || name == pair[1]) << name << " on profile " << +task.profile;
    ++counts[task.profile][name == pair[1] ? 1 : 0];
  }
  for (const auto& pair : counts) {
    const double all = pair[0] + pair[1];
    EXPECT_NEAR(pair[0] / all, 0.5, kErrors * 0.5 / std::sqrt(all));
  }
}

TEST(Workload, MoreQueriesLeaveArrivalsProfilesAndModelsAlone) {
  PaperWorkload fewer = many("normal25", 2000);
  PaperWorkload more = fewer;
  fewer.queries_per_task = 2;
  more.queries_per_task = 5;
  const auto a = all_tasks(generate(fewer, 10));
  const auto b = all_tasks(generate(more, 10));
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].arrival_s, b[i].arrival_s);
    ASSERT_EQ(a[i].profile, b[i].profile);
    ASSERT_EQ(a[i].model, b[i].model);
    ASSERT_EQ(a[i].queries, 2);
    ASSERT_EQ(b[i].queries, 5);
    ASSERT_LT(a[i].prompt_tokens, b[i].prompt_tokens);  // the first two are the same ones
    ASSERT_LT(a[i].response_tokens, b[i].response_tokens);
  }
}

TEST(Workload, QueriesPerTaskAreTheNumberBelowOrAboveAndAtLeastOne) {
  PaperWorkload paper = many("normal25");
  paper.queries_per_task = 2.3;
  const auto tasks = all_tasks(generate(paper, 11));
  for (const Task& task : tasks) ASSERT_TRUE(task.queries == 2 || task.queries == 3);
  EXPECT_NEAR(mean_of(tasks, [](const Task& t) { return t.queries; }), 2.3,
              kErrors * std::sqrt(0.3 * 0.7 / 20'000));
  paper.queries_per_task = 0.2;
  for (const Task& task : all_tasks(generate(paper, 11))) ASSERT_EQ(task.queries, 1);
}

// The coefficients of variation: 1 (exponential), 0 (constant), √(e^σ² − 1) (log-normal).
TEST(Workload, EachLawHasTheRequestedMean) {
  const struct {
    DurationLaw law;
    double sigma;
    double variation;
  } laws[] = {{DurationLaw::kExponential, 1, 1},
              {DurationLaw::kConstant, 1, 0},
              {DurationLaw::kLogNormal, 1, std::sqrt(std::exp(1.0) - 1)},
              {DurationLaw::kLogNormal, 0.5, std::sqrt(std::exp(0.25) - 1)}};
  for (const auto& [law, sigma, variation] : laws) {
    Synthetic synthetic{.tasks = 50'000, .mean_duration_s = 40};
    synthetic.law = law;
    synthetic.sigma = sigma;
    const auto tasks = all_tasks(generate(synthetic, 12));
    const double mean = mean_of(tasks, [](const Task& t) { return t.duration_s; });
    const double squares = mean_of(
        tasks, [&](const Task& t) { return (t.duration_s - mean) * (t.duration_s - mean); });
    EXPECT_NEAR(mean, 40, kErrors * 40 * variation / std::sqrt(50'000) + 1e-9);
    EXPECT_NEAR(std::sqrt(squares) / 40, variation, 0.1 * variation + 1e-9);
  }
}

TEST(Workload, SyntheticTasksHaveNoModelAndTheRequestedShares) {
  Synthetic synthetic{.tasks = 20'000};
  synthetic.transfer_share = 0.25;
  synthetic.movable_share = 0.7;
  const auto tasks = all_tasks(generate(synthetic, 13));
  for (const Task& task : tasks) {
    ASSERT_EQ(task.model, -1);
    ASSERT_EQ(task.queries, 0);
    ASSERT_EQ(task.transfer_share, 0.25F);
  }
  EXPECT_NEAR(mean_of(tasks, [](const Task& t) { return t.movable; }), 0.7,
              kErrors * std::sqrt(0.7 * 0.3 / 20'000));
}

TEST(Workload, GivenTasksComeInTheirOrder) {
  const std::vector<Task> tasks{{.arrival_s = 1, .duration_s = 5}, {.arrival_s = 2, .profile = 1}};
  const Workload workload = workload_of("mine", {"1g.5gb", "7g.40gb"}, tasks);
  EXPECT_EQ(workload.name, "mine");
  EXPECT_TRUE(std::ranges::equal(all_tasks(workload), tasks, same));
}

TEST(Mix, IsReadAsWritten) {
  const auto mix = parse_mix("1g.5gb:4,2g.10gb:3,7g.40gb");
  ASSERT_TRUE(mix);
  ASSERT_EQ(mix->size(), 3U);
  EXPECT_EQ((*mix)[0].profile, "1g.5gb");
  EXPECT_EQ((*mix)[0].count, 4);
  EXPECT_EQ((*mix)[1].count, 3);
  EXPECT_EQ((*mix)[2].profile, "7g.40gb");
  EXPECT_EQ((*mix)[2].count, 1);  // without a count: once
}

TEST(Mix, MistakesAreReported) {
  for (const char* bad : {"", ",", "1g.5gb:", "1g.5gb:0", "1g.5gb:-1", "1g.5gb:x", ":3",
                          "1g.5gb:4,", "1g.5gb:4,,2g.10gb", "1g.5gb:1000001", "1g.5gb:1:2"}) {
    const auto mix = parse_mix(bad);
    ASSERT_FALSE(mix) << bad;
    EXPECT_THAT(mix.error().message, HasSubstr("write PROFILE:COUNT")) << bad;
  }
  const auto twice = parse_mix("1g.5gb:4,1g.5gb:2");
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.error().message, HasSubstr("'1g.5gb' twice"));
  std::string long_mix = "p0";
  for (int i = 1; i < 64; ++i) long_mix += ",p" + std::to_string(i);
  EXPECT_TRUE(parse_mix(long_mix));
  EXPECT_FALSE(parse_mix(long_mix + ",p64"));
}

TEST(Laws, AreKnownByName) {
  EXPECT_EQ(parse_law("exponential"), DurationLaw::kExponential);
  EXPECT_EQ(parse_law("constant"), DurationLaw::kConstant);
  EXPECT_EQ(parse_law("lognormal"), DurationLaw::kLogNormal);
  const auto unknown = parse_law("normal");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("Known: exponential"));
}

}  // namespace
}  // namespace tangram::sim
