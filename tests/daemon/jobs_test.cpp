// Jobs as users see them: real processes on instances of the emulated node, through the real
// daemon.
#include <algorithm>
#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;

std::string text(const json::object& job, const char* key) {
  const json::value& value = job.at(key);
  return value.is_string() ? std::string(value.as_string()) : "";
}

TEST(Jobs, RunToTheirEndWithTheirOwnExitCode) {
  Node node;
  node.start();
  const auto good = node.submit("1g.5gb", "echo out; echo err >&2");
  const auto bad = node.submit("2g.10gb", "exit 42");
  const auto killed = node.submit("1g.5gb", "kill -SEGV $$");
  EXPECT_EQ(node.await(good, "over").at("exit_code"), 0);
  EXPECT_EQ(node.state(good), "completed");
  EXPECT_EQ(node.output(good), "out\n");
  EXPECT_EQ(node.output(good, "stderr"), "err\n");
  EXPECT_EQ(node.await(bad, "over").at("exit_code"), 42);
  EXPECT_EQ(node.state(bad), "failed");
  const json::object signalled = node.await(killed, "over");
  EXPECT_TRUE(signalled.at("exit_code").is_null());
  EXPECT_EQ(signalled.at("exit_signal"), SIGSEGV);
  EXPECT_EQ(text(signalled, "reason"), "ended by SIGSEGV");
}

TEST(Jobs, FindTheirInstanceInTheirEnvironment) {
  Node node;
  node.start();
  const auto id = node.submit(
      "3g.20gb",
      "echo $CUDA_VISIBLE_DEVICES $TANGRAM_JOB_ID $TANGRAM_PROFILE; pwd; umask; ulimit -n",
      {{"directory", "/usr"},
       {"umask", "027"},
       {"resource_limits", {{"nofile", {{"soft", 77}, {"hard", 99}}}}}});
  const json::object job = node.await(id, "over");
  EXPECT_EQ(node.output(id), cat(text(job, "uuid"), " ", id, " 3g.20gb\n/usr\n0027\n77\n"));
  EXPECT_TRUE(text(job, "uuid").starts_with("MIG-"));
}

TEST(Jobs, WaitInTheQueueAndReuseIdleInstances) {
  Node node({.emulate = "1xA100-40GB"});
  node.start();
  const auto first =
      node.submit("7g.40gb", cat("while [ ! -e ", node.at("go"), " ]; do sleep 0.02; done"));
  const auto second = node.submit("7g.40gb", "true");
  node.await(first, "running");
  EXPECT_EQ(node.state(second), "queued");
  EXPECT_NE(text(node.job(second), "reason").find("waiting for a free 7g.40gb"), std::string::npos);
  node.folder().write("go", "");
  EXPECT_EQ(node.await(second, "over").at("exit_code"), 0);
  EXPECT_EQ(node.instances(), std::vector<std::string>{"0 7g.40gb@0"});
  EXPECT_EQ(node.job(first).at("uuid"), node.job(second).at("uuid"));
}

TEST(Jobs, ThatCannotBeExecutedGiveTheReason) {
  Node node;
  node.start();
  json::object request = node.job_request("1g.5gb", "");
  request["command"] = {"no-such-program"};
  const auto id = node.call("POST", "/v1/jobs", 201, request).at("id").to_number<std::uint64_t>();
  const json::object job = node.await(id, "failed");
  EXPECT_EQ(job.at("exit_code"), 127);
  EXPECT_NE(text(job, "reason").find("no-such-program"), std::string::npos) << text(job, "reason");
  EXPECT_NE(text(job, "reason").find("No such file"), std::string::npos);
}

TEST(Jobs, AreRefusedIfNoGpuHasTheirProfile) {
  Node node;
  node.start();
  const auto wrong = node.call("POST", "/v1/jobs", 422, node.job_request("2g.11gb", "true"));
  EXPECT_NE(text(wrong.as_object(), "detail").find("did you mean 2g.10gb"), std::string::npos);
  json::object memory = node.job_request("", "true", {{"gpu_memory", "16GiB"}});
  memory.erase("profile");
  const auto id = node.call("POST", "/v1/jobs", 201, memory).at("id").to_number<std::uint64_t>();
  EXPECT_EQ(text(node.await(id, "over"), "profile"), "3g.20gb");
  memory["gpu_memory"] = "80GiB";
  node.call("POST", "/v1/jobs", 422, memory);
}

