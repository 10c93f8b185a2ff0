#include "cli/app/manual.hpp"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Manual, TextCannotBecomeARequest) {
  EXPECT_EQ(roff_text(".TH x\n'y"), "\\&.TH x\n\\&\\(aqy");
  EXPECT_EQ(roff_text("a\\fB --x \"q\" `c`"), "a\\efB \\-\\-x \\(dqq\\(dq \\(gac\\(ga");
  EXPECT_EQ(roff_text("…é"), "\\[u2026]\\[u00E9]");
}

TEST(Manual, APageHasTheVerbItsOptionsAndItsParts) {
  CLI::App app;
  app.name("tangram");
  std::string value;
  CLI::App* lease = app.add_subcommand("lease", "Lease it");
  lease->add_option("-p,--profile", value, "What is needed")->option_text("PROFILE");
  lease->footer("Examples:\n  tangram lease -p 1g.5gb\nIt ends by itself.");
  lease->add_subcommand("list", "List them")->add_option("USER", value, "Whose")->required();
  const std::string page = verb_page(app, *lease);
  EXPECT_THAT(page, AllOf(HasSubstr(".TH TANGRAM\\-LEASE 1"),
                          HasSubstr("\\fB\\-p\\fR, \\fB\\-\\-profile\\fR \\fIPROFILE\\fR"),
                          HasSubstr(".EX\n  tangram lease \\-p 1g.5gb\n.EE\n.PP\nIt ends"),
                          HasSubstr(".SH \"TANGRAM LEASE LIST\""), HasSubstr("\\fIUSER\\fR")));
}

}  // namespace
}  // namespace tangram::cli
