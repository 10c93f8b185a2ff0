// See results.hpp.
#include "lab/results.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace tangram::lab {
namespace {

// A claim holds on a workload if our estimate reaches it; "partly" if only the interval does.
Verdict::Holds holds(const Claim& claim, const sim::Estimate& value) {
  const double wanted = claim.at_least_percent / 100.0;
  if (value.mean >= wanted) return Verdict::Holds::kYes;
  return value.mean + value.ci95 >= wanted ? Verdict::Holds::kPartly : Verdict::Holds::kNo;
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

std::vector<Verdict> judge(const Experiment& experiment, const Findings& findings) {
  std::vector<Verdict> verdicts;
  for (const Claim& claim : experiment.claims) {
    Verdict verdict{.says = claim.says, .ours = {}, .holds = Verdict::Holds::kYes};
    std::size_t reached = 0;
    std::size_t asked = 0;
    for (const Measure& m : findings.measures) {
      if (m.name != claim.measure) continue;
      if (!claim.on.empty() && std::ranges::find(claim.on, m.on) == claim.on.end()) continue;
      if (!verdict.ours.empty()) verdict.ours += "; ";
      verdict.ours += fmt::format("{}: {}", m.on, m.meaningful ? percent(m.value) : m.note);
      if (!m.meaningful) continue;
      ++asked;
      const Verdict::Holds here = holds(claim, m.value);
      reached += here != Verdict::Holds::kNo ? 1 : 0;
      if (here != Verdict::Holds::kYes) verdict.holds = Verdict::Holds::kPartly;
    }
    if (asked == 0 || reached == 0) verdict.holds = Verdict::Holds::kNo;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace tangram::lab
