// See suite.hpp.
#include "lab/suite.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.hpp"
#include "lab/kinds.hpp"
#include "lab/plot.hpp"
#include "sim/offered.hpp"

namespace tangram::lab {
namespace {

namespace fs = std::filesystem;

Result<void> write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (file) return {};
  return failed(cat("cannot write ", path.string(), ": ", std::strerror(errno),
                    ". Choose another folder with --out."));
}

Result<void> make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path, error)) return {};
  return failed(cat("cannot create folder ", path.string(), ": ",
                    error ? error.message() : "a file of that name exists",
                    ". Choose another with --out."));
}

// The new report in a folder beside the old one, which stays if anything fails.
class Draft {
 public:
  explicit Draft(const fs::path& out) : out_(out), draft_(out / ".draft") { remove(); }
  ~Draft() { remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  Draft(Draft&&) = delete;
  Draft& operator=(Draft&&) = delete;

  [[nodiscard]] fs::path data() const { return draft_ / "data"; }
  Result<void> begin() {
    const auto made = make_folder(out_ / "data");
    return made ? make_folder(data()) : made;
  }
  // Moves the files into place, the page last: users open that.
  Result<void> finish(const SuiteOptions& options, const SuiteReport& report) {
    auto done = write_file(draft_ / "results.json", report_json(options, report));
    if (done) done = write_file(draft_ / "index.html", report_html(options, report));
    if (!done) return done;
    std::vector<fs::path> names;
    for (const auto& entry : fs::directory_iterator(data())) {
      names.push_back(fs::path("data") / entry.path().filename());
    }
    names.emplace_back("results.json");
    names.emplace_back("index.html");
    for (const fs::path& name : names) {
      std::error_code error;
      fs::rename(draft_ / name, out_ / name, error);
      if (!error) continue;
      return failed(cat("cannot write ", (out_ / name).string(), ": ", error.message(),
                        ". Choose another folder with --out."));
    }
    return {};
  }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove_all(draft_, ignored);
  }
  fs::path out_;
  fs::path draft_;
};

// Rejects claims about measures that the experiment does not have.
Result<void> check_claims(const Section& section) {
  for (const Claim& claim : section.experiment.claims) {
    std::vector<std::string> names;
    for (const Measure& m : section.findings.measures) {
      if (std::ranges::find(names, m.name) == names.end()) names.push_back(m.name);
    }
    if (std::ranges::find(names, claim.measure) != names.end()) continue;
    return invalid(cat("the claim of ", section.experiment.id, "/expected.toml about ",
                       tangram::quoted(claim.measure),
                       " cannot be checked; this kind of experiment ",
                       "measures: ", join_words(names), "."));
  }
  return {};
}

// Counts the tasks of all experiments without simulating, for the progress bar.
Result<void> count_work(const StudyOptions& options, const std::vector<Experiment>& experiments) {
  if (options.progress == nullptr) return {};
  StudyOptions counting = options;
  counting.counting = true;
  Study study(counting);
  for (const Experiment& experiment : experiments) {
    const auto counted = (*find_kind(experiment.kind))->run(study, experiment);
    if (!counted) return std::unexpected(counted.error());
  }
  return {};
}

Result<Section> run_one(Study& study, const Experiment& experiment, const fs::path& data,
                        bool plots) {
  const auto kind = find_kind(experiment.kind);
  if (!kind) return std::unexpected(kind.error());
  auto findings = (*kind)->run(study, experiment);
  if (!findings) return std::unexpected(findings.error());
  Section section{.experiment = experiment,
                  .findings = std::move(*findings),
                  .verdicts = {},
                  .svg = {},
                  .seeds = study.seeds(experiment)};
  const auto measured = check_claims(section);
  if (!measured) return std::unexpected(measured.error());
  section.verdicts = judge(experiment, section.findings);
  for (const Series& series : section.findings.series) {
    const auto written = write_file(data / series.name, series.csv);
    if (!written) return std::unexpected(written.error());
  }
  if (!plots || experiment.plot.empty()) return section;
  auto svg = plot_svg(experiment.plot, data.string(), experiment.id);
  if (!svg) return std::unexpected(svg.error());
  section.svg = std::move(*svg);
  const auto written = write_file(data / (experiment.id + ".svg"), section.svg);
  if (!written) return std::unexpected(written.error());
  return section;
}

Result<void> note_load(const Study& study, const Experiment& e, SuiteReport& report) {
  const auto node = study.node(e);
  if (!node) return std::unexpected(node.error());
  const auto workload = Study::workload(e, sim::paper_workload_names().front(), *node);
  if (!workload) return std::unexpected(workload.error());
  const auto offered = sim::offered_load(*workload, *node);
  if (!offered) return std::unexpected(offered.error());
  report.queries_per_task = workload->queries_per_task;
  report.offered_compute = offered->compute;
  report.offered_links = offered->links;
  return {};
}

}  // namespace

Result<SuiteReport> run_suite(const SuiteOptions& options) {
  if (options.experiments.empty()) return invalid("no experiment given.");
  std::vector<Experiment> experiments;
  for (const std::string& id : options.experiments) {
    auto experiment = load_experiment(id, options.directory);
    if (!experiment) return std::unexpected(experiment.error());
    experiments.push_back(std::move(*experiment));
  }
  if (options.plots) {
    const auto gnuplot = find_gnuplot();
    if (!gnuplot) return std::unexpected(gnuplot.error());
  }
  Draft draft(options.out);
  const auto begun = draft.begin();
  if (!begun) return std::unexpected(begun.error());
  const auto counted = count_work(options.study, experiments);
  if (!counted) return std::unexpected(counted.error());
  Study study(options.study);
  SuiteReport report;
  for (const Experiment& experiment : experiments) {
    auto section = run_one(study, experiment, draft.data(), options.plots);
    if (!section) return std::unexpected(section.error());
    report.sections.push_back(std::move(*section));
  }
  const auto noted = note_load(study, experiments.front(), report);
  if (!noted) return std::unexpected(noted.error());
  const auto finished = draft.finish(options, report);
  if (!finished) return std::unexpected(finished.error());
  return report;
}

}  // namespace tangram::lab