TEST(Jobs, RunOnTheGpuModelThatTheyRequest) {
  Node node({.emulate = "1xA100-40GB,1xA100-80GB"});
  node.start();
  const json::object on_80 = node.job_request("1g.10gb", "true", {{"gpu_model", "A100-80GB"}});
  const auto id = node.call("POST", "/v1/jobs", 201, on_80).at("id").to_number<std::uint64_t>();
  EXPECT_EQ(node.await(id, "over").at("gpu"), 1);
  const auto other = node.job_request("1g.10gb", "true", {{"gpu_model", "H100"}});
  EXPECT_NE(
      text(node.call("POST", "/v1/jobs", 422, other).as_object(), "detail")
          .find("no GPU of this node is of model 'H100'; available are A100-40GB and A100-80GB"),
      std::string::npos);
  node.call("POST", "/v1/jobs", 422,
            node.job_request("3g.40gb", "true", {{"gpu_model", "A100-40GB"}}));
}

TEST(Jobs, ThatIgnoreSigtermAreKilledAfterTheirGrace) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "trap '' TERM; echo up; while :; do sleep 0.1; done",
                              {{"grace", "300ms"}});
  eventually("it is up", [&] { return node.output(id) == "up\n"; });
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  const json::object job = node.await(id, "cancelled");
  EXPECT_EQ(job.at("exit_signal"), SIGKILL);
  EXPECT_TRUE(node.run_processes().empty());
}

TEST(Jobs, ThatForkAndDetachEndWithAllProcesses) {
  Node node;
  node.start();
  const auto id = node.submit(
      "1g.5gb",
      "setsid sh -c 'setsid sleep 1000 & exec sleep 1000' </dev/null >/dev/null 2>&1 & exit 5");
  EXPECT_EQ(node.await(id, "over").at("exit_code"), 5);
  EXPECT_TRUE(node.run_processes().empty());
}

TEST(Jobs, AreEndedAtTheirTimeLimit) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "exec sleep 1000", {{"time_limit", "200ms"}});
  const json::object job = node.await(id, "failed");
  EXPECT_NE(text(job, "reason").find("time limit"), std::string::npos);
}

TEST(Jobs, StartAgainAsTheirRestartPolicySays) {
  Node node;
  node.start();
  const std::string counter = node.at("count");
  const auto id =
      node.submit("1g.5gb", cat("echo x >> ", counter, "; [ $(wc -l < ", counter, ") -ge 3 ]"),
                  {{"restart", "on-failure"}, {"max_restarts", 5}});
  const json::object job = node.await(id, "over");
  EXPECT_EQ(text(job, "state"), "completed");
  EXPECT_EQ(job.at("restarts"), 2);
  EXPECT_EQ(node.folder().read("count"), "x\nx\nx\n");
}

TEST(Jobs, ServicesAreRunningWhenTheirProbeSaysSo) {
  Node node;
  node.start();
  const std::string ready = node.at("ready");
  const auto id = node.submit(
      "1g.5gb", "echo $PORT; exec sleep 1000",
      {{"kind", "service"},
       {"probe", {{"kind", "command"}, {"command", {"test", "-e", ready}}, {"interval", "20ms"}}}});
  node.await(id, "starting");
  eventually("it has a port", [&] { return node.output(id).size() > 4; });
  EXPECT_EQ(node.state(id), "starting");
  node.folder().write("ready", "");
  node.await(id, "running");
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  node.await(id, "cancelled");
}

TEST(Jobs, ServicesThatAreNeverReadyFail) {
  Node node;
  node.start();
  const auto id =
      node.submit("1g.5gb", "exec sleep 1000",
                  {{"kind", "service"},
                   {"probe", {{"kind", "tcp"}, {"interval", "20ms"}, {"deadline", "300ms"}}}});
  const json::object job = node.await(id, "failed");
  EXPECT_NE(text(job, "reason").find("not ready within"), std::string::npos) << text(job, "reason");
}

TEST(Jobs, HeldJobsWaitUntilTheyAreCancelled) {
  Node node;
  node.start();
  const auto id = node.submit("1g.5gb", "true", {{"hold", true}});
  EXPECT_EQ(node.state(id), "held");
  node.call("POST", cat("/v1/jobs/", id, "/cancel"), 202);
  node.await(id, "cancelled");
}

}  // namespace
}  // namespace tangram::tests
