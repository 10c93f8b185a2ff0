// See suite.hpp.
#include "lab/suite.hpp"

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

// Into a file beside it first, so that a full disk leaves no half of a report.
Result<void> write_file(const fs::path& path, std::string_view text) {
  const fs::path draft = path.string() + ".new";
  std::ofstream file(draft, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  std::error_code error;
  if (file) fs::rename(draft, path, error);
  if (!file || error) {
    const int why = error ? error.value() : errno;
    fs::remove(draft, error);
    return failed(cat("cannot write ", path.string(), ": ", std::strerror(why),
                      ". Choose another folder with --out."));
  }
  return {};
}

Result<void> make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && fs::is_directory(path)) return {};
  return failed(cat("cannot make the folder ", path.string(), ": ",
                    error ? error.message() : "there is a file of that name",
                    ". Choose another with --out."));
}

Result<Section> run_one(Study& study, const Experiment& experiment, const SuiteOptions& options) {
  const auto kind = find_kind(experiment.kind);
  if (!kind) return std::unexpected(kind.error());
  if (experiment.workloads.empty()) {
    return invalid(cat("the experiment ", tangram::quoted(experiment.id), " names no workload."));
  }
  auto findings = (*kind)->run(study, experiment);
  if (!findings) return std::unexpected(findings.error());
  Section section{.experiment = experiment,
                  .findings = std::move(*findings),
                  .verdicts = {},
                  .svg = {},
                  .seeds = study.seeds(experiment)};
  section.verdicts = judge(experiment, section.findings);
  const fs::path data = fs::path(options.out) / "data";
  for (const Series& series : section.findings.series) {
    const auto written = write_file(data / series.name, series.csv);
    if (!written) return std::unexpected(written.error());
  }
  if (!options.plots || experiment.plot.empty()) return section;
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
  const auto workload = study.workload(e, sim::paper_workload_names().front(), *node);
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
  const fs::path out(options.out);
  const auto made = make_folder(out / "data");
  if (!made) return std::unexpected(made.error());
  Study study(options.study);
  SuiteReport report;
  for (const Experiment& experiment : experiments) {
    if (Progress* progress = options.study.progress) {
      progress->total = 0;
      progress->done = 0;
      ++progress->stage;
    }
    auto section = run_one(study, experiment, options);
    if (!section) return std::unexpected(section.error());
    report.sections.push_back(std::move(*section));
  }
  const auto noted = note_load(study, experiments.front(), report);
  if (!noted) return std::unexpected(noted.error());
  auto written = write_file(out / "results.json", report_json(options, report));
  if (written) written = write_file(out / "index.html", report_html(options, report));
  if (!written) return std::unexpected(written.error());
  return report;
}

}  // namespace tangram::lab
