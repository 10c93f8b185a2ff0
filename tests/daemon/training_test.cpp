// Batch jobs moved by their checkpoints, and jobs whose move fails. An original and its successor
// must never run at the same time.
#include "training.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(Training, ContinuesElsewhereFromItsCheckpoint) {
  const auto id = train("exec " TANGRAM_TRAIN " 60 0.05");
  eventually("it has started",
             [&] { return node.output(id).find("step 3 ") != std::string::npos; });
  request_move(id, 1, 3);
  await_no_move(id);
  EXPECT_EQ(slot(id), std::pair(1, 3)) << node.log();
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 0);
  std::string expected;
  for (int i = 1; i <= 60; ++i) expected += cat("step ", i, " of 60\n");
  std::string steps;
  std::istringstream lines(node.output(id));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ")) steps += line + "\n";
  }
  EXPECT_EQ(steps, expected) << node.output(id);
  EXPECT_THAT(node.output(id), HasSubstr("resumed at step"));
}

TEST_F(Training, StaysInItsSlotIfItSavesNothing) {
  const auto id = train("trap : USR1; i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done",
                        {{"way", "checkpoint"}, {"deadline", "300ms"}});
  const auto before = slot(id);
  request_move(id, 1, 0);
  await_no_move(id);
  EXPECT_EQ(slot(id), before);
  await_progress(id);
}

// The successor exits, never becomes ready, or is killed: the original continues.
TEST_F(Training, ContinuesInItsSlotIfItsSuccessorFails) {
  for (const char* successor : {"exit 3", "sleep 1000", "kill -9 $$"}) {
    const auto id =
        train(cat("C=$TANGRAM_CHECKPOINT; if [ \"$TANGRAM_RESUME\" = 1 ]; then ", successor,
                  "; fi; trap ': > $C/saved' USR1; i=0; while :; do i=$((i+1)); echo $i; sleep "
                  "0.02; done"),
              {{"way", "checkpoint"}, {"deadline", "600ms"}});
    const auto before = slot(id);
    request_move(id, 1 - before.first, 0);
    await_no_move(id);
    EXPECT_EQ(slot(id), before) << successor;
    await_progress(id);
    EXPECT_EQ(node.shims().size(), 1U) << successor;
    node.call("POST", cat("/v1/jobs/", id, "/cancel"), 0);
    node.await(id, "over");
  }
}

// Its children may not handle the signal, which would kill them.
TEST_F(Training, OnlyTheMainProcessGetsTheSignalToSave) {
  const auto id = train(
      "if [ \"$TANGRAM_RESUME\" = 1 ]; then exit 3; fi; "
      "sh -c \"trap 'echo child' USR1; echo up; while :; do sleep 0.02; done\" & "
      "trap 'echo saving; : > $TANGRAM_CHECKPOINT/saved' USR1; "
      "while :; do echo tick; sleep 0.02; done");
  eventually("both are up", [&] { return node.output(id).find("up") != std::string::npos; });
  request_move(id, 1 - slot(id).first, 0);
  await_no_move(id);
  await_progress(id, 100);
  EXPECT_THAT(node.output(id), HasSubstr("saving"));
  EXPECT_THAT(node.output(id), Not(HasSubstr("child")));
}

TEST_F(Training, TheTimeLimitAppliesDuringAMove) {
  const auto id = train(cat("cd ", node.at(""), "; ", kSlowSuccessor),
                        {{"way", "checkpoint"}, {"deadline", "50s"}}, {{"time_limit", "4s"}});
  request_move(id, 1 - slot(id).first, 0);
  await_file("successor");
  const json::object job = node.await(id, "failed", std::chrono::seconds(30));
  EXPECT_EQ(job.at("reason"), "time limit of 4s reached") << node.log();
  EXPECT_FALSE(node.folder().has("ran"));
  eventually("no run is left", [&] { return node.shims().empty(); });
}

