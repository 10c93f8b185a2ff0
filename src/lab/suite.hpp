// Suite: runs experiments one after another and writes a folder: index.html (self-contained),
// results.json, and data/ with a CSV file per series and an SVG file per figure. The report is
// complete or an error says what is missing; an old report is replaced only by a new one.
#pragma once

#include <string>
#include <vector>

#include "lab/experiment.hpp"
#include "lab/results.hpp"
#include "lab/study.hpp"

namespace tangram::lab {

struct SuiteOptions {
  std::string title;
  std::vector<std::string> experiments;  // ids
  std::string directory;                 // of experiments; empty: the embedded ones
  std::string out = "report";
  std::string command;  // the command line, for the report
  bool plots = true;
  StudyOptions study;
};

struct Section {
  Experiment experiment;
  Findings findings;
  std::vector<Verdict> verdicts;
  std::string svg;
  int seeds = 0;
};

struct SuiteReport {
  std::vector<Section> sections;
  double queries_per_task = 0;  // by the rule, on the first experiment's node
  double offered_compute = 0;
  double offered_links = 0;
};

[[nodiscard]] Result<SuiteReport> run_suite(const SuiteOptions& options);

// The page and the JSON; pure functions of their arguments.
[[nodiscard]] std::string report_html(const SuiteOptions& options, const SuiteReport& report);
[[nodiscard]] std::string report_json(const SuiteOptions& options, const SuiteReport& report);

}  // namespace tangram::lab
