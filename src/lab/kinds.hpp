// The kinds of experiment: what code runs for which `kind` of a config.toml. One rule: a kind is
// one function in one file; it exists when it has a row in kinds.cpp.
#pragma once

#include <span>
#include <string_view>

#include "lab/experiment.hpp"
#include "lab/results.hpp"
#include "lab/study.hpp"

namespace tangram::lab {

struct Kind {
  std::string_view name;
  std::string_view summary;
  Result<Findings> (*run)(Study&, const Experiment&);
};

[[nodiscard]] std::span<const Kind> kinds();
[[nodiscard]] Result<const Kind*> find_kind(std::string_view name);

// The experiments of the paper (§V).
[[nodiscard]] Result<Findings> run_tpot(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_instances(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_wait(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_fragmentation(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_execution(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_ablation(Study& study, const Experiment& e);

// Ours.
[[nodiscard]] Result<Findings> run_threshold(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_sensitivity(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_baselines(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_gpu_models(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_node_size(Study& study, const Experiment& e);

}  // namespace tangram::lab
