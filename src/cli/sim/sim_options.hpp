// The options of the `tangram sim` verbs: node, workload, policy and knobs. All are checked before
// a simulation starts; an option that does not apply to the chosen workload is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/command/command_line.hpp"
#include "sim/simulate.hpp"
#include "sim/traces.hpp"

namespace tangram::cli {

struct SimOptions {
  std::uint32_t gpus = 4;
  std::string gpu_model = "A100-40GB";
  std::string layout;  // static partitioning: layout of each GPU

  std::string workload = "synthetic";
  std::uint64_t jobs = 0;  // 0: 1,000, or 100 of the paper's tasks, or all of the trace
  std::optional<double> load;
  std::optional<double> arrival_s;
  std::optional<double> duration_s;
  std::optional<double> transfer_share;
  std::optional<double> movable_share;
  std::optional<double> sigma;
  std::string law;
  std::string mix;
  std::string queries;  // a number; empty: from the offered load

  std::string trace;
  std::string form = "auto";
  bool skip_bad = false;
  std::optional<double> speed_up;
  std::optional<double> max_tokens;

  std::string policy = "paper";
  std::string migration = "both";
  std::string queue;  // empty: that of the placement policy
  std::string threshold = "0.4";
  std::string restraint = "default";
  std::vector<std::string> knobs;
  std::uint64_t seed = 1;
};

void add_sim_options(Verb& verb, SimOptions& options);

// A validated simulation: the setting, and the workload as a function of the seed.
struct SimPlan {
  sim::Setting setting;
  std::function<sim::Workload(std::uint64_t seed)> workload;
  std::uint64_t tasks = 0;
  double queries_per_task = 0;      // paper workloads only
  bool same_for_all_seeds = false;  // a trace of jobs has no random part
  std::vector<std::string> notes;   // about the input, e.g. skipped rows
};
[[nodiscard]] Result<SimPlan> plan_simulation(const SimOptions& options);

}  // namespace tangram::cli
