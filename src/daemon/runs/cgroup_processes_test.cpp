// Reads cgroups: folders with the same files.
#include "daemon/runs/cgroup_processes.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

using Pids = std::vector<unsigned>;

TEST(CgroupProcesses, AreThoseOfAllGroupsBelow) {
  const os::testing::Folder folder;
  std::filesystem::create_directories(folder.at("job/step_0/task_1"));
  std::filesystem::create_directories(folder.at("job/step_batch"));
  folder.write("job/cgroup.procs", "");
  folder.write("job/step_0/cgroup.procs", "");
  folder.write("job/step_0/task_1/cgroup.procs", "43\n7\n");
  folder.write("job/step_batch/cgroup.procs", "42\n");
  EXPECT_EQ(processes_in_cgroup(folder.at("job")).value(), (Pids{7, 42, 43}));
  EXPECT_EQ(processes_in_cgroup(folder.at("job/step_batch")).value(), Pids{42});
  folder.write("job/step_0/task_1/cgroup.procs", "");
  folder.write("job/step_batch/cgroup.procs", "");
  EXPECT_EQ(processes_in_cgroup(folder.at("job")).value(), Pids{});
}

TEST(CgroupProcesses, AreNoneOfAGroupThatDoesNotExist) {
  const os::testing::Folder folder;
  EXPECT_EQ(processes_in_cgroup(folder.at("job")).value(), Pids{});
}

// Must not be mistaken for an empty group.
TEST(CgroupProcesses, AnUnreadableGroupIsAnError) {
  const os::testing::Folder folder;
  std::filesystem::create_directories(folder.at("job/cgroup.procs"));
  EXPECT_FALSE(processes_in_cgroup(folder.at("job")));
  folder.write("file", "");
  EXPECT_FALSE(processes_in_cgroup(folder.at("file/cgroup")));
}

}  // namespace
}  // namespace tangram::daemon
