// Jobs whose program cannot be executed yet, as on a file system that hangs: they delay nobody
// else's start, can be cancelled, and are ended after jobs.start_time.
#include <chrono>
#include <string>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "other_user.hpp"
#include "tests/support/os/blocked_program.hpp"

namespace tangram::tests {
namespace {

namespace json = boost::json;
using os::testing::BlockedProgram;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Submits a job with that program; as the user nobody if the test may.
std::uint64_t submit(const Node& node, const BlockedProgram& program) {
  const uid_t user = ::geteuid() == 0 ? kNobody : ::geteuid();
  const json::object body{{"command", {program.path()}},
                          {"profile", "1g.5gb"},
                          {"environment", {{"NODE_UNDER_TEST", node.socket()}}},
                          {"directory", "/"}};
  const auto [status, answer] = call_as(user, node, "POST", "/v1/jobs", body);
  EXPECT_EQ(status, 201);
  return status == 201 ? answer.at("id").to_number<std::uint64_t>() : 0;
}

std::string reason_of(const json::object& job) {
  const auto* reason = job.if_contains("reason");
  return reason != nullptr && reason->is_string() ? std::string(reason->get_string()) : "";
}

TEST(BlockedStart, DelaysNoOtherJobAndCanBeCancelled) {
  Node node;
  node.start();
  allow_other_users(node);
  const BlockedProgram program(node.at("program"));
  if (!program.is_blocked()) GTEST_SKIP() << "needs file leases";
  std::vector<std::uint64_t> blocked;
  for (int i = 0; i < 12; ++i) blocked.push_back(submit(node, program));
  for (const auto id : blocked) node.await(id, "starting");
  EXPECT_EQ(node.await(node.submit("1g.5gb", "true"), "over", seconds(15)).at("exit_code"), 0);
  EXPECT_EQ(node.state(blocked.front()), "starting");
  node.call("POST", cat("/v1/jobs/", blocked.front(), "/cancel"), 202);
  node.await(blocked.front(), "cancelled", seconds(10));
  EXPECT_EQ(node.state(blocked.back()), "starting");
}

TEST(BlockedStart, IsEndedAfterTheStartTime) {
  Node node({.config = "[jobs]\nstart_time = \"3s\"\n"});
  node.start();
  allow_other_users(node);
  const BlockedProgram program(node.at("program"));
  if (!program.is_blocked()) GTEST_SKIP() << "needs file leases";
  const auto id = submit(node, program);
  const json::object job = node.await(id, "over", seconds(20));
  EXPECT_EQ(job.at("state"), "failed");
  EXPECT_THAT(reason_of(job), HasSubstr("not executed within 3s"));
}

// The next daemon waits for it, too.
TEST(BlockedStart, RunsWhenItIsUnblocked) {
  Node node;
  node.start();
  allow_other_users(node);
  BlockedProgram program(node.at("program"));
  if (!program.is_blocked()) GTEST_SKIP() << "needs file leases";
  const auto id = submit(node, program);
  node.await(id, "starting");
  eventually("its shim has claimed the run", [&] { return !node.shims().empty(); });
  node.kill();
  node.start();
  EXPECT_EQ(node.state(id), "starting");
  program.unblock();
  EXPECT_EQ(node.await(id, "over", seconds(20)).at("exit_code"), 0);
}

}  // namespace
}  // namespace tangram::tests
