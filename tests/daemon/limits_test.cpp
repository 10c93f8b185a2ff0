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

TEST_F(Limits, ThePriorityOfUsersIsCapped) {
  Node node({.emulate = "1xA100-40GB", .config = "[access]\nmax_priority = 5\n"});
  start(node);
  const auto with = [&](int priority) {
    json::object request = node.job_request("1g.5gb", "true");
    request["directory"] = "/";
    request["priority"] = priority;
    return request;
  };
  EXPECT_EQ(call_as(kNobody, node, "POST", "/v1/jobs", with(5)).first, 201);
  EXPECT_EQ(call_as(kNobody, node, "POST", "/v1/jobs", with(-100)).first, 201);
  const auto refused = call_as(kNobody, node, "POST", "/v1/jobs", with(6));
  EXPECT_EQ(refused.first, 403);
  EXPECT_THAT(std::string(refused.second.at("detail").as_string()),
              HasSubstr("above your maximum of 5"));
  node.call("POST", "/v1/jobs", 201, with(100));  // of an admin
}

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

std::string detail_of(const std::pair<int, json::value>& answer) {
  return std::string(answer.second.at("detail").as_string());
}

TEST_F(Limits, TimeLimitsHaveADefaultAndAMaximum) {
  Node node({.emulate = "1xA100-40GB",
             .config = "[jobs]\ndefault_time_limit = \"1h\"\nmax_time_limit = \"2h\"\n"});
  start(node);
  const auto submit_with = [&](const json::object& more) {
    json::object request = node.job_request("1g.5gb", kForever, more);
    request["directory"] = "/";
    return call_as(kNobody, node, "POST", "/v1/jobs", request);
  };
  const auto limit_of = [&](std::uint64_t id) {
    return node.job(id).at("request").at("time_limit");
  };
  const auto plain = id_of(submit_with({}));
  EXPECT_EQ(limit_of(plain), "1h");
  EXPECT_EQ(limit_of(id_of(submit_with({{"time_limit", "2h"}}))), "2h");
  EXPECT_EQ(limit_of(id_of(submit_with({{"kind", "service"}}))), "2h");
  const auto refused = submit_with({{"time_limit", "121m"}});
  EXPECT_EQ(refused.first, 422);
  EXPECT_THAT(detail_of(refused), HasSubstr("time limit 2h1m is above the maximum of 2h"));
  const json::object lease{{"profile", "1g.5gb"}, {"key", "k"}, {"ttl", "3h"}};
  const auto refused_lease = call_as(kNobody, node, "POST", "/v1/leases", lease);
  EXPECT_EQ(refused_lease.first, 422);
  EXPECT_THAT(detail_of(refused_lease), HasSubstr("TTL 3h is above the maximum of 2h"));
  const json::object short_lease{{"profile", "1g.5gb"}, {"key", "s"}, {"ttl", "1h"}};
  const auto granted = call_as(kNobody, node, "POST", "/v1/leases", short_lease);
  const auto renewed = call_as(kNobody, node, "POST", cat("/v1/leases/", id_of(granted), "/renew"),
                               json::object{{"ttl", "3h"}});
  EXPECT_EQ(renewed.first, 422);
  EXPECT_THAT(detail_of(renewed), HasSubstr("TTL 3h is above the maximum of 2h"));
  const json::value status = call_as(kNobody, node, "GET", "/v1/status").second;
  EXPECT_EQ(status.at("time_limits"), (json::object{{"default", "1h"}, {"max", "2h"}}));
  // An admin has no maximum, but the default.
  EXPECT_EQ(limit_of(node.submit("1g.5gb", kForever, {{"time_limit", "3h"}})), "3h");
  EXPECT_EQ(limit_of(node.submit("1g.5gb", kForever)), "1h");
  node.await(plain, "running");
  EXPECT_THAT(node.tangram({"explain", std::to_string(plain)}),
              HasSubstr("It is stopped at its time limit, 1h after the start of its first run."));
}

// The users nobody and sync have the same primary group, nogroup.
constexpr uid_t kSync = 4;

TEST_F(Limits, OfGroupsApplyToAllMembersTogether) {
  Node node(
      {.emulate = "2xA100-40GB", .config = "[access.groups.nogroup]\nslices = 5\njobs = 3\n"});
  start(node);
  const auto submit_as = [&](uid_t uid, const std::string& profile) {
    json::object request = node.job_request(profile, kForever);
    request["directory"] = "/";
    return call_as(uid, node, "POST", "/v1/jobs", request);
  };
  const auto first = id_of(submit_as(kNobody, "3g.20gb"));
  const auto second = id_of(submit_as(kSync, "3g.20gb"));
  const auto third = id_of(submit_as(kSync, "2g.10gb"));
  node.await(first, "running");
  node.await(third, "running");
  EXPECT_EQ(node.state(second), "held");
  EXPECT_THAT(node.tangram({"explain", std::to_string(second)}),
              HasSubstr("group nogroup has 5 of 5 compute slices, and it needs 3"));
  const auto fourth = submit_as(kNobody, "1g.5gb");
  EXPECT_EQ(fourth.first, 429);
  EXPECT_THAT(detail_of(fourth), HasSubstr("job limit of group nogroup reached (3 of 3 active)"));
  node.kill();  // the next daemon does not know the group's members at once
  node.start();
  EXPECT_EQ(node.state(second), "held");
  node.call("POST", cat("/v1/jobs/", first, "/cancel"), 202);
  node.await(second, "running");
  const auto too_large = submit_as(kNobody, "7g.40gb");
  EXPECT_EQ(too_large.first, 422);
  EXPECT_THAT(detail_of(too_large), HasSubstr("the limit of group nogroup is 5"));
}

