// `tangram lab …` on small experiments: the report, its independence of threads, and errors.
#include <filesystem>
#include <map>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::tests {
namespace {

using os::testing::Folder;

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two GPUs, two instances of two profiles, a dozen tasks, two seeds.
std::string config_of(const std::string& kind) {
  return cat("title = \"Small ", kind, "\"\nsection = \"a test\"\nkind = \"", kind,
             "\"\nmodel = \"A100-40GB\"\ngpus = 2\ninstances = \"2g.10gb:2,3g.20gb:2\"\n",
             "workloads = [\"normal25\"]\ntasks = 12\nseeds = 2\nthreshold = \"0.4\"\n",
             kind == "sensitivity" ? "knobs = [\"link_gbps=12\"]\n" : "");
}

class LabCli : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* kind : {"tpot", "instances", "wait", "fragmentation", "execution", "ablation",
                             "threshold", "sensitivity", "baselines"}) {
      folder_.write(cat("experiments/", kind, "/config.toml"), config_of(kind));
      folder_.write(cat("experiments/", kind, "/expected.toml"), "paper = \"Nothing.\"\n");
    }
    folder_.write("experiments/ablation/expected.toml",
                  "paper = \"Nothing.\"\n[[claim]]\nmeasure = \"makespan_reduction\"\n"
                  "at_least_percent = 0\nsays = \"it is no worse\"\n");
  }
  [[nodiscard]] Ended lab(const std::string& suite, const std::string& out,
                          const Words& more) const {
    Words words{"lab",   suite,           "--experiments", folder_.at("experiments"),
                "--out", folder_.at(out), "--no-plots"};
    words.insert(words.end(), more.begin(), more.end());
    return tangram_run(words);
  }
  // The files of a report by name, except its HTML page; results.json without the command line.
  [[nodiscard]] std::map<std::string, std::string> files_of(const std::string& out) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.at(out))) {
      if (!entry.is_regular_file() || entry.path().extension() == ".html") continue;
      std::string text = read_text(entry.path());
      if (entry.path().filename() == "results.json") {
        const std::size_t at = text.find("\"command\":");
        EXPECT_NE(at, std::string::npos);
        text.erase(at, text.find('\n', at) - at);
      }
      files[fs::relative(entry.path(), folder_.at(out))] = std::move(text);
    }
    return files;
  }
  Folder folder_;
};

