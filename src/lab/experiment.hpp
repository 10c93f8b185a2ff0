// Experiment: one folder of experiments/: the setting that is simulated (config.toml), what the
// paper reports (expected.toml) and how the figure is drawn (plot.gp). The folders are embedded in
// the program; --experiments names others. Numbers that decide a result are in these files or are
// knobs, not in code.
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

// A claim of the paper: the measure is at least this much, on these workloads.
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
  std::string section;  // of the paper, or the purpose
  std::string kind;     // see kinds.hpp
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
  std::vector<std::string> tries;  // NAME=VALUE: varied one by one in the sensitivity study
  std::string paper;               // what the paper reports, in a sentence
  std::vector<Claim> claims;
  std::string plot;  // gnuplot; may be empty
};

// An embedded file; `path` is relative to experiments/.
struct EmbeddedFile {
  std::string_view path;
  std::string_view text;
};
[[nodiscard]] const std::vector<EmbeddedFile>& embedded_experiments();

// Parses the texts of one folder; `where` is for messages.
[[nodiscard]] Result<Experiment> parse_experiment(std::string_view id, std::string_view config,
                                                  std::string_view expected, std::string_view plot,
                                                  std::string_view where);

// Loads an experiment by its id: embedded, or from a directory with a folder of that name.
[[nodiscard]] Result<Experiment> load_experiment(std::string_view id, const std::string& directory);

// The suites, in the order of the report.
[[nodiscard]] const std::vector<std::string>& paper_suite();
[[nodiscard]] const std::vector<std::string>& extra_suite();

}  // namespace tangram::lab
