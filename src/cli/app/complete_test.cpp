#include "cli/app/complete.hpp"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Complete : public ::testing::Test {
 protected:
  Complete() {
    CLI::App* run = app_.add_subcommand("run", "Run it");
    run->add_option("-p,--profile", profile_, "What it needs")->option_text("PROFILE");
    run->add_option("--color", color_)->check(CLI::IsMember({"auto", "always", "never"}));
    run->add_flag("--quiet", quiet_);
    CLI::App* lease = app_.add_subcommand("lease", "Lease it");
    lease->add_subcommand("list", "List them");
    CLI::App* show = app_.add_subcommand("show", "Show it");
    show->add_option("GPU", gpu_);
    show->add_option("JOB", jobs_);
    app_.add_subcommand("tune", "Tune it")->add_option("KEY=VALUE", jobs_);
  }
  std::vector<std::string> words(const std::vector<std::string>& typed) {
    std::vector<std::string> found;
    const auto values = [](std::string_view what, std::string_view verb) {
      std::vector<Suggestion> all;
      if (what == "PROFILE") all = {{"1g.5gb", ""}, {"2g.10gb", ""}};
      if (what == "JOB") all = {{"17", ""}, {"18", std::string(verb)}};
      if (what == "GPU") all = {{"0", ""}};
      if (what == "KEY=VALUE") all = {{"queue=", ""}, {"queue=fifo", ""}};
      return all;
    };
    for (const Suggestion& each : suggestions(app_, typed, values)) found.push_back(each.word);
    return found;
  }

  CLI::App app_;
  std::string profile_, color_, gpu_;
  std::vector<std::string> jobs_;
  bool quiet_ = false;
};

TEST_F(Complete, Verbs) {
  EXPECT_THAT(words({""}), ElementsAre("run", "lease", "show", "tune"));
  EXPECT_THAT(words({"l"}), ElementsAre("lease"));
  EXPECT_THAT(words({"lease", ""}), ElementsAre("list"));
  EXPECT_THAT(words({"nonsense", "l"}), IsEmpty());
}

TEST_F(Complete, OptionsAndTheirValues) {
  EXPECT_THAT(words({"run", "--q"}), ElementsAre("--quiet"));
  EXPECT_THAT(words({"run", "--profile", ""}), ElementsAre("1g.5gb", "2g.10gb"));
  EXPECT_THAT(words({"run", "-p", "2"}), ElementsAre("2g.10gb"));
  EXPECT_THAT(words({"run", "--profile=2"}), ElementsAre("--profile=2g.10gb"));
  EXPECT_THAT(words({"run", "--color", "a"}), ElementsAre("auto", "always"));
  EXPECT_THAT(words({"run", "--quiet", "--p"}), ElementsAre("--profile"));
  EXPECT_THAT(words({"run", "--nonsense", "--p"}), ElementsAre("--profile"));
}

TEST_F(Complete, ArgumentsByPositionAndTheLastOneRepeated) {
  EXPECT_THAT(words({"show", ""}), ElementsAre("0"));
  EXPECT_THAT(words({"show", "0", ""}), ElementsAre("17", "18"));
  EXPECT_THAT(words({"show", "0", "17", "18"}), ElementsAre("18"));
}

TEST_F(Complete, NothingAfterTwoDashes) {
  ASSERT_THAT(words({"run", "--q"}), ElementsAre("--quiet"));
  EXPECT_THAT(words({"run", "--", "--q"}), IsEmpty());
  ASSERT_THAT(words({"show", ""}), ElementsAre("0"));
  EXPECT_THAT(words({"show", "--", ""}), IsEmpty());
  ASSERT_THAT(words({""}), ElementsAre("run", "lease", "show", "tune"));
  EXPECT_THAT(words({}), IsEmpty());
}

// The words of a command are not Tangram's: the shell completes files.
TEST_F(Complete, NothingBehindTheFirstWordOfACommand) {
  EXPECT_THAT(words({"run", "-p", "1g.5gb", "ls", "--q"}), IsEmpty());
  EXPECT_THAT(words({"run", "--quiet", "python", ""}), IsEmpty());
  EXPECT_THAT(words({"lease", "bash", "l"}), IsEmpty());
  EXPECT_THAT(words({"run", "-p", "1g.5gb", "--q"}), ElementsAre("--quiet"));
}

TEST_F(Complete, ValuesOnlyAfterTheEqualsSign) {
  EXPECT_THAT(words({"tune", "q"}), ElementsAre("queue="));
  EXPECT_THAT(words({"tune", "queue="}), ElementsAre("queue=fifo"));
}

TEST_F(Complete, BashWordsAreJoinedAndSplitAgain) {
  EXPECT_EQ(completion_lines(app_, {"bash", "run", "--color", "=", "al"}), "always\t\n");
  EXPECT_EQ(completion_lines(app_, {"fish", "run", "--color=al"}), "--color=always\t\n");
  // bash splits at a colon as well; it is one word here.
  EXPECT_EQ(completion_lines(app_, {"bash", "run", "--profile", "a", ":", "b", "--q"}),
            "--quiet\t\n");
  EXPECT_EQ(completion_lines(app_, {"bash", "run", "--color", "x", ":", ""}), "");
}

}  // namespace
}  // namespace tangram::cli
