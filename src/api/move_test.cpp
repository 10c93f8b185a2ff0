// Moves and defragmentation plans on the wire: round trips and error messages.
#include "api/move.hpp"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::api {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

TEST(MoveRequestJson, NamesASlotOrNone) {
  EXPECT_EQ(read_move_request(json::parse("{}")), MoveRequest{});
  EXPECT_EQ(read_move_request(json::parse(R"({"to": null})")), MoveRequest{});
  const auto named = read_move_request(json::parse(R"({"to": {"gpu": 1, "start": 4}})"));
  ASSERT_TRUE(named.has_value()) << named.error().message;
  EXPECT_EQ(named->to, (SlotView{1, 4}));
  for (const MoveRequest& each : {MoveRequest{}, *named}) {
    EXPECT_EQ(read_move_request(to_json(each)), each);
  }
}

TEST(MoveRequestJson, ReportsErrors) {
  const auto wrong = [](std::string_view text) {
    const auto read = read_move_request(json::parse({text.data(), text.size()}));
    return read ? std::string("nothing") : read.error().message;
  };
  EXPECT_THAT(wrong("[]"), HasSubstr("a move must be an object"));
  EXPECT_THAT(wrong(R"({"where": {}})"), HasSubstr("where"));
  EXPECT_THAT(wrong(R"({"to": "1:4"})"), HasSubstr("to: a slot must be an object, not '1:4'"));
  EXPECT_THAT(wrong(R"({"to": {}})"), HasSubstr("to.gpu: is missing"));
  EXPECT_THAT(wrong(R"({"to": {"gpu": 1}})"), HasSubstr("to.start: is missing"));
  EXPECT_THAT(wrong(R"({"to": {"gpu": 1, "strat": 4}})"), HasSubstr("did you mean 'start'"));
  EXPECT_THAT(wrong(R"({"to": {"gpu": -1, "start": 4}})"), HasSubstr("to.gpu: must be"));
  EXPECT_THAT(wrong(R"({"to": {"gpu": 1, "start": 256}})"), HasSubstr("to.start: must be"));
  EXPECT_THAT(wrong(R"({"to": {"gpu": 1, "start": 0.5}})"), HasSubstr("to.start: must be"));
}

TEST(DefragPlanJson, ComesBackTheSame) {
  DefragPlan plan{.frag_cost_before = 0.5, .frag_cost_after = 1.0 / 3, .steps = {}};
  EXPECT_EQ(read_defrag_plan(to_json(plan)), plan);
  plan.steps.push_back({.job = 17,
                        .name = "serve",
                        .user = "ann",
                        .profile = "1g.5gb",
                        .from = {0, 2},
                        .to = {1, 6},
                        .reuse = true,
                        .kind = "inter",
                        .gain = 0.125});
  plan.steps.emplace_back().job = 18;
  const json::value document = to_json(plan);
  const auto read = read_defrag_plan(document);
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(*read, plan);
  EXPECT_EQ(document.at("steps").at(0).at("to").at("start"), 6);
  EXPECT_TRUE(document.at("steps").at(1).at("name").is_null());
}

// A newer daemon may send more keys; a missing key is an error.
TEST(DefragPlanJson, IsReadWithUnknownKeys) {
  json::value document = json::parse(
      R"({"new": 1, "steps": [{"job": 1, "newer": 2, "from": {"gpu": 0, "start": 0, "x": 1},
          "to": {"gpu": 0, "start": 1}}]})");
  EXPECT_TRUE(read_defrag_plan(document).has_value());
  document.at("steps").at(0).as_object().erase("to");
  EXPECT_THAT(read_defrag_plan(document).error().message, HasSubstr("steps[0].to: is missing"));
  EXPECT_THAT(read_defrag_plan(json::object{}).error().message, HasSubstr("steps: is missing"));
}

}  // namespace
}  // namespace tangram::api
