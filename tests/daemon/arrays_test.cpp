// Job arrays (`--array`), through the real daemon: one request makes all tasks or none, at most as
// many as allowed are active, and the array can be changed as a whole or in part.
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

std::string until(const std::string& file) {
  return cat("while [ ! -e ", file, " ]; do sleep 0.02; done");
}

struct Made {
  std::uint64_t id = 0;
  std::uint64_t first = 0;
};

Made submit_array(Node& node, const std::string& array, const std::string& script,
                  json::object more = {}) {
  more["array"] = array;
  const json::value made =
      node.call("POST", "/v1/jobs", 201, node.job_request("1g.5gb", script, more));
  return {.id = made.at("id").to_number<std::uint64_t>(),
          .first = made.at("array").at("first").to_number<std::uint64_t>()};
}

std::uint64_t count_of(Node& node, const Made& array, const std::string& state) {
  const json::value view = node.call("GET", cat("/v1/arrays/", array.id));
  const json::value* count = view.at("states").as_object().if_contains(state);
  return count == nullptr ? 0 : count->to_number<std::uint64_t>();
}

TEST(Arrays, EachTaskRunsWithItsIndexAndItsOutputFile) {
  Node node;
  node.start();
  const Made array = submit_array(
      node, "3,10-20:5",
      "echo $TANGRAM_ARRAY_ID $TANGRAM_ARRAY_INDEX $TANGRAM_ARRAY_COUNT $TANGRAM_ARRAY_MIN "
      "$TANGRAM_ARRAY_MAX",
      {{"output", node.at("out-%A-%a.txt")}});
  EXPECT_EQ(array.first, array.id + 1);
  eventually("all have completed", [&] { return count_of(node, array, "completed") == 4; });
  EXPECT_EQ(node.output(array.first + 2), cat(array.id, " 15 4 3 20\n"));
  EXPECT_EQ(node.folder().read(cat("out-", array.id, "-15.txt")), cat(array.id, " 15 4 3 20\n"));
  const json::object task = node.job(array.first + 3);
  EXPECT_EQ(task.at("array"), array.id);
  EXPECT_EQ(task.at("index"), 20);
  EXPECT_EQ(task.at("request").at("array"), "3,10-20:5");
  const auto word = [&](const char* suffix) { return cat(array.id, suffix); };
  EXPECT_THAT(node.tangram({"show", word("_20")}), HasSubstr(cat("job ", array.first + 3)));
  EXPECT_THAT(node.tangram({"show", word("")}), HasSubstr("4 (4 completed)"));
  EXPECT_EQ(node.tangram({"logs", word("_3")}), cat(array.id, " 3 4 3 20\n"));
  EXPECT_EQ(node.tangram({"wait", word("")}), "");
  EXPECT_EQ(node.call("GET", cat("/v1/jobs?all=1&array=", array.id)).as_array().size(), 4U);
}

TEST(Arrays, AtMostAsManyTasksAsAllowedAreActive) {
  Node node;
  node.start();
  const Made array = submit_array(
      node, "1-6%2", cat("touch ", node.at("$TANGRAM_ARRAY_INDEX"), "; ", until(node.at("go"))));
  node.await(array.first, "running");
  node.await(array.first + 1, "running");
  EXPECT_EQ(node.state(array.first + 2), "held");
  EXPECT_EQ(node.job(array.first + 2).at("reason"),
            "as many tasks of its array are active as may be");
  EXPECT_THAT(node.tangram({"ps"}), HasSubstr(cat(array.id, "_[3-6]")));
  EXPECT_THAT(node.tangram({"ps", "--tasks"}), HasSubstr(cat(array.id, "_4 ")));
  node.tangram({"cancel", cat(array.id, "_1")});
  node.await(array.first + 2, "running");
  EXPECT_EQ(count_of(node, array, "held"), 3U);
  node.kill();  // also after a restart
  node.start();
  EXPECT_EQ(count_of(node, array, "held"), 3U);
  node.folder().write("go", "");
  eventually("all have ended", [&] { return count_of(node, array, "completed") == 5; });
}

