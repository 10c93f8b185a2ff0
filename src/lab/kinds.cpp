// See kinds.hpp.
#include "lab/kinds.hpp"

#include <vector>

#include "base/text.hpp"

namespace tangram::lab {
namespace {

constexpr Kind kKinds[] = {
    {"tpot", "time per output token against the number of concurrent tasks", run_tpot},
    {"instances", "desired and actual instances over time", run_instances},
    {"wait", "dynamic partitioning against the best static layout", run_wait},
    {"fragmentation", "fragmentation over time, with moves", run_fragmentation},
    {"execution", "execution time with and without moves", run_execution},
    {"ablation", "makespan with the features added one by one", run_ablation},
    {"threshold", "the load-balancing threshold from 0 to 1", run_threshold},
    {"sensitivity", "the ablation with each assumption changed", run_sensitivity},
    {"baselines", "every placement policy side by side", run_baselines},
    {"gpu-models", "other GPU models", run_gpu_models},
    {"node-size", "nodes of more GPUs", run_node_size},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

Result<const Kind*> find_kind(std::string_view name) {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return &kind;
    names.emplace_back(kind.name);
  }
  const auto near = nearest(name, names);
  return not_found(cat("unknown kind of experiment ", tangram::quoted(name),
                       near ? cat("; did you mean ", *near, "?") : std::string("."),
                       " Known: ", join_words(names), "."));
}

}  // namespace tangram::lab
