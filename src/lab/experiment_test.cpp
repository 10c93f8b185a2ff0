// Experiment files: all embedded ones, and each mistake with its file, line and column.
#include "lab/experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "lab/kinds.hpp"
#include "tests/support/lab/experiments.hpp"

namespace tangram::lab {
namespace {

using testing::changed;
using testing::Folder;
using testing::kSmallConfig;
using testing::kSmallExpected;
using ::testing::StartsWith;

std::string message(std::string_view config, std::string_view expected = kSmallExpected) {
  const auto e = parse_experiment("x", config, expected, "", "dir/x");
  if (e) return "no error";
  EXPECT_EQ(e.error().code, ErrorCode::kInvalid);
  return e.error().message;
}

std::string with(std::string_view part, std::string_view by) {
  return message(changed(kSmallConfig, part, by));
}

TEST(Experiment, EveryBuiltInOneLoads) {
  std::size_t folders = 0;
  for (const EmbeddedFile& file : embedded_experiments()) {
    folders += file.path.ends_with("/config.toml") ? 1 : 0;
  }
  EXPECT_EQ(folders, paper_suite().size() + extra_suite().size());
  for (const auto* suite : {&paper_suite(), &extra_suite()}) {
    for (const std::string& id : *suite) {
      const auto e = load_experiment(id, "");
      ASSERT_TRUE(e) << e.error().message;
      EXPECT_EQ(e->id, id);
      EXPECT_TRUE(find_kind(e->kind)) << id;
      EXPECT_FALSE(e->title.empty() || e->paper.empty() || e->plot.empty()) << id;
      EXPECT_FALSE(e->workloads.empty()) << id;
      EXPECT_EQ(e->threshold.text(), "0.4") << id;
    }
  }
}

TEST(Experiment, TheBuiltInOnesAreThoseOfTheSourceTree) {
  for (const EmbeddedFile& file : embedded_experiments()) {
    std::ifstream stream(cat(TANGRAM_SOURCE_DIR "/experiments/", file.path), std::ios::binary);
    std::stringstream text;
    text << stream.rdbuf();
    EXPECT_EQ(text.str(), file.text) << file.path;
  }
}

TEST(Experiment, HasTheValuesOfItsFiles) {
  const auto e = parse_experiment("small", kSmallConfig, kSmallExpected, "plot", "x");
  ASSERT_TRUE(e) << e.error().message;
  EXPECT_EQ(e->id, "small");
  EXPECT_EQ(e->kind, "ablation");
  EXPECT_EQ(e->gpus, 2U);
  EXPECT_EQ(e->instances.size(), 2U);
  EXPECT_EQ(e->workloads, std::vector<std::string>{"normal25"});
  EXPECT_EQ(e->tasks, 12);
  EXPECT_EQ(e->seeds, 2);
  EXPECT_EQ(e->plot, "plot");
  ASSERT_EQ(e->claims.size(), 1U);
  EXPECT_EQ(e->claims[0].measure, "makespan_reduction");
}

TEST(Experiment, KeysThatAreWrongAreReportedWhereTheyStand) {
  EXPECT_EQ(with("gpus = 2", "gpu = 2"),
            "dir/x/config.toml:5:1: unknown key 'gpu'; did you mean gpus? an experiment has the "
            "keys title, section, kind, model, gpus, tasks, seeds, instances, workloads, "
            "load_percent, threshold, knobs, try and node.");
  EXPECT_EQ(with("title = \"Small\"\n", ""),
            "dir/x/config.toml:1:1: an experiment needs the key title.");
  EXPECT_EQ(with("gpus = 2", "gpus = \"2\""),
            "dir/x/config.toml:5:8: gpus is a string; needed: a whole number from 1 to 1000000.");
  EXPECT_EQ(with("seeds = 2", "seeds = 0"),
            "dir/x/config.toml:9:9: seeds is 0; allowed: from 1 to 100000.");
  EXPECT_EQ(with("load_percent = 80", "load_percent = 0.8"),
            "dir/x/config.toml:10:16: load_percent is a fractional number; needed: a whole number "
            "from 1 to 1000.");
  EXPECT_THAT(with("gpus = 2", "gpus ="), StartsWith("dir/x/config.toml:5:7: not valid TOML: "));
}

TEST(Experiment, NamesThatAreUnknownAreReportedWhereTheyStand) {
  EXPECT_EQ(with("\"normal25\"", "\"normal26\""),
            "dir/x/config.toml:7:13: unknown workload 'normal26'; did you mean normal25? Known: "
            "normal25, long25, normal50 and long50.");
  EXPECT_EQ(with("[\"normal25\"]", "[]"),
            "dir/x/config.toml:7:13: an experiment needs at least one of the workloads normal25, "
            "long25, normal50 and long50.");
  EXPECT_EQ(with("[\"normal25\"]", "\"normal25\""),
            "dir/x/config.toml:7:13: workloads is a string; needed: a list of strings.");
  EXPECT_THAT(with("A100-40GB", "A100"),
              StartsWith("dir/x/config.toml:4:9: unknown GPU model 'A100'; did you mean A100-40GB? "
                         "Known models: A30-24GB, "));
  EXPECT_THAT(with("\"ablation\"", "\"ablatoin\""),
              StartsWith("dir/x/config.toml:3:8: unknown kind of experiment 'ablatoin'; did you "
                         "mean ablation? Known: tpot, "));
  EXPECT_THAT(message(cat(kSmallConfig, "knobs = [\"link=3\"]\n")),
              StartsWith("dir/x/config.toml:12:9: unknown knob 'link'; did you mean link_gbps?"));
  EXPECT_EQ(message(cat(kSmallConfig, "knobs = [\"tlb_penalty=11\"]\n")),
            "dir/x/config.toml:12:9: the knob tlb_penalty takes a number from 0 to 10, not '11'.");
}

TEST(Experiment, ValuesThatAreWrongAreReportedWhereTheyStand) {
  EXPECT_EQ(with("2g.10gb:2", "2g.10gb:0"),
            "dir/x/config.toml:6:13: cannot read '2g.10gb:0' in the mix; write PROFILE:COUNT with "
            "a count from 1 to 1000000, separated by commas, e.g. 1g.5gb:4,2g.10gb:3.");
  EXPECT_EQ(with("2g.10gb:2", "3g.20gb:2"),
            "dir/x/config.toml:6:13: the mix names '3g.20gb' twice.");
  EXPECT_THAT(with("2g.10gb:2", "2g.12gb:2"),
              StartsWith("dir/x/config.toml:6:13: A100-40GB has no profile '2g.12gb'; did you mean "
                         "2g.10gb?"));
  EXPECT_EQ(with("\"0.4\"", "\"1.4\""),
            "dir/x/config.toml:11:13: the threshold '1.4' is not a decimal from 0 to 1 with at "
            "most nine digits after the point, as in 0.4.");
  EXPECT_EQ(with("\"0.4\"", "0.4"),
            "dir/x/config.toml:11:13: threshold is a fractional number; needed: a string.");
}

TEST(Experiment, OfSeveralMistakesTheFirstInTheFileIsReported) {
  EXPECT_THAT(message(changed(changed(kSmallConfig, "\"0.4\"", "\"x\""), "seeds = 2", "seeds = 0")),
              StartsWith("dir/x/config.toml:9:9: "));
}

TEST(Experiment, NodesAreCheckedLikeTheExperimentsOwn) {
  const std::string node =
      cat(kSmallConfig, "[[node]]\nname = \"a\"\nmodel = \"A30-24GB\"\ngpus = 1\n");
  EXPECT_EQ(message(cat(node, "instances = \"1g.6gb:1\"\n")), "no error");
  EXPECT_THAT(message(cat(node, "instances = \"1g.5gb:1\"\n")),
              StartsWith("dir/x/config.toml:16:13: A30-24GB has no profile '1g.5gb'"));
  EXPECT_EQ(message(node), "dir/x/config.toml:12:1: a node needs the key instances.");
  EXPECT_THAT(
      message(cat(node, "instances = \"1g.6gb:1\"\nknob = []\n")),
      StartsWith("dir/x/config.toml:17:1: unknown key 'knob'; did you mean knobs? a node "));
}

TEST(Experiment, WhatIsExpectedIsCheckedToo) {
  const auto expected = [](std::string_view part, std::string_view by) {
    return message(kSmallConfig, changed(kSmallExpected, part, by));
  };
  EXPECT_EQ(expected("at_least_percent = 0", "at_least_percent = 101"),
            "dir/x/expected.toml:4:20: at_least_percent is 101; allowed: from 0 to 100.");
  EXPECT_EQ(expected("says", "say"), "dir/x/expected.toml:2:1: a claim needs the key says.");
  EXPECT_EQ(expected("paper", "papers"),
            "dir/x/expected.toml:1:1: unknown key 'papers'; did you mean paper? what is expected "
            "has the keys paper and claim.");
  EXPECT_THAT(message(kSmallConfig, "paper ="), StartsWith("dir/x/expected.toml:1:"));
}

TEST(Experiment, AFileThatIsMissingIsNamed) {
  const auto built_in = load_experiment("nope", "");
  ASSERT_FALSE(built_in);
  EXPECT_EQ(built_in.error().message, "experiment file 'nope/config.toml': not found.");
  const Folder folder;
  folder.write("small/config.toml", kSmallConfig);
  const auto half = load_experiment("small", folder.at("."));
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(half.error().message, StartsWith("cannot read the experiment file '"));
  EXPECT_THAT(half.error().message,
              ::testing::EndsWith("/small/expected.toml': No such file or directory."));
  folder.write("small/expected.toml", kSmallExpected);
  EXPECT_TRUE(load_experiment("small", folder.at(".")));
}

}  // namespace
}  // namespace tangram::lab
