// The kinds of experiment: which function runs which `kind` of a config.toml. Every kind is one
// function with a row in kinds.cpp.
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

// Tangram's own experiments.
[[nodiscard]] Result<Findings> run_threshold(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_sensitivity(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_baselines(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_gpu_models(Study& study, const Experiment& e);
[[nodiscard]] Result<Findings> run_node_size(Study& study, const Experiment& e);

}  // namespace tangram::lab
