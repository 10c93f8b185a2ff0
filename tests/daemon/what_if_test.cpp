// What is said of a job before it is there, held against what its submission is then answered: who
// may not, who has too much, who comes first. One rule: the question and the submission are asked
// one after the other by the same user, and must agree.
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "others.hpp"

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

class WhatIfOfAUser : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  }
  void begin(const std::string& config, const std::string& emulate = "1xA100-40GB") {
    node_.emplace(NodeOptions{.emulate = emulate, .config = config});
    node_->start();
    let_others_in(*node_);
  }
  json::value ask(const std::string& target) {
    auto [status, answer] = ask_as(kNobody, *node_, "GET", target);
    EXPECT_EQ(status, 200) << answer;
    return answer;
  }
  // The question, then the submission: they agree. Gives the job, or what it was refused with.
  json::value try_it(const std::string& profile) {
    const json::value said = ask(cat("/v1/what-if?profile=", profile));
    json::object request = node_->request(profile, kForever);
    request["directory"] = "/";
    const auto [status, answer] = ask_as(kNobody, *node_, "POST", "/v1/jobs", request);
    EXPECT_EQ(status == 201, said.at("refused").is_null()) << said << answer;
    if (status != 201) {
      EXPECT_EQ(text(said, "refused"), text(answer, "detail"));
      EXPECT_FALSE(said.at("starts_now").as_bool());
      EXPECT_THAT(sentences(said), HasSubstr("would be refused"));
      return answer;
    }
    const auto id = answer.at("id").to_number<std::uint64_t>();
    const std::string state = node_->state(id);
    EXPECT_EQ(state == "held", !said.at("held").is_null()) << said << state;
    EXPECT_EQ(state == "held" || state == "queued", !said.at("starts_now").as_bool()) << said;
    if (said.at("starts_now").as_bool()) node_->await(id, "running");
    return answer;
  }
  std::uint64_t submit(const std::string& profile) {
    return try_it(profile).at("id").to_number<std::uint64_t>();
  }
  json::value why(std::uint64_t id) { return ask(cat("/v1/explain/", id)); }

  std::optional<Node> node_;
};

TEST_F(WhatIfOfAUser, IsRefusedWhereOnlyAdminsSubmit) {
  begin("[access]\nsubmit = \"admins\"\n");
  EXPECT_EQ(try_it("1g.5gb").at("status"), 403);
  EXPECT_TRUE(node_->ask("GET", "/v1/what-if?profile=1g.5gb").at("refused").is_null());
}

TEST_F(WhatIfOfAUser, IsRefusedBeyondHisJobsAndWhatHeCanNeverHave) {
  begin("[access]\njobs_per_user = 2\nslices_per_user = 3\n");
  EXPECT_EQ(try_it("4g.20gb").at("status"), 422);
  submit("1g.5gb");
  submit("1g.5gb");
  EXPECT_EQ(try_it("1g.5gb").at("status"), 429);
}

TEST_F(WhatIfOfAUser, IsRefusedWhenHeComesTooFast) {
  begin("[access]\nsubmissions_per_second = 1\n");
  json::object request = node_->request("7g.40gb", kForever);
  request["directory"] = "/";
  const auto refused = [&] { return !ask("/v1/what-if?profile=7g.40gb").at("refused").is_null(); };
  EXPECT_FALSE(refused());
  eventually("it is too fast", [&] {
    return ask_as(kNobody, *node_, "POST", "/v1/jobs", request).first == 429 && refused();
  });
  eventually("it is calm again", [&] { return !refused(); });  // to ask is no submission
}

// Figures, his own jobs as what would help, and who was held before comes first.
TEST_F(WhatIfOfAUser, IsHeldBeyondHisSlices) {
  begin("[access]\nslices_per_user = 4\n", "2xA100-40GB");
  node_->await(node_->submit("1g.5gb", kForever), "running");  // another's: no help
  const auto large = submit("3g.20gb");
  const auto held = submit("2g.10gb");
  const json::value first = why(held);
  EXPECT_EQ(first.at("limit"),
            (json::object{{"has", 3}, {"most", 4}, {"needs", 2}, {"behind", nullptr}}));
  EXPECT_EQ(first.at("departures"), json::array{large});
  EXPECT_TRUE(first.at("rooms").as_array().empty());
  EXPECT_THAT(sentences(first), HasSubstr("has 3 of 4 compute slices, and it needs 2"));
  const auto behind = submit("2g.10gb");
  const json::value second = why(behind);
  EXPECT_EQ(second.at("limit").at("behind"), held) << second;
  EXPECT_TRUE(second.at("departures").as_array().empty());
  EXPECT_THAT(sentences(second), HasSubstr(cat("`tangram explain ", held, "`")));
  node_->ask("POST", cat("/v1/jobs/", large, "/cancel"), 202);
  node_->await(held, "running");
}

// largest-memory: a larger one comes before those that wait, and starts if it has a place.
TEST_F(WhatIfOfAUser, ComesWhereTheOrderOfTheQueuePutsIt) {
  begin("[scheduler]\nqueue = \"largest-memory\"\n", "1xA100-40GB,1xA30-24GB");
  submit("4g.24gb");
  submit("4g.24gb");  // waits
  const json::value large = ask("/v1/what-if?profile=7g.40gb");
  EXPECT_EQ(large.at("ahead"), 0) << large;
  EXPECT_TRUE(large.at("starts_now").as_bool());
  const json::value small = ask("/v1/what-if?profile=1g.5gb");
  EXPECT_EQ(small.at("ahead"), 1) << small;
  submit("1g.5gb");
  submit("7g.40gb");
}

TEST(WhatIf, IsHeldWhereNoGpuInServiceHasItsProfile) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  node.ask("POST", "/v1/gpus/0/cordon", 202);
  const json::value said = node.ask("GET", "/v1/what-if?profile=1g.5gb");
  EXPECT_THAT(text(said, "held"), HasSubstr("no GPU in service"));
  EXPECT_THAT(node.tangram({"what-if", "-p", "1g.5gb"}), HasSubstr("would be held"));
  const auto id = node.submit("1g.5gb", "true");
  EXPECT_EQ(node.state(id), "held");
  EXPECT_THAT(sentences(node.ask("GET", cat("/v1/explain/", id))),
              HasSubstr("GPU 0: cordoned; `tangram uncordon 0` puts it back."));
  node.tangram({"uncordon", "0"});
  node.await(id, "over");
}

// A profile that fits does not start while another waits that comes first.
TEST(WhatIf, StatusSaysWhatFitsAndWhatStarts) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto figures = [&](const std::string& name) {
    const json::value status = node.ask("GET", "/v1/status");
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
