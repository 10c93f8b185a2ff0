// Batch jobs that are asked to move before they can save a checkpoint, and successors that end just
// after they resumed. A job that does not handle the signal must never be killed by it, and no work
// that a successor has done may be done again by its original.
#include <filesystem>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "training.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

constexpr const char* kNotReady = "not ready to be moved: it has no handler for SIGUSR1 yet";

class TrainingSignal : public Training {
 protected:
  // Installs its handler once the file "install" exists, as programs do after a long import.
  [[nodiscard]] std::string late_handler() const {
    return cat("cd ", node.at(""),
               "; C=$TANGRAM_CHECKPOINT; [ \"$TANGRAM_RESUME\" != 1 ] || : > $C/resumed; "
               "while [ ! -e install ]; do echo loading; sleep 0.02; done; "
               "trap ': > $C/saved' USR1; echo installed; "
               "while :; do echo tick; sleep 0.02; done");
  }
  void install_handler(std::uint64_t id) {
    node.folder().write("install", "");
    eventually("the handler is installed",
               [&] { return node.output(id).find("installed") != std::string::npos; });
  }
  // Moves the job with the command-line program and returns what that printed.
  std::string move(std::uint64_t id, const std::string& to, int expected_code) {
    int code = -1;
    const std::string text = node.tangram({"move", std::to_string(id), "--to", to}, &code);
    EXPECT_EQ(code, expected_code) << text << node.log();
    return text;
  }
  // Expects that the same process of the job runs at the same placement as `before`.
  void expect_untouched(const json::object& before) {
    const json::object after = node.job(before.at("id").to_number<std::uint64_t>());
    for (const char* key : {"state", "pid", "gpu", "start", "restarts"}) {
      EXPECT_EQ(after.at(key), before.at(key)) << key << "\n" << node.log();
    }
    EXPECT_EQ(node.shims().size(), 1U);
  }
};

TEST_F(TrainingSignal, AMoveBeforeTheHandlerIsInstalledLeavesTheJobAlone) {
  const auto id = train(late_handler());
  await_progress(id);
  const json::object before = node.job(id);
  EXPECT_THAT(move(id, "1:0", 1), HasSubstr(cat("is rolled back: ", kNotReady, ". See")));
  await_progress(id);
  expect_untouched(before);
  EXPECT_THAT(node.tangram({"show", std::to_string(id)}), HasSubstr(kNotReady));
  install_handler(id);
  move(id, "1:0", 0);
  EXPECT_EQ(slot(id), std::pair(1, 0));
  await_progress(id);
}

// Job 1 is moved to the GPU that job 2 leaves, as soon as it may.
TEST_F(TrainingSignal, AnAutomaticMoveBeforeTheHandlerIsInstalledLeavesTheJobAlone) {
  const auto id = node.submit("3g.20gb", late_handler(), {{"move", {{"way", "checkpoint"}}}});
  node.await(id, "running");
  const auto other = node.submit("7g.40gb", "exec sleep 1000");
  node.await(other, "running");
  node.await(node.submit("4g.20gb", "exec sleep 1000"), "running");
  await_progress(id);
  const json::object before = node.job(id);
  node.tangram({"tune", "migration=both"});
  node.call("POST", cat("/v1/jobs/", other, "/cancel"), 0);
  const auto shows_reason = [&] {
    return node.tangram({"show", std::to_string(id)}).find(kNotReady) != std::string::npos;
  };
  eventually("an automatic move is rolled back", shows_reason);
  await_progress(id);
  await_no_move(id);
  EXPECT_EQ(node.job(id).at("pid"), before.at("pid")) << node.log();
  EXPECT_EQ(node.state(id), "running");
  install_handler(id);
  move(id, "1:4", 0);
  EXPECT_EQ(slot(id), std::pair(1, 4));
}

// The main process has no handler, ignores the signal, or leaves it to a child: it gets none.
TEST_F(TrainingSignal, AJobWithoutAHandlerIsNeverKilled) {
  const std::vector<std::string> scripts = {
      "echo up; exec sleep 1000",
      "trap '' USR1; echo up; while :; do sleep 0.02; done",
      "sh -c \"trap 'echo child' USR1; echo up; while :; do sleep 0.02; done\" & wait",
      "trap 'echo handled' USR1; echo up; exec sleep 1000",
  };
  for (const std::string& script : scripts) {
    const auto id = train(script);
    eventually("it is up", [&] { return node.output(id).find("up") != std::string::npos; });
    const json::object before = node.job(id);
    for (const char* to : {"1:0", "1:2", "1:0"}) {
      EXPECT_THAT(move(id, to, 1), HasSubstr(kNotReady)) << script;
    }
    expect_untouched(before);
    EXPECT_EQ(node.output(id), "up\n");
    node.call("POST", cat("/v1/jobs/", id, "/cancel"), 0);
    node.await(id, "over");
  }
}

