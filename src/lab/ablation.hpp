// The paper's ablation as runs: baseline, +LB, +LB+Dyn, +LB+Dyn+Migr (§V-E); each setting adds one
// feature. Wait and execution experiments show parts of the same runs.
#pragma once

#include <array>

#include "lab/study.hpp"

namespace tangram::lab {

inline constexpr std::size_t kAblationSettings = 4;
inline constexpr std::array<const char*, kAblationSettings> kAblationNames = {
    "baseline", "lb", "lb_dyn", "lb_dyn_migr"};
inline constexpr std::array<const char*, kAblationSettings> kAblationTitles = {
    "baseline", "+LB", "+LB+Dyn", "+LB+Dyn+Migr"};

inline constexpr std::array<const char*, kAblationSettings> kAblationSteps = {"", "+LB", "+Dyn",
                                                                              "+Migr"};

// The four settings on a node, the static two with the arrangement of `base`.
[[nodiscard]] std::vector<sim::Setting> ablation_settings(const sim::Setting& node,
                                                          const sim::Setting& base);

struct Ablation {
  sim::PaperWorkload workload;
  sim::Setting base;             // the best arrangement for the baseline
  std::size_t arrangements = 0;  // number that were tried
  std::vector<Runs> runs;        // by setting
};

// Runs the ablation. The arrangement is the one with the smallest makespan of the baseline.
[[nodiscard]] Result<Ablation> ablate(Study& study, const Experiment& e,
                                      std::string_view workload_name);

}  // namespace tangram::lab
