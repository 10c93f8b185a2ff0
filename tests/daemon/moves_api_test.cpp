// Requested moves, through the API and the CLI of the real daemon: where a job may move, how a move
// is followed, what a failed move leaves behind, and defragmentation plans. The scheduler makes no
// moves of its own here.
#include <algorithm>
#include <csignal>
#include <pwd.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "background_process.hpp"
#include "base/text.hpp"
#include "http/client/client.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

constexpr const char* kForever = "exec sleep 1000";
constexpr const char* kNoOwnMoves = "[scheduler]\nmigration = \"off\"\n";

json::object to(int gpu, int start) { return {{"to", {{"gpu", gpu}, {"start", start}}}}; }

std::string text(const json::value& value, const char* key) {
  const json::value* found = value.is_object() ? value.get_object().if_contains(key) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

class Moves : public ::testing::Test {
 protected:
  Moves() : node_({.emulate = "1xA100-40GB", .config = kNoOwnMoves}) { node_.start(); }

  // A movable service. If `slow`, it is ready once the file ready.START exists.
  std::uint64_t serve(const std::string& profile, const std::string& script = kForever,
                      bool slow = false) {
    const std::string ready = slow ? cat("test -e ", node_.at("ready"), ".$TANGRAM_START") : "true";
    const json::object probe{
        {"kind", "command"}, {"command", {"/bin/sh", "-c", ready}}, {"interval", "50ms"}};
    return node_.submit(profile, script,
                        {{"kind", "service"},
                         {"name", "serve"},
                         {"probe", probe},
                         {"endpoint", {{"mode", "none"}}},
                         {"move", {{"way", "replica"}}}});
  }
  std::uint64_t running(const std::string& profile, const std::string& script = kForever) {
    const std::uint64_t id = serve(profile, script);
    node_.await(id, "running");
    return id;
  }
  // E.g. "0@6" or "0@6 moving".
  std::string slot(std::uint64_t id) {
    const json::object job = node_.job(id);
    return cat(job.at("gpu").to_number<int>(), '@', job.at("start").to_number<int>(),
               job.at("moving").as_bool() ? " moving" : "");
  }
  void make_ready(int start) { node_.folder().write(cat("ready.", start), ""); }
  std::string move_problem(std::uint64_t id, int status, const json::value& body) {
    return text(node_.call("POST", cat("/v1/jobs/", id, "/move"), status, body), "detail");
  }
  std::string ok(const std::vector<std::string>& words) { return node_.tangram(words); }
  std::string refused(const std::vector<std::string>& words, int expected) {
    int code = 0;
    std::string output = node_.tangram(words, &code);
    EXPECT_EQ(code, expected) << output;
    EXPECT_THAT(output, StartsWith("tangram: "));
    EXPECT_EQ(std::ranges::count(output, '\n'), 1) << output;
    return output;
  }
  std::unique_ptr<BackgroundProcess> start(std::vector<std::string> words) {
    words.insert(words.begin(), TANGRAM_BINARY);
    return std::make_unique<BackgroundProcess>(
        words, std::vector<std::string>{cat("TANGRAM_SOCKET=", node_.socket())});
  }
  // The event types of a job's moves.
  std::vector<std::string> move_events(std::uint64_t id) {
    std::vector<std::string> kinds;
    std::istringstream lines(
        ok({"events", "--job", std::to_string(id), "--kind", "move", "--json"}));
    for (std::string line; std::getline(lines, line);) {
      kinds.push_back(text(json::parse(line), "kind"));
    }
    return kinds;
  }
  // §IV-D: a 1g at 0 and a 2g at 4, which leave no placement for a 4g. Returns the 1g's job.
  std::uint64_t run_papers_example(const std::string& script = kForever) {
    const std::uint64_t two = running("2g.10gb");
    EXPECT_EQ(slot(two), "0@4");
    const std::uint64_t one = running("1g.5gb", script);
    ok({"move", std::to_string(one), "--to", "0:0"});
    EXPECT_EQ(slot(one), "0@0");
    return one;
  }

  Node node_;
};

TEST_F(Moves, GoToTheRequestedSlot) {
  const auto id = running("1g.5gb");
  ASSERT_EQ(slot(id), "0@6");
  const json::object before = node_.job(id);
  EXPECT_THAT(ok({"move", std::to_string(id), "--to", "0:0"}),
              MatchesRegex(cat("job ", id, " moved from 0@6 to 0@0 in [0-9]+\\.[0-9]s\n")));
  EXPECT_EQ(slot(id), "0@0");
  const json::object after = node_.job(id);
  EXPECT_EQ(after.at("state"), "running");
  EXPECT_NE(after.at("pid"), before.at("pid"));
  EXPECT_NE(after.at("uuid"), before.at("uuid"));
  EXPECT_EQ(node_.run_processes().size(), 1U);  // the original is gone
  EXPECT_EQ(move_events(id),
            (std::vector<std::string>{"move.asked", "move.begun", "move.switched", "move.done"}));
  EXPECT_THAT(ok({"events", "--job", std::to_string(id), "--kind", "move.asked"}),
              HasSubstr(cat("is to be moved to 0:0, by ")));
}

TEST_F(Moves, GoWhereThePolicyWouldPlaceIt) {
  const auto id = running("2g.10gb");
  const std::string before = slot(id);
  const json::value job = json::parse(ok({"move", std::to_string(id), "--json"}));
  EXPECT_EQ(job.at("id"), id);
  EXPECT_FALSE(job.at("moving").as_bool());
  EXPECT_NE(slot(id), before);
  const json::value gpus = node_.call("GET", "/v1/gpus");
  const std::string uuid(gpus.at(0).at("uuid").as_string());
  EXPECT_THAT(ok({"move", std::to_string(id), "--to", cat(uuid, ":4")}), HasSubstr(" to 0@4 in "));
}

TEST_F(Moves, AreShownAndContinueWithNoWait) {
  make_ready(6);
  const auto id = serve("1g.5gb", kForever, true);
  node_.await(id, "running");
  EXPECT_EQ(ok({"move", std::to_string(id), "--to", "0:0", "--no-wait"}),
            cat("job ", id, " is moving\n"));
  EXPECT_EQ(slot(id), "0@6 moving");
  EXPECT_THAT(ok({"ps"}), HasSubstr(" moving "));
  EXPECT_THAT(refused({"move", std::to_string(id)}, 1), HasSubstr("is being moved already"));
  make_ready(0);
  eventually("the move is done", [&] { return slot(id) == "0@0"; });
}

TEST_F(Moves, ContinueWhenTheCommandIsInterrupted) {
  make_ready(6);
  const auto id = serve("1g.5gb", kForever, true);
  node_.await(id, "running");
  const auto move = start({"move", std::to_string(id), "--to", "0:0"});
  eventually("it moves", [&] { return slot(id) == "0@6 moving"; });
  move->signal(SIGINT);
  EXPECT_EQ(move->wait(), 130);
  EXPECT_EQ(move->out(), "");
  EXPECT_THAT(move->err(), HasSubstr(cat("the move of job ", id, " continues")));
  make_ready(0);
  eventually("the move is done", [&] { return slot(id) == "0@0"; });
}

// A command that follows a move waits for a daemon that was killed.
TEST_F(Moves, AreFollowedAcrossARestart) {
  make_ready(6);
  const auto id = serve("1g.5gb", kForever, true);
  node_.await(id, "running");
  const auto move = start({"move", std::to_string(id), "--to", "0:0"});
  eventually("it moves", [&] { return slot(id) == "0@6 moving"; });
  node_.kill();
  node_.start();
  make_ready(0);
  EXPECT_EQ(move->wait(), 0) << move->err();
  EXPECT_THAT(move->out(), StartsWith(cat("job ", id, " moved from 0@6 to 0@0 in ")));
}

TEST_F(Moves, AreRefusedWithTheReason) {
  const auto id = running("1g.5gb");
  EXPECT_THAT(move_problem(999, 404, json::object{}), HasSubstr("job 999: not found"));
  EXPECT_THAT(move_problem(id, 404, to(7, 0)), HasSubstr("gpu 7: not found"));
  EXPECT_THAT(move_problem(id, 409, to(0, 6)), HasSubstr("gpu 0:6 is not free for 1g.5gb"));
  EXPECT_THAT(move_problem(id, 422, to(0, 7)), HasSubstr("allowed: 0, 1, 2, 3, 4, 5, 6."));
  EXPECT_THAT(move_problem(id, 400, json::object{{"to", "0:4"}}),
              HasSubstr("invalid move: to: a slot must be an object"));
  const auto batch = node_.submit("1g.5gb", kForever);
  node_.await(batch, "running");
  EXPECT_THAT(move_problem(batch, 422, json::object{}),
              HasSubstr("pinned, or submitted without --move"));
  const auto lease = node_.call("POST", "/v1/leases", 201, json::object{{"profile", "1g.5gb"}});
  EXPECT_THAT(move_problem(lease.at("id").to_number<std::uint64_t>(), 422, json::object{}),
              HasSubstr("is a lease, and leases never move"));
  const auto waits = serve("7g.40gb");
  EXPECT_THAT(move_problem(waits, 409, json::object{}), HasSubstr("not running and ready"));
  ok({"cancel", std::to_string(waits), std::to_string(batch)});
  node_.await(batch, "over");
  EXPECT_THAT(move_problem(batch, 409, json::object{}), HasSubstr("has already ended: cancelled"));
  ok({"cordon", "0"});
  EXPECT_THAT(move_problem(id, 409, to(0, 0)), HasSubstr("gpu 0 takes no jobs now"));
  EXPECT_EQ(slot(id), "0@6");
  EXPECT_TRUE(move_events(id).empty());  // no move was started
}

TEST_F(Moves, TheCommandReportsMistakes) {
  const auto id = running("1g.5gb");
  const std::string job = std::to_string(id);
  for (const char* wrong : {"0", "0:", "0:x", "0:-1", "0:999", ":"}) {
    EXPECT_THAT(refused({"move", job, "--to", wrong}, 2), HasSubstr("GPU:START, e.g. 1:4"))
        << wrong;
  }
  EXPECT_THAT(refused({"move", job, "--to", "7:0"}, 2), HasSubstr("GPU '7': not found"));
  EXPECT_THAT(refused({"move", job, "--to", "0:7"}, 2), HasSubstr("cannot start at 7"));
  EXPECT_THAT(refused({"move", job, "--to", "0:6"}, 1), HasSubstr("is not free"));
  EXPECT_THAT(refused({"move", "nobody"}, 2), HasSubstr("no job has this name"));
}

TEST_F(Moves, AreForOwnersAndAdmins) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  const auto mine = running("1g.5gb");
  const passwd* nobody = getpwnam("nobody");
  const json::object request{{"uid", nobody == nullptr ? 65'534U : nobody->pw_uid}};
  const std::string secret = text(node_.call("POST", "/v1/tokens", 201, request), "secret");
  auto client = http::Client::open(node_.socket(), {.token = secret});
  ASSERT_TRUE(client);
  const auto status = [&](const std::string& method, const std::string& target,
                          const std::optional<json::value>& body = std::nullopt) {
    const auto reply = client->exchange(method, target, body);
    return reply ? reply->status : 0;
  };
  EXPECT_EQ(status("POST", cat("/v1/jobs/", mine, "/move"), to(0, 0)), 403);
  EXPECT_EQ(slot(mine), "0@6");
  EXPECT_EQ(status("GET", "/v1/defrag"), 200);
  json::object low = node_.job_request(
      "1g.5gb", kForever, {{"kind", "service"}, {"hold", true}, {"move", {{"way", "never"}}}});
  low["port"] = 80;
  EXPECT_EQ(status("POST", "/v1/jobs", low), 403);
  low["port"] = 1024;
  EXPECT_EQ(status("POST", "/v1/jobs", low), 201);
}

// Runs only the first time; later replicas exit at once.
constexpr const char* kRunsOnce = "test -e once && exit 3; touch once; exec sleep 1000";

TEST_F(Moves, ThatFailAreRolledBack) {
  const auto id = serve("1g.5gb", cat("cd ", node_.at("."), "; ", kRunsOnce));
  node_.await(id, "running");
  const json::object before = node_.job(id);
  EXPECT_THAT(refused({"move", std::to_string(id), "--to", "0:0"}, 1),
              AllOf(HasSubstr(cat("move of job ", id)),
                    HasSubstr("is rolled back: its replica exited with 3. See `tangram show")));
  const json::object after = node_.job(id);
  EXPECT_EQ(slot(id), "0@6");
  EXPECT_EQ(after.at("state"), "running");
  EXPECT_EQ(after.at("pid"), before.at("pid"));
  EXPECT_THAT(move_events(id), IsSupersetOf({"move.begun", "move.rolled-back"}));
}

TEST_F(Moves, DefragPlansAndMakesThePapersMove) {
  const auto id = run_papers_example();
  const json::value plan = json::parse(ok({"defrag", "--plan", "--json"}));
  ASSERT_EQ(plan.at("steps").as_array().size(), 1U);
  const json::value& step = plan.at("steps").at(0);
  EXPECT_EQ(step.at("job"), id);
  EXPECT_EQ(step.at("name"), "serve");
  EXPECT_EQ(step.at("profile"), "1g.5gb");
  EXPECT_EQ(step.at("kind"), "intra");
  EXPECT_EQ(step.at("from"), (json::value{{"gpu", 0}, {"start", 0}}));
  EXPECT_EQ(step.at("to"), (json::value{{"gpu", 0}, {"start", 6}}));
  EXPECT_TRUE(step.at("reuse").as_bool());  // where it came from
  const double before = plan.at("frag_cost_before").to_number<double>();
  const double after = plan.at("frag_cost_after").to_number<double>();
  EXPECT_DOUBLE_EQ(step.at("gain").to_number<double>(), before - after);
  const json::value gpus = node_.call("GET", "/v1/gpus");
  EXPECT_DOUBLE_EQ(before, gpus.at(0).at("frag_cost").to_number<double>());

  const std::string shown = ok({"defrag", "--ascii"});
  EXPECT_THAT(shown, StartsWith("STEP  JOB  NAME   PROFILE  FROM  TO    GAIN\n"));
  EXPECT_THAT(shown, HasSubstr(cat("   1    ", id, "  serve  1g.5gb   0@0   0@6  0.")));
  EXPECT_THAT(shown, MatchesRegex("[^>]*FragCost 0\\.[0-9]+ -> 0\\.[0-9]+ with 1 move\n"));
  EXPECT_EQ(slot(id), "0@0");  // nothing has been moved yet

  EXPECT_THAT(
      ok({"defrag", "--apply", "--ascii"}),
      MatchesRegex(cat("1  job ", id,
                       " \\(serve\\) from 0@0 to 0@6: done in "
                       "[0-9]+\\.[0-9]s\nFragCost 0\\.[0-9]+ -> 0\\.[0-9]+ with 1 move\n")));
  EXPECT_EQ(slot(id), "0@6");
  const json::value now = node_.call("GET", "/v1/gpus");
  EXPECT_DOUBLE_EQ(after, now.at(0).at("frag_cost").to_number<double>());
  EXPECT_THAT(ok({"defrag"}), StartsWith("nothing to do: no move would lower the FragCost of 0."));
  EXPECT_THAT(ok({"defrag", "--apply"}), StartsWith("nothing to do"));
  EXPECT_TRUE(node_.call("GET", "/v1/defrag").at("steps").as_array().empty());
}

TEST_F(Moves, DefragReportsItsMovesAsJson) {
  const auto id = run_papers_example();
  const json::value done = json::parse(ok({"defrag", "--apply", "--most", "1", "--json"}));
  ASSERT_EQ(done.at("steps").as_array().size(), 1U);
  EXPECT_EQ(done.at("steps").at(0).at("job"), id);
  EXPECT_EQ(done.at("steps").at(0).at("result"), "done");
  EXPECT_LT(done.at("frag_cost_after").to_number<double>(),
            done.at("frag_cost_before").to_number<double>());
  EXPECT_THAT(refused({"defrag", "--most", "0"}, 2), HasSubstr("--most"));
  EXPECT_THAT(refused({"defrag", "--plan", "--apply"}, 2), HasSubstr("--apply"));
}

// One replica was started for the requested move: the third run fails.
TEST_F(Moves, DefragStopsAtAMoveThatIsRolledBack) {
  const auto id =
      run_papers_example(cat("cd ", node_.at("."),
                             "; test -e second && exit 3; test -e first && touch second; "
                             "touch first; exec sleep 1000"));
  EXPECT_THAT(refused({"defrag", "--apply"}, 1),
              HasSubstr("is rolled back: its replica exited with 3"));
  EXPECT_EQ(slot(id), "0@0");
}

TEST_F(Moves, ShowNamesTheWayAJobMoves) {
  const auto id = running("1g.5gb");
  EXPECT_THAT(ok({"show", std::to_string(id)}), HasSubstr("by replica"));
  const auto pinned = node_.submit("1g.5gb", kForever, {{"move", {{"way", "never"}}}});
  EXPECT_THAT(ok({"show", std::to_string(pinned)}), HasSubstr("moves      never"));
}

// A port belongs to a job from its submission, also while it is queued or held.
TEST_F(Moves, NoTwoServicesHaveTheSamePort) {
  const json::object service{
      {"kind", "service"}, {"port", 18'080}, {"hold", true}, {"move", {{"way", "never"}}}};
  const json::object request = node_.job_request("1g.5gb", kForever, service);
  const auto first = node_.submit("1g.5gb", kForever, service);
  const json::value refused = node_.call("POST", "/v1/jobs", 409, request);
  EXPECT_THAT(text(refused, "detail"), HasSubstr(cat("port 18080 is in use by job ", first)));
  node_.kill();
  node_.start();
  node_.call("POST", "/v1/jobs", 409, request);
  ok({"cancel", std::to_string(first)});
  node_.await(first, "over");
  EXPECT_GT(node_.submit("1g.5gb", kForever, service), first);
}

}  // namespace
}  // namespace tangram::tests
