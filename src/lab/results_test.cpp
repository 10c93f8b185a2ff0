// Verdicts: a claim is reproduced beyond the interval, undecided within it, or not reproduced;
// values near zero do not count.
#include "lab/results.hpp"

#include <gtest/gtest.h>

namespace tangram::lab {
namespace {

Measure measured(std::string on, double mean, double ci95 = 0) {
  return {.name = "cut", .on = std::move(on), .value = {mean, ci95}, .note = {}};
}

Measure near_zero(std::string on, std::string note) {
  return {.name = "cut",
          .on = std::move(on),
          .value = {0.9, 0},
          .meaningful = false,
          .note = std::move(note)};
}

Verdict verdict(std::vector<Measure> measures, std::vector<std::string> on = {}) {
  Experiment e;
  e.claims = {{"cut", std::move(on), 13, "13 % less"}};
  Findings findings;
  findings.measures = std::move(measures);
  const std::vector<Verdict> verdicts = judge(e, findings);
  EXPECT_EQ(verdicts.size(), 1U);
  return verdicts.at(0);
}

using Holds = Verdict::Holds;

TEST(Judge, AClaimIsReachedBeyondTheInterval) {
  const Verdict v = verdict({measured("a", 0.13), measured("b", 0.2, 0.05)});
  EXPECT_EQ(v.holds, Holds::kYes);
  EXPECT_EQ(v.says, "13 % less");
  EXPECT_EQ(v.ours, "a: 13.0 %; b: 20.0 % ± 5.0");
}

TEST(Judge, WithinTheIntervalNothingIsDecided) {
  EXPECT_EQ(verdict({measured("a", 0.12, 0.02)}).holds, Holds::kUndecided);
  EXPECT_EQ(verdict({measured("a", 0.14, 0.02)}).holds, Holds::kUndecided);
  EXPECT_EQ(verdict({measured("a", 0.1, 0.02), measured("b", 0.12, 0.02)}).holds,
            Holds::kUndecided);
}

TEST(Judge, OnSomeWorkloadsIsInPartAndOnNoneIsNot) {
  EXPECT_EQ(verdict({measured("a", 0.2), measured("b", 0.1, 0.02)}).holds, Holds::kPartly);
  EXPECT_EQ(verdict({measured("a", 0.2), measured("b", 0.12, 0.02)}).holds, Holds::kPartly);
  EXPECT_EQ(verdict({measured("a", 0.1, 0.02)}).holds, Holds::kNo);
  EXPECT_EQ(verdict({measured("a", -0.1)}).holds, Holds::kNo);
}

TEST(Judge, AtLeastZeroRequiresMoreThanChance) {
  const auto at_least_0 = [](double mean, double ci95) {
    Experiment e;
    e.claims = {{"cut", {}, 0, "less"}};
    Findings findings;
    findings.measures = {measured("a", mean, ci95)};
    return judge(e, findings).at(0).holds;
  };
  EXPECT_EQ(at_least_0(0.1, 0.05), Holds::kYes);
  EXPECT_EQ(at_least_0(0, 0), Holds::kUndecided);
  EXPECT_EQ(at_least_0(0.1, 0.2), Holds::kUndecided);
  EXPECT_EQ(at_least_0(-0.1, 0.05), Holds::kNo);
}

TEST(Judge, NearZeroGivesNoPercentageAndDecidesNothing) {
  const Verdict v = verdict({measured("a", 0.2), near_zero("b", "0.2 s → 0.0 s")});
  EXPECT_EQ(v.holds, Holds::kYes);
  EXPECT_EQ(v.ours, "a: 20.0 %; b: 0.2 s → 0.0 s");
  EXPECT_EQ(verdict({near_zero("b", "0.2 s → 0.0 s")}).holds, Holds::kNothing);
  EXPECT_EQ(verdict({}).holds, Holds::kNothing);
}

TEST(Judge, AClaimIsHeldAgainstItsMeasureOnItsWorkloads) {
  Measure other = measured("a", 0);
  other.name = "other";
  EXPECT_EQ(verdict({other, measured("a", 0.2), measured("b", 0)}, {"a"}).holds, Holds::kYes);
  EXPECT_EQ(verdict({other, measured("a", 0.2), measured("b", 0)}, {"a"}).ours, "a: 20.0 %");
}

TEST(Results, NumbersAreShownWithTheirInterval) {
  EXPECT_EQ(percent({0.1234, 0}), "12.3 %");
  EXPECT_EQ(percent({-0.1, 0.0049}), "-10.0 % ± 0.5");
  EXPECT_EQ(with_interval({12.346, 0}, 1), "12.3");
  EXPECT_EQ(with_interval({12.346, 1.25}, 2), "12.35 ± 1.25");
  EXPECT_EQ(to_json({1, 2}).at("ci95"), 2.0);
}

}  // namespace
}  // namespace tangram::lab
