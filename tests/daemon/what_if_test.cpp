// /v1/what-if against the submission it predicts: refusals, limits, the order of the queue. The
// same user makes both requests one after the other, and the results must agree.
#include <unistd.h>

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

std::string text(const json::value& object, std::string_view key) {
  const json::value& value = object.at(key);
  return value.is_null() ? "" : std::string(value.as_string());
}

std::string sentences(const json::value& explanation) {
  std::string all;
  const json::array& lines = explanation.at("text").as_array();
  for (const json::value& line : lines) all += cat(std::string_view(line.as_string()), "\n");
  return all;
}

class WhatIfForUser : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  }
  void start(const std::string& config, const std::string& emulate = "1xA100-40GB") {
    node_.emplace(NodeOptions{.emulate = emulate, .config = config});
    node_->start();
    allow_other_users(*node_);
  }
  json::value get(const std::string& target) {
    auto [status, answer] = call_as(kNobody, *node_, "GET", target);
    EXPECT_EQ(status, 200) << answer;
    return answer;
  }
  // Makes a prediction and then the submission, and compares them. Returns the job, or the problem
  // with which it was refused.
  json::value predict_and_submit(const std::string& profile) {
    const json::value predicted = get(cat("/v1/what-if?profile=", profile));
    json::object request = node_->job_request(profile, kForever);
    request["directory"] = "/";
    const auto [status, answer] = call_as(kNobody, *node_, "POST", "/v1/jobs", request);
    EXPECT_EQ(status == 201, predicted.at("refused").is_null()) << predicted << answer;
    if (status != 201) {
      EXPECT_EQ(text(predicted, "refused"), text(answer, "detail"));
      EXPECT_FALSE(predicted.at("starts_now").as_bool());
      EXPECT_THAT(sentences(predicted), HasSubstr("would be rejected"));
      return answer;
    }
    const auto id = answer.at("id").to_number<std::uint64_t>();
    const std::string state = node_->state(id);
    EXPECT_EQ(state == "held", !predicted.at("held").is_null()) << predicted << state;
    EXPECT_EQ(state == "held" || state == "queued", !predicted.at("starts_now").as_bool())
        << predicted;
    if (predicted.at("starts_now").as_bool()) node_->await(id, "running");
    return answer;
  }
  std::uint64_t submit(const std::string& profile) {
    return predict_and_submit(profile).at("id").to_number<std::uint64_t>();
  }
  json::value why(std::uint64_t id) { return get(cat("/v1/explain/", id)); }

  std::optional<Node> node_;
};

TEST_F(WhatIfForUser, IsRefusedWhereOnlyAdminsSubmit) {
  start("[access]\nsubmit = \"admins\"\n");
  EXPECT_EQ(predict_and_submit("1g.5gb").at("status"), 403);
  EXPECT_TRUE(node_->call("GET", "/v1/what-if?profile=1g.5gb").at("refused").is_null());
}

TEST_F(WhatIfForUser, IsRefusedBeyondTheJobLimitAndTheSliceLimit) {
  start("[access]\njobs_per_user = 2\nslices_per_user = 3\n");
  EXPECT_EQ(predict_and_submit("4g.20gb").at("status"), 422);
  submit("1g.5gb");
  submit("1g.5gb");
  EXPECT_EQ(predict_and_submit("1g.5gb").at("status"), 429);
}

TEST_F(WhatIfForUser, IsRefusedAboveTheSubmissionRate) {
  start("[access]\nsubmissions_per_second = 1\n");
  json::object request = node_->job_request("7g.40gb", kForever);
  request["directory"] = "/";
  const auto refused = [&] { return !get("/v1/what-if?profile=7g.40gb").at("refused").is_null(); };
  EXPECT_FALSE(refused());
  eventually("the rate limit is exceeded", [&] {
    return call_as(kNobody, *node_, "POST", "/v1/jobs", request).first == 429 && refused();
  });
  eventually("submissions are allowed again", [&] { return !refused(); });  // not counted itself
}