TEST(Arrays, AreHeldReleasedAndCancelledAsAWholeOrInPart) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto blocker = node.submit("7g.40gb", "sleep 1000");
  node.await(blocker, "running");
  const Made array = submit_array(node, "1-5", "true");
  const auto word = [&](const char* suffix) { return cat(array.id, suffix); };
  EXPECT_EQ(node.tangram({"hold", word("_[1-3]")}), cat("array ", array.id, ": hold of 3 tasks\n"));
  EXPECT_EQ(count_of(node, array, "held"), 3U);
  EXPECT_EQ(node.tangram({"release", word("_2")}),
            cat("array ", array.id, ": release of 1 task\n"));
  EXPECT_EQ(node.state(array.first + 1), "queued");
  EXPECT_EQ(node.tangram({"cancel", word("")}), cat("array ", array.id, ": cancel of 5 tasks\n"));
  EXPECT_EQ(count_of(node, array, "cancelled"), 5U);
  int code = 0;
  EXPECT_THAT(node.tangram({"cancel", word("")}, &code), HasSubstr("there is no task to cancel"));
  EXPECT_EQ(code, 1);
  EXPECT_THAT(node.tangram({"cancel", word("_9")}, &code), HasSubstr("has no task 9"));
}

TEST(Arrays, AreWaitedForByOtherJobs) {
  Node node;
  node.start();
  const Made good = submit_array(node, "1-3", until(node.at("go")));
  const auto next =
      node.submit("1g.5gb", "true", {{"after", json::array{json::object{{"job", good.id}}}}});
  EXPECT_EQ(node.state(next), "held");
  node.folder().write("go", "");
  node.await(next, "completed");
  EXPECT_EQ(count_of(node, good, "completed"), 3U);
  const Made bad = submit_array(node, "0-2", "exit $TANGRAM_ARRAY_INDEX");
  const auto never =
      node.submit("1g.5gb", "true", {{"after", json::array{json::object{{"job", bad.id}}}}});
  EXPECT_THAT(std::string(node.await(never, "cancelled").at("reason").as_string()),
              HasSubstr(cat("job ", bad.id, " failed")));
}

TEST(Arrays, OneIdempotencyKeyMakesOneArray) {
  Node node;
  node.start();
  const json::value made = json::parse(
      node.tangram({"submit", "--json", "-p", "1g.5gb", "--array", "1-3", "--wait", "true"}));
  EXPECT_EQ(made.at("array").at("tasks"), 3);
  EXPECT_EQ(node.call("GET", "/v1/jobs?all=1").as_array().size(), 3U);
}

TEST(Arrays, CountForTheLimitsWithAllTasksOrAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  Node node({.emulate = "1xA100-40GB",
             .config = "[access]\njobs_per_user = 5\nslices_per_user = 2\narray_tasks = 4\n"});
  node.start();
  allow_other_users(node);
  const auto submit = [&](const char* array) {
    json::object request = node.job_request("1g.5gb", "sleep 1000", {{"array", array}});
    request["directory"] = "/";
    return call_as(kNobody, node, "POST", "/v1/jobs", request);
  };
  const auto large = submit("1-5");
  EXPECT_EQ(large.first, 422);
  EXPECT_THAT(std::string(large.second.at("detail").as_string()),
              HasSubstr("an array of 5 tasks is above the maximum of 4"));
  const auto made = submit("1-4");
  ASSERT_EQ(made.first, 201);
  const Made array{.id = made.second.at("id").to_number<std::uint64_t>(), .first = 0};
  eventually("two tasks run", [&] { return count_of(node, array, "running") == 2; });
  EXPECT_EQ(count_of(node, array, "held"), 2U);  // at the limit of slices
  const auto more = submit("1-2");
  EXPECT_EQ(more.first, 429);
  EXPECT_THAT(std::string(more.second.at("detail").as_string()),
              HasSubstr("4 of 5 active, 2 requested"));
  EXPECT_EQ(node.call("GET", "/v1/jobs?all=1").as_array().size(), 4U);
}

TEST(Arrays, AreChecked) {
  Node node;
  node.start();
  const auto refused = [&](const json::object& more) {
    const json::value body = node.job_request("1g.5gb", "true", more);
    return std::string(node.call("POST", "/v1/jobs", 400, body).at("detail").as_string());
  };
  EXPECT_THAT(refused({{"array", "5-1"}}), HasSubstr("array: 5-1: the first index is above"));
  EXPECT_THAT(refused({{"array", "1-2"}, {"kind", "service"}}), HasSubstr("batch jobs only"));
  EXPECT_THAT(refused({{"output", "x-%a"}}), HasSubstr("in an array"));
  int code = 0;
  EXPECT_THAT(node.tangram({"submit", "-p", "1g.5gb", "--array", "1-", "true"}, &code),
              HasSubstr("--array: invalid indices '1-'"));
  EXPECT_EQ(code, 2);
  EXPECT_THAT(node.tangram({"show", "99_1"}, &code), HasSubstr("array 99: not found"));
}

}  // namespace
}  // namespace tangram::tests
