// See results.hpp.
#include "lab/results.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tangram::lab {
namespace {

// The verdict on one workload. "At least 0" requires more than chance.
Verdict::Holds holds(const Claim& claim, const sim::Estimate& value) {
  const double wanted = claim.at_least_percent / 100.0;
  const double low = value.mean - value.ci95;
  if (low > wanted || (low == wanted && wanted > 0)) return Verdict::Holds::kYes;
  return value.mean + value.ci95 < wanted ? Verdict::Holds::kNo : Verdict::Holds::kUndecided;
}

Verdict::Holds combine_verdicts(std::size_t yes, std::size_t no, std::size_t measured) {
  if (measured == 0) return Verdict::Holds::kNothing;
  if (yes == measured) return Verdict::Holds::kYes;
  if (yes > 0) return Verdict::Holds::kPartly;
  return no == measured ? Verdict::Holds::kNo : Verdict::Holds::kUndecided;
}

}  // namespace

std::string percent(const sim::Estimate& share) {
  if (share.ci95 <= 0) return fmt::format("{:.1f} %", 100 * share.mean);
  return fmt::format("{:.1f} % ± {:.1f}", 100 * share.mean, 100 * share.ci95);
}

std::string with_interval(const sim::Estimate& value, int digits) {
  if (value.ci95 <= 0) return fmt::format("{:.{}f}", value.mean, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", value.mean, digits, value.ci95, digits);
}

boost::json::object to_json(const sim::Estimate& value) {
  return {{"mean", value.mean}, {"ci95", value.ci95}};
}

std::string_view word_of(Verdict::Holds holds) {
  switch (holds) {
    case Verdict::Holds::kYes:
      return "reproduced";
    case Verdict::Holds::kPartly:
      return "in part";
    case Verdict::Holds::kNo:
      return "not reproduced";
    case Verdict::Holds::kUndecided:
      return "undecided";
    case Verdict::Holds::kNothing:
      return "nothing to compare";
  }
  return "?";
}

std::vector<Verdict> judge(const Experiment& experiment, const Findings& findings) {
  std::vector<Verdict> verdicts;
  for (const Claim& claim : experiment.claims) {
    Verdict verdict{.says = claim.says, .ours = {}};
    std::size_t yes = 0;
    std::size_t no = 0;
    std::size_t measured = 0;
    for (const Measure& m : findings.measures) {
      if (m.name != claim.measure) continue;
      if (!claim.on.empty() && std::ranges::find(claim.on, m.on) == claim.on.end()) continue;
      if (!verdict.ours.empty()) verdict.ours += "; ";
      verdict.ours += fmt::format("{}: {}", m.on, m.note.empty() ? percent(m.value) : m.note);
      if (!m.meaningful) continue;
      const Verdict::Holds here = holds(claim, m.value);
      ++measured;
      yes += here == Verdict::Holds::kYes ? 1 : 0;
      no += here == Verdict::Holds::kNo ? 1 : 0;
    }
    verdict.holds = combine_verdicts(yes, no, measured);
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace tangram::lab
