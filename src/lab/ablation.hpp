// The paper's ablation as runs: baseline, +LB, +LB+Dyn, +LB+Dyn+Migr (§V-E). Wait and execution
// experiments show parts of the same runs. One rule: each setting adds one feature to the last.
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

// The four settings on a node, the static two on the arrangement of `base`.
[[nodiscard]] std::vector<sim::Setting> ablation_settings(const sim::Setting& node,
                                                          const sim::Setting& base);

struct Ablation {
  sim::PaperWorkload workload;
  sim::Setting base;             // the best arrangement for the baseline
  std::size_t arrangements = 0;  // among so many
  std::vector<Runs> runs;        // by setting
};

// The arrangement is the one with the least makespan of the baseline.
[[nodiscard]] Result<Ablation> ablate(Study& study, const Experiment& e,
                                      std::string_view workload_name);

}  // namespace tangram::lab