TEST_F(Limits, OfOneUserReplaceThoseOfItsGroup) {
  Node node({.emulate = "1xA100-40GB",
             .config = "[access]\nheld_jobs_per_user = 1\n"
                       "[access.groups.nogroup]\njobs_per_user = 1\nheld_jobs_per_user = 0\n"
                       "[access.users.nobody]\njobs = 3\nheld_jobs = 2\n"});
  start(node);
  json::object request = node.job_request("1g.5gb", kForever, {{"hold", true}});
  request["directory"] = "/";
  const auto submit_held = [&](uid_t uid) {
    return call_as(uid, node, "POST", "/v1/jobs", request);
  };
  EXPECT_GT(id_of(submit_held(kSync)), 0U);
  EXPECT_THAT(detail_of(submit_held(kSync)), HasSubstr("job limit reached (1 of 1 active)"));
  EXPECT_GT(id_of(submit_held(kNobody)), 0U);
  EXPECT_GT(id_of(submit_held(kNobody)), 0U);
  const auto third = submit_held(kNobody);
  EXPECT_EQ(third.first, 429);
  EXPECT_THAT(detail_of(third), HasSubstr("held job limit reached (2 of 2 held)"));
  const auto queued = id_of(submit(node, "7g.40gb", kForever));  // does not count as held
  node.await(queued, "running");
  const json::object use =
      call_as(kNobody, node, "GET", "/v1/status").second.at("user").as_object();
  EXPECT_EQ(use.at("jobs"), (json::object{{"used", 3}, {"limit", 3}}));
  EXPECT_EQ(use.at("held_jobs"), (json::object{{"used", 2}, {"limit", 2}}));
}

// Every user may ask how much of its limits it uses.
json::object use_of(const Node& node) {
  const auto status = call_as(kNobody, node, "GET", "/v1/status");
  EXPECT_EQ(status.first, 200) << status.second;
  return status.second.at("user").as_object();
}

TEST_F(Limits, ProtectTheNodeByDefault) {
  Node node({.emulate = "1xA100-40GB"});
  start(node);
  const json::object use = use_of(node);
  EXPECT_EQ(use.at("jobs"), (json::object{{"used", 0}, {"limit", 10'000}}));
  EXPECT_EQ(use.at("slices"), (json::object{{"used", 0}, {"limit", nullptr}}));
  EXPECT_EQ(use.at("request_bytes"), (json::object{{"used", 0}, {"limit", 64 << 20}}));
  EXPECT_EQ(use.at("log_bytes"), (json::object{{"used", 0}, {"limit", 16LL << 30}}));
  const json::value own = node.call("GET", "/v1/status");  // an admin has none
  for (const auto& [name, limit] : own.at("user").as_object()) {
    EXPECT_EQ(limit.at("limit"), nullptr) << name;
  }
}

TEST_F(Limits, HeldJobsCannotFillTheDiskWithTheirRequests) {
  Node node(
      {.emulate = "1xA100-40GB", .config = "[access]\nrequest_bytes_per_user = \"200KiB\"\n"});
  start(node);
  json::object request = node.job_request("7g.40gb", kForever, {{"hold", true}});
  request["directory"] = "/";
  request["environment"] = json::object{{"LARGE", std::string(90'000, 'x')}};
  const auto submit_large = [&] { return call_as(kNobody, node, "POST", "/v1/jobs", request); };
  const auto first = id_of(submit_large());
  const auto second = id_of(submit_large());
  auto third = submit_large();
  EXPECT_EQ(third.first, 429);
  EXPECT_THAT(std::string(third.second.at("detail").as_string()),
              HasSubstr("request size limit reached"));
  EXPECT_GT(use_of(node).at("request_bytes").at("used").to_number<int>(), 180'000);
  EXPECT_GT(node.submit("1g.5gb", "true", {{"environment", request["environment"]}}), 0U);
  // The requests of an earlier daemon count. They are never refused, even by a lower limit.
  node.kill();
  node.folder().write("tangram.toml", "[access]\nrequest_bytes_per_user = \"100KiB\"\n");
  node.start();
  EXPECT_EQ(submit_large().first, 429);
  EXPECT_EQ(node.state(first), "held");
  EXPECT_EQ(node.state(second), "held");
  for (const auto id : {first, second}) node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  eventually("cancelled jobs do not count", [&] { return submit_large().first == 201; });
  const json::value ended = node.job(first).at("request");  // what remains of it is small
  EXPECT_TRUE(ended.as_object().contains("command")) << ended;
  EXPECT_FALSE(ended.as_object().contains("environment")) << ended;
}

TEST_F(Limits, LogsOfTheOldestRunsAreTrimmed) {
  Node node({.emulate = "1xA100-40GB", .config = "[access]\nlog_bytes_per_user = \"250KiB\"\n"});
  start(node);
  const auto run = [&] {
    const auto id = id_of(submit(node, "1g.5gb", "head -c 100000 /dev/zero | tr '\\0' x"));
    node.await(id, "over");
    return id;
  };
  const auto used = [&] { return use_of(node).at("log_bytes").at("used").to_number<int>(); };
  const auto first = run();
  const auto second = run();
  eventually("logs are counted", [&] { return used() == 200'000; });
  node.kill();
  node.start();
  eventually("logs of an earlier daemon count", [&] { return used() == 200'000; });
  const auto third = run();
  eventually("the oldest logs are trimmed",
             [&] { return node.output(first).starts_with("[tangram: output was trimmed"); });
  EXPECT_EQ(node.output(second).size(), 100'000U);
  EXPECT_EQ(node.output(third).size(), 100'000U);
  EXPECT_EQ(used(), 200'000);
}

}  // namespace
}  // namespace tangram::tests