// The explanation has the figures of the limit, names only the user's own jobs as departures, and
// jobs held earlier start first.
TEST_F(WhatIfForUser, IsHeldBeyondTheSliceLimit) {
  start("[access]\nslices_per_user = 4\n", "2xA100-40GB");
  node_->await(node_->submit("1g.5gb", kForever), "running");  // of another user: no help
  const auto large = submit("3g.20gb");
  const auto held = submit("2g.10gb");
  const json::value first = why(held);
  EXPECT_EQ(first.at("limit"),
            (json::object{
                {"has", 3}, {"most", 4}, {"needs", 2}, {"behind", nullptr}, {"group", nullptr}}));
  EXPECT_EQ(first.at("departures"), json::array{large});
  EXPECT_TRUE(first.at("rooms").as_array().empty());
  EXPECT_THAT(sentences(first), HasSubstr("has 3 of 4 compute slices, and it needs 2"));
  const auto behind = submit("2g.10gb");
  const json::value second = why(behind);
  EXPECT_EQ(second.at("limit").at("behind"), held) << second;
  EXPECT_TRUE(second.at("departures").as_array().empty());
  EXPECT_THAT(sentences(second), HasSubstr(cat("`tangram explain ", held, "`")));
  node_->call("POST", cat("/v1/jobs/", large, "/cancel"), 202);
  node_->await(held, "running");
}

// largest-memory: a larger job is ahead of waiting ones, and starts if it has room.
TEST_F(WhatIfForUser, FollowsTheOrderOfTheQueue) {
  start("[scheduler]\nqueue = \"largest-memory\"\n", "1xA100-40GB,1xA30-24GB");
  submit("4g.24gb");
  submit("4g.24gb");  // waits
  const json::value large = get("/v1/what-if?profile=7g.40gb");
  EXPECT_EQ(large.at("ahead"), 0) << large;
  EXPECT_TRUE(large.at("starts_now").as_bool());
  const json::value small = get("/v1/what-if?profile=1g.5gb");
  EXPECT_EQ(small.at("ahead"), 1) << small;
  submit("1g.5gb");
  submit("7g.40gb");
}

TEST(WhatIf, IsHeldWhereNoGpuInServiceHasItsProfile) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  node.call("POST", "/v1/gpus/0/cordon", 202);
  const json::value predicted = node.call("GET", "/v1/what-if?profile=1g.5gb");
  EXPECT_THAT(text(predicted, "held"), HasSubstr("no GPU in service"));
  EXPECT_THAT(node.tangram({"what-if", "-p", "1g.5gb"}), HasSubstr("would be held"));
  const auto id = node.submit("1g.5gb", "true");
  EXPECT_EQ(node.state(id), "held");
  EXPECT_THAT(sentences(node.call("GET", cat("/v1/explain/", id))),
              HasSubstr("GPU 0: cordoned; `tangram uncordon 0` returns it to service."));
  node.tangram({"uncordon", "0"});
  node.await(id, "over");
}

// A profile that fits does not start while another job is ahead in the queue.
TEST(WhatIf, StatusCountsWhatFitsAndWhatStarts) {
  Node node({.emulate = "1xA100-40GB", .config = "[scheduler]\nqueue = \"fcfs\"\n"});
  node.start();
  const auto figures = [&](const std::string& name) {
    const json::value status = node.call("GET", "/v1/status");
    for (const json::value& each : status.at("profiles").as_array()) {
      if (text(each, "name") == name) {
        return std::pair(each.at("fits_now").to_number<int>(),
                         each.at("starts_now").to_number<int>());
      }
    }
    return std::pair(-1, -1);
  };
  EXPECT_EQ(figures("1g.5gb"), std::pair(7, 7));
  node.await(node.submit("3g.20gb", kForever), "running");
  EXPECT_EQ(figures("1g.5gb"), std::pair(4, 4));
  node.submit("7g.40gb", kForever);
  EXPECT_EQ(figures("1g.5gb"), std::pair(4, 0));
}

}  // namespace
}  // namespace tangram::tests
