// A whole suite on a small experiment: the files it writes, and that a failure keeps the old
// report.
#include "lab/suite.hpp"

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "lab/plot.hpp"
#include "tests/support/lab/experiments.hpp"

namespace tangram::lab {
namespace {

using testing::changed;
using ::testing::ElementsAre;
using testing::Folder;
using ::testing::HasSubstr;
using testing::kSmallConfig;
using testing::kSmallExpected;
using ::testing::StartsWith;

constexpr std::string_view kOld = "the old one";

class Suite : public ::testing::Test {
 protected:
  void SetUp() override {
    add("ablation", kSmallConfig);
    add("wait", changed(kSmallConfig, "\"ablation\"", "\"wait\""));
    add("execution", changed(kSmallConfig, "\"ablation\"", "\"execution\""));
    add("fragmentation", changed(kSmallConfig, "\"ablation\"", "\"fragmentation\""));
    add("instances", changed(kSmallConfig, "\"ablation\"", "\"instances\""));
  }
  void add(const std::string& id, std::string_view config, std::string_view plot = "") {
    folder_.write(cat("experiments/", id, "/config.toml"), config);
    folder_.write(cat("experiments/", id, "/expected.toml"),
                  id == "ablation" ? kSmallExpected : "paper = 'nothing'\n");
    if (!plot.empty()) folder_.write(cat("experiments/", id, "/plot.gp"), plot);
  }
  [[nodiscard]] SuiteOptions options(std::vector<std::string> ids, bool plots = false) const {
    SuiteOptions o;
    o.title = "Small";
    o.experiments = std::move(ids);
    o.directory = folder_.at("experiments");
    o.out = folder_.at("report");
    o.command = "tangram lab paper --only ablation";
    o.plots = plots;
    o.study.threads = 2;
    return o;
  }
  void write_old_report() const {
    for (const char* name : {"index.html", "results.json", "data/ablation.csv"}) {
      folder_.write(cat("report/", name), kOld);
    }
  }
  void expect_old_report() const {
    for (const char* name : {"index.html", "results.json", "data/ablation.csv"}) {
      EXPECT_EQ(folder_.read(cat("report/", name)), kOld) << name;
    }
    EXPECT_FALSE(folder_.has("report/.draft"));
  }
  Folder folder_;
};

TEST_F(Suite, LeavesAPageNumbersAndCurves) {
  const SuiteOptions o = options({"ablation"});
  const auto report = run_suite(o);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(folder_.read("report/index.html"), report_html(o, *report));
  EXPECT_EQ(folder_.read("report/results.json"), report_json(o, *report));
  const std::string csv = folder_.read("report/data/ablation.csv");
  EXPECT_THAT(csv, StartsWith("workload,setting,wait,execution,makespan,normalized,ci95\n"
                              "normal25,baseline,"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 5);
  EXPECT_FALSE(folder_.has("report/.draft"));
  EXPECT_GT(report->queries_per_task, 0);
}

TEST_F(Suite, TheAblationIsInTheNumbersByWorkloadAndSetting) {
  ASSERT_TRUE(run_suite(options({"ablation"})));
  const boost::json::value root = boost::json::parse(folder_.read("report/results.json"));
  const boost::json::object& settings = root.at("ablation").at("normal25").as_object();
  std::vector<std::string> names;
  for (const auto& [name, value] : settings) {
    names.emplace_back(name);
    for (const char* what : {"wait", "execution", "makespan"}) {
      EXPECT_GE(value.at(what).to_number<double>(), 0) << what;
      EXPECT_GE(value.at(cat(what, "_ci95")).to_number<double>(), 0) << what;
    }
    EXPECT_NEAR(value.at("makespan").to_number<double>(),
                value.at("wait").to_number<double>() + value.at("execution").to_number<double>(),
                1e-6);
  }
  EXPECT_THAT(names, ElementsAre("baseline", "lb", "lb_dyn", "lb_dyn_migr"));
}

TEST_F(Suite, RunsEachExperimentInItsOrder) {
  Progress progress;
  SuiteOptions o = options({"instances", "wait", "fragmentation", "execution", "ablation"});
  o.study.progress = &progress;
  const auto report = run_suite(o);
  ASSERT_TRUE(report) << report.error().message;
  std::vector<std::string> ids;
  for (const Section& s : report->sections) {
    ids.push_back(s.experiment.id);
    EXPECT_EQ(s.seeds, 2);
    for (const Series& series : s.findings.series) {
      EXPECT_EQ(folder_.read(cat("report/data/", series.name)), series.csv) << series.name;
    }
  }
  EXPECT_EQ(ids, o.experiments);
  EXPECT_EQ(progress.done, progress.total);
}

TEST_F(Suite, DrawsWhatHasAScript) {
  if (const auto gnuplot = find_gnuplot(); !gnuplot) GTEST_SKIP() << gnuplot.error().message;
  add("ablation", kSmallConfig,
      "set terminal svg\nset datafile separator comma\nplot 'ablation.csv' skip 1 using 0:5\n");
  ASSERT_TRUE(run_suite(options({"ablation"}, true)));
  EXPECT_THAT(folder_.read("report/data/ablation.svg"), StartsWith("<svg"));
  EXPECT_THAT(folder_.read("report/index.html"), HasSubstr("data:image/svg+xml"));
}

TEST_F(Suite, AFailureLeavesTheOldReport) {
  if (const auto gnuplot = find_gnuplot(); !gnuplot) GTEST_SKIP() << gnuplot.error().message;
  write_old_report();
  add("wait", changed(kSmallConfig, "\"ablation\"", "\"wait\""), "plot nonsense(\n");
  const auto report = run_suite(options({"ablation", "wait"}, true));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message, StartsWith("gnuplot could not draw wait: "));
  expect_old_report();
}

TEST_F(Suite, AMistakeInTheLastExperimentIsFoundBeforeTheFirstRuns) {
  write_old_report();
  add("wait", changed(kSmallConfig, "\"ablation\"", "\"wiat\""));
  Progress progress;
  SuiteOptions o = options({"ablation", "wait"});
  o.study.progress = &progress;
  const auto report = run_suite(o);
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message,
              StartsWith(cat(folder_.at("experiments"), "/wait/config.toml:3:8: unknown kind")));
  EXPECT_EQ(progress.total, 0U);  // not even counted
  expect_old_report();
}

TEST_F(Suite, AClaimAboutWhatIsNotMeasuredIsAnError) {
  write_old_report();
  folder_.write("experiments/ablation/expected.toml",
                changed(kSmallExpected, "makespan_reduction", "makespan_redaction"));
  const auto report = run_suite(options({"ablation"}));
  ASSERT_FALSE(report);
  EXPECT_EQ(
      report.error().message,
      "the claim of ablation/expected.toml about 'makespan_redaction' cannot be checked; this "
      "kind of experiment measures: step_reduction and makespan_reduction.");
  expect_old_report();
}

TEST_F(Suite, TheProgressBarKnowsItsEnd) {
  Progress progress;
  SuiteOptions o = options({"ablation", "wait", "execution", "fragmentation"});
  o.study.progress = &progress;
  ASSERT_TRUE(run_suite(o));
  EXPECT_GT(progress.total, 0U);
  EXPECT_EQ(progress.done, progress.total);
}

TEST_F(Suite, KnobsOfAnExperimentCount) {
  ASSERT_TRUE(run_suite(options({"execution"})));
  const std::string usual = folder_.read("report/data/execution.csv");
  add("execution",
      "knobs = ['link_gbps=3']\n" + changed(kSmallConfig, "\"ablation\"", "\"execution\""));
  ASSERT_TRUE(run_suite(options({"execution"})));
  EXPECT_NE(folder_.read("report/data/execution.csv"), usual);
}

// The kinds that have nodes of their own, and every built-in plot.
TEST_F(Suite, OtherNodesAreSimulated) {
  const std::string nodes =
      "[[node]]\nname = 'two A30'\nmodel = 'A30-24GB'\ngpus = 2\n"
      "instances = '1g.6gb:2,4g.24gb:1'\n";
  for (const char* kind : {"gpu-models", "node-size"}) {
    add(kind, changed(kSmallConfig, "\"ablation\"", cat('"', kind, '"')) + nodes);
    const auto report = run_suite(options({kind}));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(folder_.read(cat("report/data/", kind, ".csv")), HasSubstr("two A30,normal25,"));
  }
}

TEST_F(Suite, NothingToRunIsAnError) {
  const auto report = run_suite(options({}));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().message, "no experiment given.");
}

