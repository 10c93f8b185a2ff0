// Plots: what gnuplot draws, and its errors.
#include "lab/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/lab/experiments.hpp"

namespace tangram::lab {
namespace {

using testing::Folder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Plot : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto gnuplot = find_gnuplot();
    if (!gnuplot) GTEST_SKIP() << gnuplot.error().message;
  }
  Folder folder_;
};

TEST_F(Plot, AScriptDrawsTheDataOfItsFolder) {
  folder_.write("data.csv", "x,y\n1,2\n2,4\n");
  const auto svg = plot_svg(
      "set terminal svg\nset datafile separator comma\n"
      "plot 'data.csv' using 1:2 skip 1 with lines title 'twice'\n",
      folder_.at("."), "tiny");
  ASSERT_TRUE(svg) << svg.error().message;
  EXPECT_THAT(*svg, StartsWith("<svg"));
  EXPECT_THAT(*svg, HasSubstr("twice"));
  EXPECT_THAT(*svg, HasSubstr("</svg>"));
}

TEST_F(Plot, ABrokenScriptIsReportedInGnuplotsWords) {
  const auto svg = plot_svg("set terminal svg\nplot nonsense(\n", folder_.at("."), "tiny");
  ASSERT_FALSE(svg);
  EXPECT_EQ(svg.error().code, ErrorCode::kFailed);
  EXPECT_THAT(svg.error().message, StartsWith("gnuplot could not draw tiny: plot nonsense( ^ "));
  EXPECT_THAT(svg.error().message, HasSubstr("\"tiny.gp\" line 2: invalid expression"));
}

TEST_F(Plot, AScriptThatDrawsNothingIsReported) {
  EXPECT_FALSE(plot_svg("x = 1\n", folder_.at("."), "tiny"));
  EXPECT_THAT(
      plot_svg("set terminal svg\nplot 'no.csv'\n", folder_.at("."), "tiny").error().message,
      HasSubstr("no.csv"));
}

TEST_F(Plot, AFolderThatIsMissingIsReported) {
  const auto svg = plot_svg("x = 1\n", folder_.at("none"), "tiny");
  ASSERT_FALSE(svg);
  EXPECT_EQ(svg.error().message, "cannot write " + folder_.at("none") + "/tiny.gp.");
}

}  // namespace
}  // namespace tangram::lab
