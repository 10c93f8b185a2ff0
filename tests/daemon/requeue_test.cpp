// Batch jobs that run again: after a fault of the node (`--requeue`), up to a bound, and at the
// request of their owner (`tangram requeue`). They keep their order of submission.
#include <csignal>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

TEST(Requeue, AJobWhoseShimIsLostRunsAgainUpToTheBound) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "echo run $TANGRAM_RESTARTS; sleep 1000",
                              {{"restart", "on-node-fault"}, {"max_restarts", 1}});
  for (const int restarts : {0, 1}) {
    eventually("it runs", [&] {
      const json::object job = node.job(id);
      return job.at("state") == "running" && job.at("restarts") == restarts;
    });
    ASSERT_EQ(node.shims().size(), 1U);
    ::kill(node.shims().front(), SIGKILL);
  }
  EXPECT_EQ(node.await(id, "failed").at("reason"), "shim lost");
  EXPECT_EQ(node.output(id), "run 0\nrun 1\n");
}

TEST(Requeue, AJobWhoseGpuIsLostRunsAgain) {
  Node node({.emulate = "2xA100-40GB"});
  node.start();
  const auto kept = node.submit("1g.5gb", "sleep 1000", {{"restart", "on-node-fault"}});
  const json::object job = node.await(kept, "running");
  node.tangram({"emulate", "fault", "fall-off", std::to_string(job.at("gpu").as_int64())});
  eventually("it runs on the other GPU", [&] {
    const json::object now = node.job(kept);
    return now.at("state") == "running" && now.at("gpu") != job.at("gpu");
  });
}

TEST(Requeue, AJobThatFailsByItselfDoesNot) {
  Node node;
  node.start();
  int code = 0;
  node.tangram({"submit", "-p", "1g.5gb", "--requeue", "--wait", "--", "sh", "-c", "exit 3"},
               &code);
  EXPECT_EQ(code, 3);
  const json::object job = node.job(1);
  EXPECT_EQ(job.at("state"), "failed");
  EXPECT_EQ(job.at("restarts"), 0);
  EXPECT_EQ(job.at("request").at("restart"), "on-node-fault");
}

TEST(Requeue, ARunningJobIsStoppedAndQueuedInItsOldPlace) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto first = node.submit("7g.40gb", "echo run; sleep 1000");
  node.await(first, "running");
  const auto second = node.submit("7g.40gb", "sleep 1000");
  EXPECT_THAT(node.tangram({"requeue", std::to_string(first)}),
              HasSubstr(cat("job ", first, " is stopping")));
  eventually("it runs again", [&] {
    const json::object job = node.job(first);
    return job.at("state") == "running" && job.at("restarts") == 1;
  });
  eventually("its output continues", [&] { return node.output(first) == "run\nrun\n"; });
  EXPECT_EQ(node.state(second), "queued");
  int code = 0;
  EXPECT_THAT(node.tangram({"requeue", std::to_string(second)}, &code),
              HasSubstr("only a running batch job can be requeued"));
  EXPECT_EQ(code, 1);
  node.call("POST", cat("/v1/jobs/", first, "/cancel"), 202);
  node.await(first, "cancelled");
  EXPECT_THAT(node.tangram({"requeue", std::to_string(first)}, &code), HasSubstr("has already"));
}

// The daemon is killed after the request is durable: the run is stopped and the job queued again.
TEST(Requeue, SurvivesAKilledDaemon) {
  Node node;
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0", "TANGRAM_CRASH_POINT=performed:stop-job"});
  node.start();
  const auto id = node.submit("1g.5gb", "sleep 1000");
  node.await(id, "running");
  (void)node.try_call("POST", cat("/v1/jobs/", id, "/requeue"), std::nullopt);
  node.await_crash();
  node.use_environment({"TANGRAM_EMULATOR_LATENCY=0"});
  node.start();
  eventually("it runs again", [&] {
    const json::object job = node.job(id);
    return job.at("state") == "running" && job.at("restarts") == 1;
  });
}

}  // namespace
}  // namespace tangram::tests
