// Jobs that wait for other jobs (`--after`), through the real daemon: they start in their old place
// once those have ended as required, end themselves if that cannot be, and lose nothing when the
// daemon is killed.
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

std::string until(const std::string& file, int code = 0) {
  return cat("while [ ! -e ", file, " ]; do sleep 0.02; done; exit ", code);
}

json::array after(std::uint64_t job, const char* condition = "ok") {
  return {json::object{{"job", job}, {"condition", condition}}};
}

std::uint64_t submit_after(Node& node, const json::array& dependencies,
                           const std::string& script = "true",
                           const std::string& profile = "1g.5gb") {
  return node.submit(profile, script, {{"after", dependencies}});
}

std::string reason_of(Node& node, std::uint64_t id) {
  return std::string(node.job(id).at("reason").as_string());
}

TEST(Dependencies, AJobStartsWhenThoseItWaitsForHaveCompleted) {
  Node node;
  node.start();
  const auto first = node.submit("1g.5gb", until(node.at("one")));
  const auto second = node.submit("1g.5gb", until(node.at("two"), 3));
  json::array both = after(first);
  both.push_back(after(second, "any")[0]);
  const auto last = submit_after(node, both, "echo ran");
  EXPECT_EQ(node.state(last), "held");
  EXPECT_EQ(reason_of(node, last),
            cat("waiting for job ", first, " to complete and job ", second, " to end"));
  EXPECT_EQ(node.job(last).at("waits_for"), both);
  EXPECT_THAT(node.tangram({"explain", std::to_string(last)}),
              HasSubstr(cat("is held: it waits for job ", first, " to complete")));
  EXPECT_THAT(node.tangram({"show", std::to_string(last)}),
              HasSubstr(cat(first, ",", second, ":any")));
  node.folder().write("one", "");
  node.await(first, "completed");
  eventually("only the second is awaited",
             [&] { return reason_of(node, last) == cat("waiting for job ", second, " to end"); });
  node.folder().write("two", "");
  EXPECT_EQ(node.await(last, "over").at("exit_code"), 0);
  EXPECT_EQ(node.output(last), "ran\n");
  EXPECT_EQ(node.job(last).at("waits_for"), json::array{});
}

TEST(Dependencies, AJobThatCanNeverStartIsCancelledWithItsOwnDependents) {
  Node node;
  node.start();
  const auto first = node.submit("1g.5gb", until(node.at("go"), 1));
  const auto second = submit_after(node, after(first));
  const auto third = submit_after(node, after(second));
  const auto cleanup = submit_after(node, after(second, "any"));
  node.folder().write("go", "");
  node.await(second, "cancelled");
  EXPECT_EQ(reason_of(node, second),
            cat("its dependency cannot be satisfied: job ", first, " failed"));
  node.await(third, "cancelled");
  EXPECT_EQ(reason_of(node, third),
            cat("its dependency cannot be satisfied: job ", second, " was cancelled"));
  node.await(cleanup, "completed");
}

// The outcome is the same whether the other job ends before or after the submission.
TEST(Dependencies, OnJobsThatHaveEndedAreDecidedAtTheSubmission) {
  Node node;
  node.start();
  const auto good = node.submit("1g.5gb", "true");
  const auto bad = node.submit("1g.5gb", "exit 5");
  node.await(good, "completed");
  node.await(bad, "failed");
  node.await(submit_after(node, after(good)), "completed");
  node.await(submit_after(node, after(bad, "any")), "completed");
  const auto never = submit_after(node, after(bad));
  EXPECT_EQ(node.state(never), "cancelled");
  EXPECT_EQ(reason_of(node, never),
            cat("its dependency cannot be satisfied: job ", bad, " failed"));
}

TEST(Dependencies, KeepTheOrderOfSubmission) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto blocker = node.submit("4g.20gb", until(node.at("free")));
  const auto first = node.submit("1g.5gb", until(node.at("go")));
  node.await(blocker, "running");
  node.await(first, "running");
  const auto waits = submit_after(node, after(first), "sleep 1000", "7g.40gb");
  const auto later = node.submit("7g.40gb", "sleep 1000");
  // Held by its user too: both causes must end.
  node.tangram({"hold", std::to_string(waits)});
  node.tangram({"release", std::to_string(waits)});
  EXPECT_EQ(node.state(waits), "held");
  node.folder().write("go", "");
  node.await(waits, "queued");
  node.folder().write("free", "");
  node.await(waits, "running");
  EXPECT_EQ(node.state(later), "queued");
}

TEST(Dependencies, SurviveADaemonThatIsKilledBetweenTheEndAndTheRelease) {
  Node node;
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "TANGRAM_CRASH_POINT=committed:job-exited"});
  node.start();
  const auto first = node.submit("1g.5gb", until(node.at("go")));
  const auto second = submit_after(node, after(first), "echo ran");
  const auto never = node.submit("1g.5gb", "true", {{"after", after(second)}, {"hold", true}});
  node.await(first, "running");
  node.folder().write("go", "");
  node.await_crash();
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  node.start();
  EXPECT_EQ(node.await(second, "over").at("state"), "completed");
  EXPECT_EQ(node.output(second), "ran\n");
  EXPECT_EQ(node.state(never), "held");  // by its user still
  eventually("only its user holds it",
             [&] { return reason_of(node, never) == "held by its user"; });
}

TEST(Dependencies, AreChecked) {
  Node node;
  node.start();
  const auto refused = [&](const json::value& list, int status) {
    const json::value body = node.job_request("1g.5gb", "true", {{"after", list}});
    return std::string(node.call("POST", "/v1/jobs", status, body).at("detail").as_string());
  };
  EXPECT_EQ(refused(after(99), 422), "after: job 99: not found; see `tangram ps --all`.");
  const auto first = node.submit("1g.5gb", "true");
  EXPECT_THAT(refused(after(first, "later"), 400), HasSubstr("after[0].condition"));
  EXPECT_THAT(refused(json::array{json::object{{"condition", "ok"}}}, 400),
              HasSubstr("after[0].job"));
  EXPECT_THAT(refused(json::array{after(first)[0], after(first)[0]}, 400),
              HasSubstr(cat("names job ", first, " twice")));
  int code = 0;
  const auto run = [&](const std::string& value) {
    return node.tangram({"submit", "-p", "1g.5gb", "--after", value, "true"}, &code);
  };
  EXPECT_THAT(run("x"), HasSubstr("--after: 'x' is not a job ID"));
  EXPECT_THAT(run(cat(first, ":later")), HasSubstr("use ok or any"));
  EXPECT_EQ(code, 2);
  const json::value made = json::parse(
      node.tangram({"submit", "-p", "1g.5gb", "--json", "--after", cat(first, ":any"), "true"}));
  node.await(made.at("id").to_number<std::uint64_t>(), "completed");
}

}  // namespace
}  // namespace tangram::tests