TEST_F(LabCli, PrintsPaperAndOwnResultsAndWritesAReport) {
  const Ended ended = lab("paper", "report", {"--only", "ablation,wait"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  EXPECT_THAT(ended.out, StartsWith("Small ablation  (a test)\n  paper: it is no worse.\n"
                                    "  ours:  normal25: "));
  EXPECT_THAT(ended.out, HasSubstr("Small wait  (a test)\n"));
  EXPECT_THAT(ended.out, HasSubstr(cat("Report: ", folder_.at("report"), "/index.html")));
  EXPECT_THAT(read_text(folder_.at("report/index.html")), HasSubstr("Small ablation"));
  const json::value root = json::parse(read_text(folder_.at("report/results.json")));
  EXPECT_THAT(std::string(root.at("command").as_string()),
              StartsWith("tangram lab paper --experiments "));
  EXPECT_EQ(root.at("ablation").at("normal25").as_object().size(), 4U);
  EXPECT_THAT(read_text(folder_.at("report/data/ablation.csv")), StartsWith("workload,setting,"));
  EXPECT_THAT(read_text(folder_.at("report/data/wait.csv")), StartsWith("workload,static,"));
  EXPECT_FALSE(fs::exists(folder_.at("report/.draft")));
}

TEST_F(LabCli, JsonOutputEqualsTheReport) {
  const Ended ended = lab("paper", "report", {"--only", "ablation", "--json"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, read_text(folder_.at("report/results.json")));
  EXPECT_TRUE(ended.out.ends_with("}\n") && !ended.out.ends_with("\n\n"));
}

TEST_F(LabCli, ThreadsDoNotChangeAByte) {
  for (const auto& [suite, only, csv_files] :
       {std::tuple{"paper", "tpot,instances,wait,fragmentation,execution,ablation", 7U},
        std::tuple{"extra", "threshold,sensitivity,baselines", 3U}}) {
    const Ended one = lab(suite, "one", {"--only", only, "--threads", "1"});
    const Ended two = lab(suite, "two", {"--only", only, "--threads", "2"});
    ASSERT_EQ(one.code, 0) << one.err;
    ASSERT_EQ(two.code, 0) << two.err;
    const auto files = files_of("one");
    EXPECT_EQ(files, files_of("two"));
    EXPECT_EQ(files.size(), csv_files + 1) << suite;
    fs::remove_all(folder_.at("one"));
    fs::remove_all(folder_.at("two"));
  }
}

TEST_F(LabCli, SeedsAndKnobsOfTheCommandLineAreUsed) {
  const auto numbers = [&](const Words& more) {
    Words words{"--only", "ablation", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = lab("paper", "report", words);
    EXPECT_EQ(ended.code, 0) << ended.err;
    return json::parse(ended.out);
  };
  const json::value usual = numbers({});
  EXPECT_EQ(usual.at("experiments").at("ablation").at("seeds"), 2);
  EXPECT_EQ(numbers({"--seeds", "3"}).at("experiments").at("ablation").at("seeds"), 3);
  EXPECT_NE(numbers({"--seed", "5"}).at("ablation"), usual.at("ablation"));
  const json::value slower = numbers({"--knob", "link_gbps=6"});
  EXPECT_EQ(slower.at("knobs").at("link_gbps").to_number<double>(), 6);
  EXPECT_NE(slower.at("ablation"), usual.at("ablation"));
}

TEST_F(LabCli, RejectsUnknownNamesAndValues) {
  const std::string out = folder_.at("report");
  expect_refused(tangram_run({"lab", "paper", "--out", out, "--only", "ablatoin"}),
                 "unknown experiment 'ablatoin'. Known: tpot, instances, wait, fragmentation, "
                 "execution and ablation.");
  expect_refused(tangram_run({"lab", "extra", "--out", out, "--only", "ablation"}),
                 "unknown experiment 'ablation'. Known: threshold, sensitivity, baselines, "
                 "gpu-models and node-size.");
  expect_refused(lab("paper", "report", {"--seeds", "-1"}), "--seeds must be from 1 to 100000.");
  expect_refused(lab("paper", "report", {"--knob", "tlb_penalty=11"}),
                 "the knob tlb_penalty takes a number from 0 to 10, not '11'.");
  expect_refused(lab("paper", "report", {"--threads", "2000"}),
                 "--threads: 2000 is out of range (0 to 1024); see `tangram lab paper --help`");
  EXPECT_FALSE(fs::exists(folder_.at("report")));
}

TEST_F(LabCli, NamesAMissingOrInvalidExperimentFile) {
  const std::string none = folder_.at("none");
  expect_refused(
      tangram_run({"lab", "paper", "--experiments", none, "--out", folder_.at("report")}),
      cat("cannot read the experiment file '", none,
          "/tpot/config.toml': No such file or "
          "directory."));
  const std::string path =
      folder_.write("experiments/wait/config.toml", config_of("ablation") + "seed = 3\n");
  const Ended ended = lab("paper", "report", {"--only", "ablation,wait"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith(cat("tangram: ", path,
                                        ":11:1: unknown key 'seed'; did you mean seeds? ")));
  EXPECT_FALSE(fs::exists(folder_.at("report")));
}

TEST_F(LabCli, AFolderThatCannotBeCreatedIsAFailure) {
  folder_.write("file", "text");
  const Ended ended = lab("paper", "file/report", {"--only", "ablation"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, cat("tangram: cannot create folder ", folder_.at("file/report"),
                           "/data: Not a directory. Choose another with --out.\n"));
}

}  // namespace
}  // namespace tangram::tests
