// Limits of users, through the real daemon: jobs beyond them are held or refused, and start when
// capacity is free again. The daemon's own user is an admin, to whom no limits apply, so these
// tests need root to act as another user.
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

constexpr const char* kForever = "exec sleep 1000";

class Limits : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  }
  // Starts the node and lets other users reach it.
  static void start(Node& node) {
    node.start();
    allow_other_users(node);
  }
  static std::pair<int, json::value> submit(const Node& node, const std::string& profile,
                                            const std::string& script) {
    json::object request = node.job_request(profile, script);
    request["directory"] = "/";
    return call_as(kNobody, node, "POST", "/v1/jobs", request);
  }
  static std::uint64_t id_of(const std::pair<int, json::value>& answer) {
    EXPECT_EQ(answer.first, 201) << answer.second;
    return answer.second.at("id").to_number<std::uint64_t>();
  }
};

TEST_F(Limits, JobsBeyondTheSliceLimitAreHeldUntilSlicesAreFree) {
  Node node({.emulate = "2xA100-40GB", .config = "[access]\nslices_per_user = 5\n"});
  start(node);
  const auto first = id_of(submit(node, "3g.20gb", kForever));
  const auto second = id_of(submit(node, "3g.20gb", kForever));
  const auto third = id_of(submit(node, "2g.10gb", kForever));
  node.await(first, "running");
  node.await(third, "running");  // 3 + 2 slices; the held second job does not block it
  EXPECT_EQ(node.state(second), "held");
  EXPECT_THAT(std::string(node.job(second).at("reason").as_string()), HasSubstr("limit"));
  EXPECT_EQ(call_as(kNobody, node, "POST", cat("/v1/jobs/", second, "/release")).first, 409);
  const auto mine = node.submit("1g.5gb", "true");  // of an admin
  EXPECT_EQ(node.await(mine, "over").at("exit_code"), 0);
  node.kill();
  node.start();
  EXPECT_EQ(node.state(second), "held");
  node.call("POST", cat("/v1/jobs/", first, "/cancel"), 202);
  node.await(second, "running");
  const auto large = submit(node, "7g.40gb", "true");
  EXPECT_EQ(large.first, 422);
  EXPECT_THAT(std::string(large.second.at("detail").as_string()), HasSubstr("7 compute slices"));
}

TEST_F(Limits, ApplyToJobsThatTheUserHeld) {
  Node node({.emulate = "1xA100-40GB", .config = "[access]\nslices_per_user = 2\n"});
  start(node);
  json::object request = node.job_request("2g.10gb", kForever, {{"hold", true}});
  request["directory"] = "/";
  const auto held = id_of(call_as(kNobody, node, "POST", "/v1/jobs", request));
  const auto runs = id_of(submit(node, "2g.10gb", kForever));
  node.await(runs, "running");
  EXPECT_EQ(call_as(kNobody, node, "POST", cat("/v1/jobs/", held, "/release")).first, 202);
  EXPECT_EQ(node.state(held), "held");
  node.call("POST", cat("/v1/jobs/", runs, "/cancel"), 202);
  node.await(held, "running");
}

TEST_F(Limits, TooManyJobsAndTooManySubmissionsAreRefused) {
  Node node({.emulate = "1xA100-40GB",
             .config = "[access]\njobs_per_user = 3\nsubmissions_per_second = 1\n"});
  start(node);
  std::vector<std::uint64_t> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(id_of(submit(node, "7g.40gb", kForever)));
  const auto fourth = submit(node, "7g.40gb", kForever);
  EXPECT_EQ(fourth.first, 429);
  EXPECT_THAT(std::string(fourth.second.at("detail").as_string()),
              HasSubstr("job limit reached (3 of 3 active)"));
  int refused = 0;
  for (int i = 0; i < 10; ++i) {
    const auto more = submit(node, "7g.40gb", kForever);
    EXPECT_EQ(more.first, 429);
    const std::string why(more.second.at("detail").as_string());
    if (why.find("submissions per second") != std::string::npos) ++refused;
  }
  EXPECT_GT(refused, 0);
  // A higher limit applies at once after a reload.
  node.folder().write("tangram.toml", "[access]\njobs_per_user = 5\n");
  node.reload();
  eventually("the new limit applies",
             [&] { return submit(node, "7g.40gb", kForever).first == 201; });
}

}  // namespace
}  // namespace tangram::tests
