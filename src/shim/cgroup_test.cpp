// Runs in a cgroup of their own. Needs a writable cgroup v2 folder; skipped without.
#include "shim/cgroup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/shim/run.hpp"

namespace tangram::shim {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::is_gone;
using testing::TestRun;

// Where a test can create cgroups; empty if nowhere.
std::string find_cgroup_root() {
  for (const std::string root : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    api::RunSpec spec;
    spec.cgroup = cat(root, "/tangram-test-place-", ::getpid());
    if (!make_cgroup(spec)) continue;
    remove_cgroup(spec.cgroup);
    return root;
  }
  return {};
}

class ShimCgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = find_cgroup_root();
    if (root_.empty()) GTEST_SKIP() << "needs a cgroup v2 folder that can be written";
  }
  void use(TestRun& run) const {
    std::string name = run.spec.tag;
    name[name.find('/')] = '-';
    run.spec.cgroup = cat(root_, "/tangram-", name);
  }
  std::string root_;
};

TEST_F(ShimCgroup, HoldsTheJobAndIsRemoved) {
  TestRun run("grep ^0: /proc/self/cgroup");
  use(run);
  EXPECT_EQ(run.run().code, 0);
  EXPECT_THAT(run.output(), HasSubstr(run.spec.cgroup.substr(root_.size())));
  EXPECT_FALSE(std::filesystem::exists(run.spec.cgroup));
}

TEST_F(ShimCgroup, KillsAllProcessesInIt) {
  TestRun run("setsid sh -c 'env -i /bin/sleep 1000 & sleep 1000' & echo up; exec sleep 1000");
  use(run);
  run.start();
  ASSERT_TRUE(eventually([&] { return cgroup_members(run.spec.cgroup)->size() >= 4; }));
  run.client().send(R"({"do":"stop","grace_ms":0})");
  run.record();
  EXPECT_FALSE(std::filesystem::exists(run.spec.cgroup));
}

TEST_F(ShimCgroup, FindsProcessesOfAKilledShimWithoutTheTag) {
  TestRun run("");
  run.spec.command = {"sh", "-c",
                      cat("setsid env -i /bin/sh -c 'echo $$ > ", run.base().at("left"),
                          "; exec /bin/sleep 1000' & exec sleep 1000")};
  use(run);
  run.start();
  const pid_t left = run.pid_in("left");
  ::kill(run.shim(), SIGKILL);
  ::waitpid(run.shim(), nullptr, 0);
  run.forget_shim();
  const auto killed =
      kill_all({.tag = run.spec.tag, .cgroup = run.spec.cgroup}, std::chrono::seconds(20));
  EXPECT_TRUE(killed.all_gone);
  EXPECT_TRUE(is_gone(left));
  EXPECT_TRUE(eventually([&] { return remove_cgroup(run.spec.cgroup); }));
}

TEST_F(ShimCgroup, FreezesAndThaws) {
  TestRun run("while :; do echo tick; sleep 0.002; done");
  use(run);
  run.start();
  ASSERT_TRUE(run.prints("tick"));
  auto client = run.client();
  client.send(R"({"do":"freeze","id":1})");
  EXPECT_EQ(client.next_with("done")->at("ok"), true);
  EXPECT_TRUE(is_cgroup_frozen(run.spec.cgroup));
  client.send(R"({"do":"thaw","id":2})");
  EXPECT_EQ(client.next_with("done")->at("ok"), true);
  const std::size_t size = run.output().size();
  EXPECT_TRUE(eventually([&] { return run.output().size() > size + 20; }));
  client.send(R"({"do":"freeze","id":3})");
  EXPECT_EQ(client.next_with("done")->at("ok"), true);
  client.send(R"({"do":"stop"})");
  EXPECT_EQ(run.record().signal, SIGKILL);  // it is not thawed for SIGTERM
}

TEST_F(ShimCgroup, ALimitThatCannotBeSetFailsTheRun) {
  TestRun memory("true");
  use(memory);
  memory.spec.memory_bytes = 1ULL << 30U;
  const auto record = memory.run();
  if (record.code == 0) GTEST_SKIP() << "this machine has the memory controller of cgroup v2";
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("memory.max"));
  EXPECT_THAT(record.reason, HasSubstr("needs the memory controller"));
  EXPECT_FALSE(std::filesystem::exists(memory.spec.cgroup));
}

TEST_F(ShimCgroup, IsNotSharedWithLivingProcesses) {
  TestRun first("exec sleep 1000");
  use(first);
  first.start();
  TestRun second("true");
  second.spec.cgroup = first.spec.cgroup;
  const auto record = second.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("already has processes"));
  EXPECT_EQ(testing::live_processes({.tag = first.spec.tag}).size(), 1U);
}

TEST(ShimLimits, WithoutACgroupAreRefused) {
  TestRun run("true");
  run.spec.cpu_percent = 50;
  auto record = run.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("has no cgroup"));
  TestRun outside("true");
  outside.spec.cgroup = outside.base().at("folder");
  record = outside.run();
  EXPECT_EQ(record.code, 126);
  EXPECT_THAT(record.reason, HasSubstr("not in a cgroup v2 file system"));
}

}  // namespace
}  // namespace tangram::shim
