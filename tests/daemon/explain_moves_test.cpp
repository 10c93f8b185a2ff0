// What an explanation says would make room, done as it says, at the real daemon's door: the named
// moves are asked for one by one, and the job that waited runs.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

// §IV-D: a 1g at 0 beside a 2g at 4 leaves no place for a 4g.
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
    node_.ask("POST", cat("/v1/jobs/", job, "/move"), status,
              json::object{{"to", {{"gpu", gpu}, {"start", start}}}});
    eventually("it has moved", [&] { return !node_.job(job).at("moving").as_bool(); });
  }
  json::value explained() { return node_.ask("GET", cat("/v1/explain/", waiting_)); }

  Node node_;
  std::uint64_t one_ = 0;
  std::uint64_t waiting_ = 0;
};

TEST_F(ExplainedMoves, MakeTheRoomTheyAreSaidToMake) {
  const json::value why = explained();
  ASSERT_FALSE(why.at("rooms").as_array().empty()) << why;
  const json::value room = why.at("rooms").at(0);
  for (const json::value& each : room.at("moves").as_array()) {
    move(each.at("job").to_number<std::uint64_t>(), each.at("to_gpu").to_number<int>(),
         each.at("to_start").to_number<int>());
  }
  const json::object job = node_.await(waiting_, "running");
  EXPECT_EQ(job.at("gpu"), room.at("gpu"));
  EXPECT_EQ(job.at("start"), room.at("start"));
}

TEST_F(ExplainedMoves, AreNotNamedWhereTheyWouldBeRefused) {
  node_.ask("PATCH", "/v1/tuning", 200, json::object{{"most_moves", 0}});
  EXPECT_TRUE(explained().at("rooms").as_array().empty());
  EXPECT_FALSE(explained().at("departures").as_array().empty());
  EXPECT_TRUE(node_.ask("GET", "/v1/what-if?profile=4g.20gb").at("rooms").as_array().empty());
  move(one_, 0, 6, 409);
  node_.ask("PATCH", "/v1/tuning", 200, json::object{{"most_moves", 4}});
  EXPECT_FALSE(explained().at("rooms").as_array().empty());
}

}  // namespace
}  // namespace tangram::tests