TEST_F(Training, AFrozenOriginalGetsNoSignals) {
  const auto id = train(cat("cd ", node.at(""), "; ", kSlowSuccessor));
  request_move(id, 1 - slot(id).first, 0);
  await_file("successor");
  const json::value refused =
      node.call("POST", cat("/v1/jobs/", id, "/signal"), 409, json::object{{"signal", "CONT"}});
  EXPECT_THAT(json::serialize(refused), HasSubstr("is frozen while it is moved"));
  EXPECT_FALSE(node.folder().has("ran"));
}

// The time spent before a move counts against the limit, over any number of moves.
TEST_F(Training, AMoveDoesNotResetTheTimeLimit) {
  const auto id =
      train("exec " TANGRAM_TRAIN " 100000 0.05", {{"way", "checkpoint"}}, {{"time_limit", "1h"}});
  std::int64_t before = 0;
  for (int run = 2; run <= 3; ++run) {
    await_progress(id, 100);
    request_move(id, 1 - slot(id).first, run);
    await_no_move(id);
    std::optional<json::value> spec;
    for (const auto& entry : fs::directory_iterator(node.state_dir() + "/runs")) {
      if (!entry.path().filename().string().starts_with(cat(run, "-"))) continue;
      std::ifstream file(entry.path() / "spec.json");
      spec = json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    }
    ASSERT_TRUE(spec) << node.log();
    EXPECT_EQ(spec->at("time_limit_ms"), 3'600'000);
    const auto* spent = spec->as_object().if_contains("time_spent_ms");
    ASSERT_NE(spent, nullptr);
    EXPECT_GT(spent->to_number<std::int64_t>(), before + 100);
    before = spent->to_number<std::int64_t>();
  }
}

// A restarted run resumes only if something was saved.
TEST_F(Training, ARestartContinuesFromTheCheckpoint) {
  const auto id = node.submit(
      "1g.5gb",
      "echo resume=${TANGRAM_RESUME:-no}; if [ \"$TANGRAM_RESUME\" = 1 ]; then exit 0; fi; "
      ": > $TANGRAM_CHECKPOINT/saved; [ -e tried ] && echo 5 > $TANGRAM_CHECKPOINT/step; "
      ": > tried; exit 1",
      {{"move", {{"way", "checkpoint"}}},
       {"restart", "on-failure"},
       {"max_restarts", 5},
       {"directory", node.at("")},
       {"environment",
        {{"TANGRAM_RESUME", "1"}, {"PATH", "/usr/bin:/bin"}, {"NODE_UNDER_TEST", node.socket()}}}});
  const json::object job = node.await(id, "over");
  EXPECT_EQ(job.at("exit_code"), 0);
  EXPECT_EQ(job.at("restarts"), 2);
}

// Checkpoint folders without a job in the store go to lost+found when the daemon starts.
TEST_F(Training, OrphanedCheckpointsAreMovedAway) {
  const auto id =
      train("echo 1 > $TANGRAM_CHECKPOINT/state; while :; do echo tick; sleep 0.02; done");
  await_progress(id);
  const fs::path folder = node.state_dir() + "/checkpoints";
  const auto names_in = [](const fs::path& where) {
    std::set<std::string> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(where, ignored)) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  const auto mine = names_in(folder);
  ASSERT_EQ(mine.size(), 1U);
  EXPECT_THAT(*mine.begin(), testing::StartsWith(cat(id, "-")));
  node.stop();
  for (const std::string name : {"1-7", "1", "77-1", "x"}) {
    fs::create_directories(folder / name / "deep");
    std::ofstream(folder / name / "deep" / "state") << "orphaned";
  }
  node.start();
  std::set<std::string> kept = mine;
  kept.insert({"1", "x"});  // not names of checkpoints
  eventually("the others are moved", [&] { return names_in(folder) == kept; });
  EXPECT_TRUE(fs::exists(folder / *mine.begin() / "state"));
  const fs::path lost = node.state_dir() + "/lost+found";
  ASSERT_EQ(names_in(lost).size(), 1U);
  const fs::path moved = lost / *names_in(lost).begin() / "checkpoints";
  EXPECT_EQ(names_in(moved), (std::set<std::string>{"1-7", "77-1"}));
  EXPECT_TRUE(fs::exists(moved / "77-1" / "deep" / "state"));
}

}  // namespace
}  // namespace tangram::tests
