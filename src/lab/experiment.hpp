// Experiment: what one folder of experiments/ says: the setting that is simulated (config.toml),
// what the paper reports (expected.toml) and how the figure is drawn (plot.gp). The folders are
// built into the program, so that the lab needs no source tree; a folder of one's own is read with
// --experiments. One rule: a number that decides a result is in these files or a knob, not in code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "core/threshold.hpp"
#include "mig/model.hpp"
#include "sim/workload.hpp"

namespace tangram::lab {

// What the paper says of a measure: at least so much, on these workloads.
struct Claim {
  std::string measure;  // as the experiment's code names it
  std::vector<std::string> on;
  int at_least_percent = 0;
  std::string says;
};

// A node other than the experiment's own.
struct NodeVariant {
  std::string name;
  std::string model;
  std::uint32_t gpus = 4;
  std::vector<sim::Share> instances;
  std::vector<std::string> knobs;  // NAME=VALUE
};

struct Experiment {
  std::string id;  // the folder's name
  std::string title;
  std::string section;  // of the paper, or what it is for
  std::string kind;     // which code runs it
  std::string model = "A100-40GB";
  std::uint32_t gpus = 4;
  std::vector<sim::Share> instances = sim::paper_mix();  // static multiset, and mix of requests
  std::vector<std::string> workloads;
  int tasks = 100;
  int seeds = 30;
  int load_percent = 80;  // offered to the busiest resource by the first of the paper's workloads
  core::Threshold threshold;
  std::vector<NodeVariant> nodes;
  std::vector<std::string> knobs;  // NAME=VALUE
  std::vector<std::string> tries;  // NAME=VALUE: each is tried alone, by the sensitivity study
  std::string paper;               // what the paper reports, in a sentence
  std::vector<Claim> claims;
  std::string plot;  // gnuplot; may be empty
};

// A file by its path below experiments/.
struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};
[[nodiscard]] const std::vector<EmbeddedFile>& embedded_experiments();

// The texts of one folder; `where` is for messages.
[[nodiscard]] Result<Experiment> parse_experiment(std::string_view id, std::string_view config,
                                                  std::string_view expected, std::string_view plot,
                                                  std::string_view where);

// One experiment by its id: built in, or from a directory that has a folder of that name.
[[nodiscard]] Result<Experiment> load_experiment(std::string_view id, const std::string& directory);

// The suites, in the order of the report.
[[nodiscard]] const std::vector<std::string>& paper_suite();
[[nodiscard]] const std::vector<std::string>& extra_suite();

}  // namespace tangram::lab