// Each run appends its number to "steps" at every step; the first successor resumes, takes one step
// and ends.
class TrainingShortSuccessor : public Training {
 protected:
  [[nodiscard]] std::string script(const std::string& end) const {
    return cat("cd ", node.at(""),
               "; C=$TANGRAM_CHECKPOINT; if [ \"$TANGRAM_RESUME\" = 1 ]; then "
               "echo $TANGRAM_RUN_ID >> steps; : > $C/resumed; "
               "[ -e ended ] && exit 0; : > ended; ",
               end,
               "; fi; trap 'echo 1 > $C/state; : > $C/saved' USR1; "
               "while :; do echo $TANGRAM_RUN_ID >> steps; echo tick; sleep 0.02; done");
  }
  // The numbers in "steps", each once per uninterrupted sequence, e.g. "12" if run 1 was followed
  // by run 2.
  std::string runs_in_steps() {
    std::string runs;
    for (const char c : node.folder().read("steps")) {
      if (c != '\n' && (runs.empty() || runs.back() != c)) runs += c;
    }
    return runs;
  }
};

struct SuccessorEnd {
  const char* name;
  const char* command;
  const char* state;
  int code;
  const char* reason;
};

class TrainingSuccessorEnd : public TrainingShortSuccessor,
                             public testing::WithParamInterface<SuccessorEnd> {};

TEST_P(TrainingSuccessorEnd, OfOneThatResumedIsTheEndOfTheJob) {
  const auto id = train(script(GetParam().command));
  await_progress(id);
  request_move(id, 1, 0);
  const json::object job = node.await(id, "over");
  EXPECT_EQ(job.at("state"), GetParam().state) << node.log();
  if (GetParam().code >= 0) {
    EXPECT_EQ(job.at("exit_code"), GetParam().code) << json::serialize(job);
  }
  EXPECT_THAT(json::serialize(job), HasSubstr(GetParam().reason));
  EXPECT_EQ(runs_in_steps(), "12") << node.log();
  eventually("no run is left", [&] { return node.shims().empty(); });
}

INSTANTIATE_TEST_SUITE_P(
    Ends, TrainingSuccessorEnd,
    testing::Values(SuccessorEnd{"Failure", "exit 3", "failed", 3, "exited with 3"},
                    SuccessorEnd{"Success", "exit 0", "completed", 0, ""},
                    SuccessorEnd{"Signal", "kill -9 $$", "failed", -1, "SIGKILL"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(TrainingShortSuccessor, IsRestartedFromTheCheckpoint) {
  const auto id = train(script("exit 3"), {{"way", "checkpoint"}}, {{"restart", "on-failure"}});
  await_progress(id);
  request_move(id, 1, 0);
  const json::object job = node.await(id, "over");
  EXPECT_EQ(job.at("exit_code"), 0) << node.log();
  EXPECT_EQ(job.at("restarts"), 1);
  EXPECT_EQ(runs_in_steps(), "123") << node.log();
}

// The daemon is killed while the successor ends, so that the next daemon finds how it ended.
TEST_F(TrainingShortSuccessor, IsNotFollowedByItsOriginalAfterACrash) {
  for (const char* point : {"stepped:job-ready", "committed:job-ready"}) {
    const auto id = train(script("exit 3"));
    await_progress(id);
    node.stop();
    node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", cat("TANGRAM_CRASH_POINT=", point)});
    node.start();
    (void)node.try_call("POST", cat("/v1/jobs/", id, "/move"),
                        json::object{{"to", {{"gpu", 1}, {"start", 0}}}});
    node.await_crash();
    await_file("ended");
    node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
    node.start();
    const json::object job = node.await(id, "over");
    EXPECT_EQ(job.at("exit_code"), 3) << point << node.log();
    EXPECT_EQ(runs_in_steps().size(), 2U) << point << runs_in_steps() << node.log();
    node.folder().write("steps", "");
    std::filesystem::remove(node.at("ended"));
  }
}

}  // namespace
}  // namespace tangram::tests
