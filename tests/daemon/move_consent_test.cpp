// Services are moved only with consent: of the submission, or of the operator for the node. What
// was decided at the submission stays.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "store/store.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kNoOwnMoves = "[scheduler]\nmigration = \"off\"\ncooldown = \"0s\"\n";
constexpr const char* kForever = "exec sleep 1000";

json::object service(const json::object& more = {}) {
  json::object request{{"kind", "service"},
                       {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                       {"endpoint", {{"mode", "none"}}}};
  for (const auto& each : more) request[each.key()] = each.value();
  return request;
}

class MoveConsent : public ::testing::Test {
 protected:
  MoveConsent() : node_({.emulate = "1xA100-40GB", .config = kNoOwnMoves}) { node_.start(); }

  // Submits the job and expects what is decided.
  std::uint64_t submit(const json::object& more, const char* decision,
                       const std::string& profile = "1g.5gb") {
    const json::value answer =
        node_.call("POST", "/v1/jobs", 201, node_.job_request(profile, kForever, more));
    EXPECT_EQ(answer.at("move"), decision) << answer;
    const auto id = answer.at("id").to_number<std::uint64_t>();
    EXPECT_EQ(node_.job(id).at("request").at("move").at("way"), decision);
    node_.await(id, "running");
    return id;
  }
  // Whether the job can be moved to slice `start`.
  bool moves(std::uint64_t id, int start) {
    const auto answer = node_.try_call("POST", cat("/v1/jobs/", id, "/move"),
                                       json::object{{"to", {{"gpu", 0}, {"start", start}}}});
    if (!answer) return false;
    eventually("no move is under way", [&] { return node_.job(id).at("moving") == false; });
    return node_.job(id).at("start") == start;
  }
  void configure(const std::string& jobs) {
    node_.folder().write("tangram.toml", cat(kNoOwnMoves, "[jobs]\n", jobs, "\n"));
  }

  Node node_;
};

// A notebook with a probe would lose its kernels.
TEST_F(MoveConsent, AServiceThatSaysNothingStays) {
  const std::uint64_t silent = submit(service(), "never");
  EXPECT_FALSE(moves(silent, 0));
  node_.tangram({"drain", "0", "--no-wait"});
  EXPECT_FALSE(node_.job(silent).at("moving").as_bool());
  EXPECT_THAT(node_.tangram({"show", std::to_string(silent)}), HasSubstr("never"));
}

TEST_F(MoveConsent, IsGivenAtTheSubmission) {
  EXPECT_TRUE(moves(submit(service({{"move", {{"way", "replica"}}}}), "replica"), 0));
  submit(service({{"move", {{"way", "never"}}}}), "never");
  submit({}, "never");
  submit({{"move", {{"way", "checkpoint"}}}}, "checkpoint");
}

TEST_F(MoveConsent, OfTheOperatorIsForLaterSubmissions) {
  const std::uint64_t before = submit(service(), "never");
  configure("move_services = \"replica\"");
  node_.reload();
  eventually("the configuration is read",
             [&] { return node_.log().find("configuration reloaded") != std::string::npos; });
  const std::uint64_t after = submit(service(), "replica");
  submit(service({{"probe", {{"kind", "none"}}}}), "never");  // readiness is not known
  submit(service({{"move", {{"way", "never"}}}}), "never");
  submit({}, "never");
  EXPECT_FALSE(moves(before, 0));
  configure("move_services = \"never\"");
  node_.kill();
  node_.start();
  EXPECT_TRUE(moves(after, 0));  // it keeps what was decided
}

TEST_F(MoveConsent, ARepeatedSubmissionHasTheSameAnswer) {
  const std::vector<std::string> words = {"submit",  "-p",           "1g.5gb",     "--service",
                                          "--probe", "command:true", "--endpoint", "none",
                                          "sleep",   "1000"};
  EXPECT_THAT(node_.tangram(words), HasSubstr("is never moved while it runs; --move replica"));
  std::vector<std::string> stateless = words;
  stateless.insert(stateless.begin() + 3, "--stateless");
  EXPECT_THAT(node_.tangram(stateless), HasSubstr("may be moved while it runs: a replica"));
  EXPECT_EQ(node_.tangram({"submit", "-p", "1g.5gb", "true"}), "job 3 submitted\n");
  stateless.insert(stateless.begin() + 1, "--json");
  EXPECT_EQ(json::parse(node_.tangram(stateless)), (json::value{{"id", 4}, {"move", "replica"}}));
}

// A version that moved services with a probe unless they said otherwise stored no decision.
TEST_F(MoveConsent, JobsOfAnEarlierVersionKeepWhatTheyHad) {
  const std::uint64_t id = submit(service({{"move", {{"way", "replica"}}}}), "replica");
  node_.stop();
  {
    auto store = store::Store::open(node_.state_dir() + "/tangram.db", {});
    ASSERT_TRUE(store) << store.error().message;
    auto row = (*store)->job(id);
    ASSERT_TRUE(row && *row);
    json::value request = json::parse((*row)->request);
    request.as_object().erase("move");
    (*row)->request = json::serialize(request);
    store::Changes changes;
    changes.scheduler.rest = (*store)->scheduler()->rest;
    changes.jobs = {**row};
    ASSERT_TRUE((*store)->commit(changes));
  }
  node_.start();
  EXPECT_FALSE(node_.job(id).at("request").as_object().contains("move"));
  EXPECT_THAT(node_.tangram({"show", std::to_string(id)}), HasSubstr("by replica"));
  EXPECT_TRUE(moves(id, 0));
}

// A 1g in the left half and a 2g at 4 leave no room for a 4g, and slice 6 is free.
TEST_F(MoveConsent, ExplainNamesWhoCouldMoveIfTheyAllowedIt) {
  submit(service(), "never", "2g.10gb");
  const std::uint64_t right = submit(service(), "never");
  const std::uint64_t left = submit(service(), "never");
  ASSERT_LT(node_.job(left).at("start").to_number<int>(), 4);
  node_.call("POST", cat("/v1/jobs/", right, "/cancel"), 202);
  node_.await(right, "over");
  const auto waiting = node_.submit("4g.20gb", "true");
  const json::value why = node_.call("GET", cat("/v1/explain/", waiting));
  EXPECT_TRUE(why.at("rooms").as_array().empty()) << why;
  EXPECT_EQ(why.at("could_move").as_array(), json::array{left}) << why;
  EXPECT_THAT(node_.tangram({"explain", std::to_string(waiting)}),
              AllOf(HasSubstr(cat("Job ", left, " could make room by moving")),
                    HasSubstr("--move replica")));
  const json::value what_if = node_.call("GET", "/v1/what-if?profile=4g.20gb");
  EXPECT_EQ(what_if.at("could_move").as_array(), json::array{left});
}

}  // namespace
}  // namespace tangram::tests
