// Study: builds settings from an experiment's file, runs them on all cores over its seeds, and
// caches runs, because several figures of the paper show the same runs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lab/experiment.hpp"
#include "sim/arrangements.hpp"
#include "sim/statistics.hpp"
#include "sim/trials.hpp"

namespace tangram::lab {

// Read by a progress bar while the study runs.
struct Progress {
  std::atomic<std::uint64_t> done = 0;  // tasks simulated
  std::atomic<std::uint64_t> total = 0;
};

struct StudyOptions {
  unsigned threads = 0;
  int seeds = 0;  // 0: as each experiment says
  std::uint64_t first_seed = 1;
  std::vector<std::string> knobs;  // NAME=VALUE, checked; override the experiments' own
  Progress* progress = nullptr;
  bool counting = false;  // only counts the tasks, for the progress bar
};

// What is kept of a run: small, because some studies have tens of thousands.
struct Run {
  double wait = 0;  // means over its tasks, in seconds
  double execution = 0;
  double makespan = 0;
  double fragmentation = 0;
  double moves = 0;  // done
  std::array<double, sim::kLanguageModels> tpot{};
};
using Runs = std::vector<Run>;  // by seed

// One value of each run.
[[nodiscard]] std::vector<double> column(const Runs& runs, double Run::* which);

class Study {
 public:
  explicit Study(StudyOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const StudyOptions& options() const { return options_; }
  [[nodiscard]] int seeds(const Experiment& e) const {
    return options_.seeds > 0 ? options_.seeds : e.seeds;
  }

  // The node of an experiment: dynamically partitioned, the full method, no restraint.
  [[nodiscard]] Result<sim::Setting> node(const Experiment& e) const;
  // Statically partitioned, first fit, no moves: the paper's baseline.
  [[nodiscard]] static sim::Setting baseline(const sim::Setting& node,
                                             const sim::Arrangement& arrangement);

  // A workload of the paper with the experiment's tasks and mix, and the queries per task of its
  // load.
  [[nodiscard]] static Result<sim::PaperWorkload> workload(const Experiment& e,
                                                           std::string_view name,
                                                           const sim::Setting& node);

  // Runs all seeds of each setting; returns the runs by setting.
  [[nodiscard]] Result<std::vector<Runs>> run(const Experiment& e,
                                              const std::vector<sim::Setting>& settings,
                                              const sim::PaperWorkload& workload);

  // The arrangement with the smallest mean of `by`, and its runs.
  struct BestStatic {
    sim::Setting setting;
    Runs runs;
    std::size_t arrangements = 0;
  };
  [[nodiscard]] Result<BestStatic> best_static(const Experiment& e, const sim::Setting& node,
                                               const sim::PaperWorkload& workload, double Run::* by,
                                               std::string_view placement);

 private:
  StudyOptions options_;
  std::map<std::string, Runs> cache_;
};

}  // namespace tangram::lab
