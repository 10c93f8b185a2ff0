// The report of made-up findings: complete, and nothing from outside becomes markup.
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/suite.hpp"

namespace tangram::lab {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SuiteOptions options() {
  SuiteOptions o;
  o.title = "A <b>title</b>";
  o.command = "tangram lab paper --out \"a&b\" <x>";
  o.study.first_seed = 7;
  return o;
}

SuiteReport report() {
  Section s;
  s.experiment.id = "one\"><script>";
  s.experiment.title = "First <script>alert(1)</script>";
  s.experiment.section = "Fig. <1>";
  s.experiment.kind = "ablation";
  s.experiment.paper = "Less & less <i>";
  s.findings.tables = {{"Caption <1>", {"name", "col<2>"}, {{"row<3>", "1.5 ± <4>"}}},
                       {"Second caption", {"name"}, {{"lonely"}}}};
  s.findings.remarks = {"remark <5>"};
  s.findings.numbers = {{"normal25", {{"baseline", {{"wait", 1.5}}}}}};
  s.verdicts = {{.says = "says <6>", .ours = "a: 1 <7>", .holds = Verdict::Holds::kYes},
                {.says = "second", .ours = "b", .holds = Verdict::Holds::kPartly},
                {.says = "third", .ours = "c", .holds = Verdict::Holds::kNo}};
  s.svg = "<svg><text>\"5 %\" & 'more' #1</text></svg>";
  s.seeds = 3;
  SuiteReport r;
  r.sections.push_back(std::move(s));
  r.queries_per_task = 2.5;
  r.offered_compute = 0.8;
  r.offered_links = 0.4;
  return r;
}

TEST(Report, ThePageHasEveryTableVerdictRemarkAndTheCommand) {
  const std::string page = report_html(options(), report());
  EXPECT_THAT(page, AllOf(HasSubstr("Caption &lt;1&gt;"), HasSubstr("col&lt;2&gt;"),
                          HasSubstr("row&lt;3&gt;"), HasSubstr("1.5 ± &lt;4&gt;"),
                          HasSubstr("Second caption"), HasSubstr("lonely")));
  EXPECT_THAT(page, AllOf(HasSubstr("remark &lt;5&gt;"), HasSubstr("says &lt;6&gt;"),
                          HasSubstr("a: 1 &lt;7&gt;"), HasSubstr("Less &amp; less &lt;i&gt;")));
  EXPECT_THAT(page, AllOf(HasSubstr("<td class=\"yes\">reproduced</td>"),
                          HasSubstr("<td class=\"partly\">in part</td>"),
                          HasSubstr("<td class=\"no\">not reproduced</td>")));
  EXPECT_THAT(page, HasSubstr("tangram lab paper --out &quot;a&amp;b&quot; &lt;x&gt;"));
  EXPECT_THAT(page, AllOf(HasSubstr("first seed 7"), HasSubstr("3 seeds"), HasSubstr("link_gbps"),
                          HasSubstr("2.50 in the mean")));
}

TEST(Report, NothingFromOutsideIsMarkup) {
  const std::string page = report_html(options(), report());
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<script")), Not(HasSubstr("<b>")), Not(HasSubstr("<i>")),
                          Not(HasSubstr("<svg")), Not(HasSubstr("<text"))));
  for (int i = 1; i <= 7; ++i) EXPECT_THAT(page, Not(HasSubstr("<" + std::to_string(i) + ">")));
  EXPECT_THAT(page, HasSubstr("data:image/svg+xml;charset=utf-8,%3Csvg%3E%3Ctext%3E%225 %25%22 "
                              "%26 %27more%27 %231%3C/text%3E%3C/svg%3E\""));
}

TEST(Report, ThePageNeedsNothingButItself) {
  const std::string page = report_html(options(), report());
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")),
                          Not(HasSubstr("<link")), Not(HasSubstr("src=\"/"))));
}

TEST(Report, TheJsonHasWhatThePageHas) {
  const boost::json::value root = boost::json::parse(report_json(options(), report()));
  EXPECT_EQ(root.at("command").as_string(), options().command);
  EXPECT_EQ(root.at("first_seed"), 7);
  EXPECT_EQ(root.at("offered_load").at("compute"), 0.8);
  EXPECT_EQ(root.at("knobs").as_object().size(), sim::knob_table().size());
  EXPECT_EQ(root.at("ablation").at("normal25").at("baseline").at("wait"), 1.5);
  const boost::json::value& one = root.at("experiments").at("one\"><script>");
  EXPECT_EQ(one.at("seeds"), 3);
  EXPECT_EQ(one.at("claims").as_array().size(), 3U);
  EXPECT_EQ(one.at("claims").at(1).at("verdict").as_string(), "in part");
  EXPECT_EQ(one.at("tables").as_array().size(), 2U);
  EXPECT_EQ(one.at("tables").at(0).at("rows").at(0).at(1).as_string(), "1.5 ± <4>");
}

TEST(Report, IsAPureFunction) {
  EXPECT_EQ(report_html(options(), report()), report_html(options(), report()));
  EXPECT_EQ(report_json(options(), report()), report_json(options(), report()));
}

}  // namespace
}  // namespace tangram::lab