TEST_F(Suite, AFolderThatCannotBeIsAnError) {
  folder_.write("file", "text");
  SuiteOptions o = options({"ablation"});
  o.out = folder_.at("file/report");
  const auto report = run_suite(o);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kFailed);
  EXPECT_EQ(report.error().message, cat("cannot create folder ", o.out,
                                        "/data: Not a directory. Choose another with --out."));
  EXPECT_EQ(folder_.read("file"), "text");
}

TEST_F(Suite, ADataFolderThatIsAFileLeavesTheOldReport) {
  folder_.write("report/index.html", kOld);
  folder_.write("report/data", "a file");
  const auto report = run_suite(options({"ablation"}));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message,
              StartsWith(cat("cannot create folder ", folder_.at("report/data"), ": ")));
  EXPECT_EQ(folder_.read("report/index.html"), kOld);
}

TEST_F(Suite, APageThatCannotBeReplacedIsAnError) {
  folder_.write("report/index.html/inside", kOld);  // a folder of that name
  const auto report = run_suite(options({"ablation"}));
  ASSERT_FALSE(report);
  EXPECT_THAT(report.error().message,
              StartsWith(cat("cannot write ", folder_.at("report/index.html"), ": ")));
  EXPECT_FALSE(folder_.has("report/.draft"));
}

}  // namespace
}  // namespace tangram::lab
