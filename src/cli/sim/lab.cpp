// `tangram lab paper` and `tangram lab extra`: runs experiments, writes a report and prints the
// claims of the paper next to our results.
#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/command/progress.hpp"
#include "cli/command/verbs.hpp"
#include "lab/suite.hpp"

namespace tangram::cli {
namespace {

struct LabOptions {
  lab::SuiteOptions suite;
  std::vector<std::string> only;
  std::vector<std::string> knobs;
  bool no_plots = false;
};

Style style_of(lab::Verdict::Holds holds) {
  if (holds == lab::Verdict::Holds::kYes) return Style::kGood;
  return holds == lab::Verdict::Holds::kNo ? Style::kBad : Style::kYellow;
}

void print_report(const lab::SuiteOptions& suite, const lab::SuiteReport& report, Output& out) {
  for (const lab::Section& section : report.sections) {
    out.line(out.paint(section.experiment.title, Style::kBold) + "  (" +
             section.experiment.section + ")");
    for (const lab::Verdict& v : section.verdicts) {
      out.paragraph(cat("paper: ", v.says, "."));
      out.paragraph(cat("ours:  ", v.ours, "."));
      out.line("  " + out.paint(word_of(v.holds), style_of(v.holds)));
    }
    if (section.verdicts.empty()) {
      for (const lab::ResultTable& t : section.findings.tables) {
        out.paragraph(t.caption + ":");
        std::vector<Column> columns;
        for (const std::string& name : t.columns) columns.push_back({"  " + name});
        Table table(columns);
        for (const auto& row : t.rows) {
          std::vector<Cell> cells;
          for (const std::string& cell : row) cells.emplace_back("  " + cell);
          table.row(std::move(cells));
        }
        table.print(out);
      }
    }
    out.line();
  }
  out.line(cat("Report: ", suite.out, "/index.html"));
}

Result<void> run(const LabOptions& options, const std::vector<std::string>& all,
                 const Command& command, Output& out) {
  lab::SuiteOptions suite = options.suite;
  suite.command = command.typed;
  suite.plots = !options.no_plots;
  suite.experiments = all;
  if (!options.only.empty()) {
    // A directory of the user's own may have other experiments than the suite.
    const bool custom = !suite.directory.empty();
    for (const std::string& id : options.only) {
      if (custom || std::ranges::find(all, id) != all.end()) continue;
      return not_found(
          cat("unknown experiment ", tangram::quoted(id), ". Known: ", join_words(all), "."));
    }
    suite.experiments = options.only;
  }
  if (suite.study.seeds < 0 || suite.study.seeds > 100'000) {
    return invalid("--seeds must be from 1 to 100000.");
  }
  for (const std::string& knob : options.knobs) {
    sim::Knobs tried;
    const auto set = sim::set_knob(tried, knob);
    if (!set) return std::unexpected(set.error());
  }
  suite.study.knobs = options.knobs;
  lab::Progress progress;
  suite.study.progress = &progress;
  Result<lab::SuiteReport> report = failed("not run");
  {
    const ProgressBar bar([&] {
      return ProgressState{fmt::format("{} experiments", suite.experiments.size()), progress.done,
                           progress.total};
    });
    report = lab::run_suite(suite);
  }
  if (!report) return std::unexpected(report.error());
  if (command.json) {
    out.add(lab::report_json(suite, *report));
  } else {
    print_report(suite, *report, out);
  }
  return {};
}

void add_suite(Verb& lab, Command& command, const char* name, const char* summary,
               const std::vector<std::string>& all, const char* title) {
  Verb verb = lab.add_subcommand(name, summary);
  const auto o = std::make_shared<LabOptions>();
  o->suite.title = title;
  o->suite.out = std::string("report") + (std::string_view(name) == "paper" ? "" : "-extra");
  verb->add_option("--out", o->suite.out, cat("Report directory (default: ", o->suite.out, ")"))
      ->option_text("DIR");
  verb->add_option("--only", o->only, cat("Run only some of: ", join_words(all)))
      ->delimiter(',')
      ->option_text("NAMES");
  verb->add_option("--seeds", o->suite.study.seeds,
                   "Number of seeds (default: that of each experiment)")
      ->option_text("N");
  verb->add_option("--seed", o->suite.study.first_seed, "First seed (default: 1)")
      ->option_text("N");
  verb->add_option("--threads", o->suite.study.threads,
                   "Threads (default: one per core); results do not depend on it")
      ->option_text("N")
      ->between(0U, 1024U);
  verb->add_option("--knob", o->knobs, "Set a simulation parameter; see `tangram sim knobs`")
      ->option_text("NAME=VALUE")
      ->take_all();
  verb->add_option("--experiments", o->suite.directory,
                   "Directory of your own experiments instead of the built-in ones")
      ->option_text("DIR");
  verb->add_flag("--no-plots", o->no_plots, "Draw no plots (gnuplot is not needed)");
  add_output_options(*verb, command);
  verb->footer(cat("Example:\n  tangram lab ", name, " --only ", all.front(), " --seeds 2"));
  verb->callback([&command, &all, o] {
    command.run = [&command, &all, o](Output& out) { return run(*o, all, command, out); };
  });
}

}  // namespace

void add_lab(Verb& app, Command& command) {
  Verb lab = app.add_subcommand("lab", "Run the paper's experiments and our own, with a report");
  lab->require_subcommand(0, 1);
  lab->footer("Example:\n  tangram lab paper --out report && xdg-open report/index.html");
  add_suite(*lab, command, "paper", "Run all experiments of the paper", lab::paper_suite(),
            "The paper's experiments, simulated");
  add_suite(*lab, command, "extra",
            "Run experiments on threshold, sensitivity, baselines, other GPUs, larger nodes",
            lab::extra_suite(), "Beyond the paper");
}

}  // namespace tangram::cli
