// The moves that an explanation names, made through the API of the real daemon: after them the
// waiting job starts; users who may not request them are told so; and a moved job's explanation
// gives the reason of its move.
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

std::string sentences(const json::value& explanation) {
  std::string all;
  const json::array& lines = explanation.at("text").as_array();
  for (const json::value& line : lines) all += cat(std::string_view(line.as_string()), "\n");
  return all;
}

// §IV-D: a 1g at 0 and a 2g at 4 leave no placement for a 4g.
class ExplainedMoves : public ::testing::Test {
 protected:
  ExplainedMoves()
      : node_({.emulate = "1xA100-40GB", .config = "[scheduler]\nmigration = \"off\"\n"}) {
    node_.start();
    running("2g.10gb");
    one_ = running("1g.5gb");
    move(one_, 0, 0);
    waiting_ = node_.submit("4g.20gb", "exec sleep 1000");
    EXPECT_EQ(node_.state(waiting_), "queued");
  }

  std::uint64_t running(const std::string& profile) {
    const std::uint64_t id = node_.submit(profile, "exec sleep 1000",
                                          {{"kind", "service"},
                                           {"probe", {{"kind", "command"}, {"command", {"true"}}}},
                                           {"endpoint", {{"mode", "none"}}},
                                           {"move", {{"way", "replica"}}}});
    node_.await(id, "running");
    return id;
  }
  void move(std::uint64_t job, int gpu, int start, int status = 202) {
    node_.call("POST", cat("/v1/jobs/", job, "/move"), status,
               json::object{{"to", {{"gpu", gpu}, {"start", start}}}});
    eventually("the move has ended", [&] { return !node_.job(job).at("moving").as_bool(); });
  }
  json::value explained() { return node_.call("GET", cat("/v1/explain/", waiting_)); }

  Node node_;
  std::uint64_t one_ = 0;
  std::uint64_t waiting_ = 0;
};

TEST_F(ExplainedMoves, MakeTheRoomThatIsPredicted) {
  const json::value why = explained();
  ASSERT_FALSE(why.at("rooms").as_array().empty()) << why;
  const json::value option = why.at("rooms").at(0);
  for (const json::value& each : option.at("moves").as_array()) {
    move(each.at("job").to_number<std::uint64_t>(), each.at("to_gpu").to_number<int>(),
         each.at("to_start").to_number<int>());
  }
  const json::object job = node_.await(waiting_, "running");
  EXPECT_EQ(job.at("gpu"), option.at("gpu"));
  EXPECT_EQ(job.at("start"), option.at("start"));
}

TEST_F(ExplainedMoves, NameTheirRestraints) {
  const auto first = [&](const json::value& why) {
    return why.at("rooms").at(0).at("moves").at(0);
  };
  const auto restraints = [&] {
    std::vector<std::string> names;
    const json::value move = first(explained());
    for (const json::value& each : move.at("restrained_by").as_array()) {
      names.emplace_back(each.at("by").as_string());
    }
    return names;
  };
  using Names = std::vector<std::string>;
  // An admin is not bound by the scheduler's restraints; the command in the explanation works.
  EXPECT_EQ(restraints(), (Names{"migration", "cooldown"}));
  EXPECT_TRUE(first(explained()).at("may").as_bool());
  EXPECT_THAT(sentences(explained()), HasSubstr(cat("`tangram move ", one_, " --to 0:6`")));
  EXPECT_FALSE(first(explained()).at("restrained_by").at(1).at("until").is_null());
  // The maximum of concurrent moves applies to admins too.
  node_.call("PATCH", "/v1/tuning", 200, json::object{{"most_moves", 0}});
  EXPECT_EQ(restraints(), (Names{"most_moves", "migration", "cooldown"}));
  EXPECT_FALSE(first(explained()).at("may").as_bool());
  EXPECT_THAT(sentences(explained()), HasSubstr("It cannot be requested now"));
  EXPECT_EQ(first(node_.call("GET", "/v1/what-if?profile=4g.20gb")).at("may"), false);
  move(one_, 0, 6, 409);
  node_.call("PATCH", "/v1/tuning", 200, json::object{{"most_moves", 4}});
  node_.tangram({"move", std::to_string(one_), "--to", "0:6"});
  node_.await(waiting_, "running");
}

TEST_F(ExplainedMoves, AreOfferedOnlyToUsersWhoMayRequestThem) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as two users";
  allow_other_users(node_);
  const auto target = cat("/v1/explain/", waiting_);
  const auto as_nobody = [&] { return call_as(kNobody, node_, "GET", target).second; };
  EXPECT_THAT(sentences(as_nobody()), HasSubstr("Only an admin may request it now: moves are"));
  const json::value move = as_nobody().at("rooms").at(0).at("moves").at(0);
  EXPECT_FALSE(move.at("may").as_bool());
  EXPECT_EQ(move.at("user"), "root");
  EXPECT_THAT(sentences(as_nobody()), testing::Not(HasSubstr("`tangram move")));
}

// The job is not where it was placed: it was moved by request, and then by the scheduler.
TEST_F(ExplainedMoves, AreGivenForAMovedJob) {
  const auto explanation = [&] { return node_.call("GET", cat("/v1/explain/", one_)); };
  EXPECT_THAT(sentences(explanation()), HasSubstr("It was moved since then on "));
  EXPECT_THAT(sentences(explanation()), HasSubstr("requested by a user"));
  EXPECT_EQ(explanation().at("moves").at(0).at("kind"), "asked");
  node_.call("PATCH", "/v1/tuning", 200, json::object{{"cooldown", "0s"}});
  for (const std::uint64_t id : {waiting_, one_}) {
    node_.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
    node_.await(id, "over");
  }
  one_ = running("1g.5gb");  // a job without a cooldown
  move(one_, 0, 0);
  const std::uint64_t departing = running("1g.5gb");
  node_.call("PATCH", "/v1/tuning", 200, json::object{{"migration", "both"}});
  const json::object before = node_.job(one_);
  node_.call("POST", cat("/v1/jobs/", departing, "/cancel"), 202);
  eventually("the scheduler has moved it", [&] {
    const json::object now = node_.job(one_);
    return now.at("start") != before.at("start") && !now.at("moving").as_bool();
  });
  const json::value last = explanation().at("moves").as_array().back();
  EXPECT_EQ(last.at("kind"), "intra-GPU") << last;
  EXPECT_EQ(last.at("to_start"), node_.job(one_).at("start"));
  EXPECT_GE(last.at("weighed").to_number<int>(), 1) << sentences(explanation());
  EXPECT_LT(last.at("frag_after").to_number<double>(), last.at("frag_before").to_number<double>());
  EXPECT_THAT(sentences(explanation()), HasSubstr("It was moved since then, 2 times, last on "));
  EXPECT_THAT(sentences(explanation()), HasSubstr("It was the best of "));
}

}  // namespace
}  // namespace tangram::tests
