// What the `tangram sim` verbs have in common: the node, the workload, the policy and the knobs, as
// options on the command line. One rule: everything is checked before a simulation begins, and what
// the chosen workload has no use for is an error, not ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/command_line.hpp"
#include "sim/simulate.hpp"
#include "sim/traces.hpp"

namespace tangram::cli {

struct SimOptions {
  std::uint32_t gpus = 4;
  std::string gpu_model = "A100-40GB";
  std::string layout;  // static partitioning: of each GPU

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
  std::string queries;  // a number, or empty for the rule

  std::string trace;
  std::string form = "auto";
  bool skip_bad = false;
  std::optional<double> speed_up;
  std::optional<double> most_tokens;

  std::string policy = "paper";
  std::string migration = "both";
  std::string queue;  // empty: the one the policy is meant for
  std::string threshold = "0.4";
  std::string restraint = "default";
  std::vector<std::string> knobs;
  std::uint64_t seed = 1;
};

void add_sim_options(Verb& verb, SimOptions& options);

// What can be simulated, checked: the setting, and the workload for any seed.
struct SimPlan {
  sim::Setting setting;
  std::function<sim::Workload(std::uint64_t seed)> workload;
  std::uint64_t tasks = 0;
  double queries_per_task = 0;      // of the paper's workloads
  bool same_for_all_seeds = false;  // a trace of jobs: nothing is drawn
  std::vector<std::string> notes;   // what the user should know of the input: rows skipped …
};
[[nodiscard]] Result<SimPlan> plan_simulation(const SimOptions& options);

}  // namespace tangram::cli
