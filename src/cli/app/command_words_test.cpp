// Where the user's command begins: options of Tangram end there, whatever follows.
#include "cli/app/command_words.hpp"

#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

class CommandWordsTest : public ::testing::Test {
 protected:
  CommandWordsTest() {
    run_ = app_.add_subcommand("run");
    run_->add_option("-p,--profile", text_);
    run_->add_option("--label", texts_)->allow_extra_args(false);
    run_->add_option("--port", number_);
    run_->add_flag("-q,--quiet", flag_);
    run_->add_option("COMMAND", texts_);
    lease_ = app_.add_subcommand("lease");
    lease_->add_option("-p", text_);
    lease_->add_subcommand("list");
    sim_run_ = app_.add_subcommand("sim")->add_subcommand("run");
  }
  // Where the command begins, and whether "--" was skipped.
  static std::pair<std::size_t, bool> found(const CLI::App& verb,
                                            const std::vector<const char*>& words) {
    const CommandWords at = find_command(verb, words);
    return {at.begin, at.options_end != at.begin};
  }
  static constexpr bool kDashes = true;
  static constexpr bool kNoDashes = false;
  using Found = std::pair<std::size_t, bool>;

  CLI::App app_;
  CLI::App* run_ = nullptr;
  CLI::App* lease_ = nullptr;
  CLI::App* sim_run_ = nullptr;
  std::string text_;
  std::vector<std::string> texts_;
  int number_ = 0;
  bool flag_ = false;
};

TEST_F(CommandWordsTest, OptionsEndAtTheFirstWord) {
  EXPECT_EQ(found(*run_, {"ls", "-l"}), Found(0, kNoDashes));
  EXPECT_EQ(found(*run_, {"-p", "1g.5gb", "ls", "-p", "x"}), Found(2, kNoDashes));
  EXPECT_EQ(found(*run_, {"-p1g.5gb", "ls", "-l"}), Found(1, kNoDashes));
  EXPECT_EQ(found(*run_, {"-qp", "1g.5gb", "ls"}), Found(2, kNoDashes));
  EXPECT_EQ(found(*run_, {"-q", "ls", "-q"}), Found(1, kNoDashes));
  EXPECT_EQ(found(*run_, {"--profile=1g.5gb", "ls"}), Found(1, kNoDashes));
  EXPECT_EQ(found(*run_, {"--label", "a=b", "--label", "c=d", "ls"}), Found(4, kNoDashes));
  EXPECT_EQ(found(*run_, {"--port", "80", "--quiet", "./serve", "--port", "8000"}),
            Found(3, kNoDashes));
  EXPECT_EQ(found(*run_, {"-", "x"}), Found(0, kNoDashes));
}

TEST_F(CommandWordsTest, DashesMayComeFirst) {
  EXPECT_EQ(found(*run_, {"-q", "--", "ls"}), Found(2, kDashes));
  EXPECT_EQ(found(*run_, {"--", "-odd"}), Found(1, kDashes));
  // Behind the first word they are the command's own.
  EXPECT_EQ(found(*run_, {"-q", "git", "log", "--", "file"}), Found(1, kNoDashes));
  // A value may be two dashes.
  EXPECT_EQ(found(*run_, {"-p", "--", "ls"}), Found(2, kNoDashes));
}

TEST_F(CommandWordsTest, ThereMayBeNone) {
  EXPECT_EQ(found(*run_, {}), Found(0, kNoDashes));
  EXPECT_EQ(found(*run_, {"-p", "1g.5gb"}), Found(2, kNoDashes));
  EXPECT_EQ(found(*run_, {"-p"}), Found(1, kNoDashes));
  EXPECT_EQ(found(*run_, {"--help"}), Found(1, kNoDashes));
}

TEST_F(CommandWordsTest, VerbsBelowAreNoCommands) {
  EXPECT_EQ(found(*lease_, {"list", "--json"}), Found(2, kNoDashes));
  EXPECT_EQ(found(*lease_, {"-p", "list", "bash", "-c", "list"}), Found(2, kNoDashes));
  EXPECT_EQ(found(*lease_, {"--", "list"}), Found(1, kDashes));
}

TEST_F(CommandWordsTest, OnlyVerbsOfTangramItselfRunCommands) {
  EXPECT_TRUE(runs_command(*run_));
  EXPECT_TRUE(runs_command(*lease_));
  EXPECT_FALSE(runs_command(*sim_run_));
  EXPECT_FALSE(runs_command(app_));
}

}  // namespace
}  // namespace tangram::cli
