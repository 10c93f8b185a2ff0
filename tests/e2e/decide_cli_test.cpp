// `tangram decide` and `tangram policies`: the text of the examples, the decisions of a file of
// states, and errors in states.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string example(const std::string& name) {
  return read_text(cat(TANGRAM_SOURCE_DIR "/examples/", name, ".json"));
}

TEST(DecideCli, ExplainsTheExamples) {
  expect_golden("decide_arrival", {"decide"}, example("arrival"));
  expect_golden("decide_fragmented", {"decide"}, example("fragmented"));
  expect_golden("decide_departure", {"decide"}, example("departure"));
  expect_golden("decide_best_fit", {"decide", "--policy", "best-fit"}, example("arrival"));
  expect_golden("decide_arrival_json", {"decide", "--json"}, example("arrival"));
  expect_golden("decide_fragmented_json", {"decide", "--json"}, example("fragmented"));
  expect_golden("decide_departure_json", {"decide", "--json"}, example("departure"));
  expect_golden("policies", {"policies"});
  expect_golden("policies_json", {"policies", "--json"});
}

// All states of the test vectors, without the expected decisions, in one run.
TEST(DecideCli, AnswersAFileOfStates) {
  std::string rows;
  std::vector<std::string> expected;
  const std::string all = read_text(TANGRAM_TESTS_DIR "/data/decisions.jsonl");
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    json::object row = json::parse(json::string_view(all).substr(at, end - at)).as_object();
    expected.push_back(json::serialize(row.at("expect")));
    row.erase("expect");
    rows += json::serialize(row) + "\n";
    at = end + 1;
  }
  ASSERT_EQ(expected.size(), 4000U);
  const Ended ended = tangram_run({"decide", "--jsonl"}, rows);
  EXPECT_EQ(ended.code, 0) << ended.err;
  std::size_t at = 0;
  for (const std::string& want : expected) {
    const std::size_t end = ended.out.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(json::serialize(json::parse(ended.out.substr(at, end - at))), want);
    at = end + 1;
  }
  EXPECT_EQ(at, ended.out.size());
}

std::string state(const std::string& inner) {
  return cat(R"({"kind": "arrival", "profile": "2g.10gb", "gpus": [{"model": "A100-40GB")", inner,
             "}]}");
}

void expect_decide_refused(const std::string& input, const std::string& what) {
  const Ended ended = tangram_run({"decide"}, input);
  EXPECT_EQ(ended.code, 2) << input;
  EXPECT_EQ(ended.out, "") << input;
  EXPECT_THAT(ended.err, StartsWith("tangram: standard input: ")) << input;
  EXPECT_THAT(ended.err, HasSubstr(what)) << input;
}

TEST(DecideCli, RejectsInvalidStates) {
  expect_decide_refused("", "is empty; a state is");
  expect_decide_refused("{", "not valid JSON");
  expect_decide_refused("[]", "not a JSON object; a state is");
  expect_decide_refused("{}", "gpus must be a list");
  expect_decide_refused(R"({"kind": "arrival", "gpus": []})", "gpus is empty");
  expect_decide_refused(R"({"kind": "arrival", "gpus": [3]})", "gpus[0] must be an object");
  expect_decide_refused(R"({"gpus": [{"model": "A100"}]})", "did you mean A100-40GB?");
  expect_decide_refused(R"({"kind": "x", "gpus": [{"model": "A30-24GB"}]})",
                        "kind is 'x'; allowed: arrival and departure");
  expect_decide_refused(R"({"kind": "departure", "gpu": 1, "gpus": [{"model": "A30-24GB"}]})",
                        "gpu must be a whole number from 0 to 0");
  expect_decide_refused(R"({"treshold": 1, "gpus": []})", "did you mean threshold?");
  expect_decide_refused(R"({"threshold": 1.5, "gpus": []})", "'1.5' is not a decimal from 0 to 1");
  expect_decide_refused(R"({"threshold": [], "gpus": []})", "threshold must be a number");
}

TEST(DecideCli, RejectsImpossibleJobs) {
  expect_decide_refused(state(R"(, "jobs": [{"id": 1, "profile": "2g.10gb", "start": 1}])"),
                        "GPU 0: a 2g.10gb cannot start at 1 on A100-40GB; allowed: 0, 2 and 4.");
  expect_decide_refused(state(R"(, "jobs": [{"id": 1, "profile": "2g.10gb", "start": 0},
                                            {"id": 2, "profile": "1g.5gb", "start": 1}])"),
                        "1g.5gb@1 overlaps 2g.10gb@0");
  expect_decide_refused(state(R"(, "jobs": [{"id": 1, "profile": "2g.10gb", "start": 0},
                                            {"id": 1, "profile": "1g.5gb", "start": 2}])"),
                        "job 1 is given twice");
  expect_decide_refused(state(R"(, "jobs": [{"id": 1, "profile": "1g.5gb+me", "start": 0},
                                            {"id": 2, "profile": "1g.5gb+me", "start": 2}])"),
                        "1g.5gb+me@2 is one too many");
  expect_decide_refused(state(R"(, "idle": [{"profile": "2g", "start": 0}])"),
                        "did you mean 2g.10gb?");
  expect_decide_refused(state(R"(, "jobs": [{"id": -1, "profile": "2g.10gb", "start": 0}])"),
                        "gpus[0].jobs[0].id must be a whole number from 0");
  expect_decide_refused(R"({"kind": "arrival", "profile": "9g", "gpus": [{"model": "A30-24GB"}]})",
                        "no GPU of this state has a profile '9g'");
}

TEST(DecideCli, NamesTheLineOfABadRowAndPrintsNothing) {
  const std::string good =
      R"({"kind": "arrival", "profile": "1g.6gb", "gpus": [{"model": "A30-24GB"}]})";
  EXPECT_EQ(tangram_run({"decide", "--jsonl"}, good + "\n\n" + good).out,
            "{\"gpu\": 0, \"start\": 3, \"reuse\": false}\n"
            "{\"gpu\": 0, \"start\": 3, \"reuse\": false}\n");
  const Ended ended = tangram_run({"decide", "--jsonl"}, good + "\n\n{\"kind\": 1}\n");
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, StartsWith("tangram: standard input:3: "));
}

TEST(DecideCli, RejectsUnknownPolicies) {
  EXPECT_THAT(tangram_run({"decide", "--policy", "bestfit"}).err,
              HasSubstr("did you mean best-fit?"));
  EXPECT_THAT(tangram_run({"decide", "--migration", "bot"}).err, HasSubstr("did you mean both?"));
  EXPECT_EQ(tangram_run({"decide", "--policy", "bestfit"}).code, 2);
}

}  // namespace
}  // namespace tangram::tests
