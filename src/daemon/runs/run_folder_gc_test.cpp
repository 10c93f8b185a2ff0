// See run_folder_gc.hpp.
#include "daemon/runs/run_folder_gc.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

class RunFolderGc : public testing::Test {
 protected:
  RunFolderGc() {
    for (const char* each : {"runs/1-11", "runs/2-12", "runs/20-13", "saved/1-7", "saved/2-8"}) {
      std::filesystem::create_directories(folder_.at(each));
      folder_.write(std::string(each) + "/file", "x");
    }
  }
  void remove(const store::RetentionResult& gone) const {
    remove_trimmed(folder_.at("runs"), folder_.at("saved"), gone, false);
  }
  [[nodiscard]] bool has(const char* what) const { return folder_.has(what); }

  os::testing::Folder folder_;
};

TEST(FolderNames, AreAnIdAndATime) {
  const auto name = parse_folder_name("12-1795040764000000");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->id, 12U);
  EXPECT_EQ(name->time, 1'795'040'764'000'000U);
  for (const char* each : {"", "x", "12", "12-", "-12", "12-x", "12x-7", "12-7x", "12-7-7", "1 -7",
                           "+1-7", "01-7", "1-07", "99999999999999999999-7", "1.old-7"}) {
    EXPECT_FALSE(parse_folder_name(each)) << each;
  }
}

// What only begins like the name of a run is not one: an admin's copy, for example.
TEST_F(RunFolderGc, LeavesOtherNamesAlone) {
  for (const char* each : {"runs/1", "runs/1-11.old", "runs/1x-11", "saved/2 copy", "saved/2-8~"}) {
    folder_.write(std::string(each) + "/file", "x");
  }
  remove({.jobs = {2}, .runs = {1}});
  EXPECT_FALSE(has("runs/1-11"));
  for (const char* each : {"runs/1", "runs/1-11.old", "runs/1x-11", "saved/2 copy", "saved/2-8~"}) {
    EXPECT_TRUE(has(each)) << each;
  }
}

// A long-lived job has had many runs.
TEST_F(RunFolderGc, RemovesRunsButKeepsTheCheckpointsOfTheirJob) {
  remove({.jobs = {}, .runs = {1, 2}});
  EXPECT_FALSE(has("runs/1-11"));
  EXPECT_FALSE(has("runs/2-12"));
  EXPECT_TRUE(has("runs/20-13/file"));
  EXPECT_TRUE(has("saved/1-7/file"));
  EXPECT_TRUE(has("saved/2-8/file"));
}

TEST_F(RunFolderGc, RemovesTheCheckpointsOfJobs) {
  remove({.jobs = {2}, .runs = {}});
  EXPECT_TRUE(has("saved/1-7/file"));
  EXPECT_FALSE(has("saved/2-8"));
  EXPECT_TRUE(has("runs/2-12/file"));
}

TEST_F(RunFolderGc, IgnoresFoldersThatDoNotExist) {
  remove({.jobs = {99}, .runs = {99}});
  remove_trimmed(folder_.at("nowhere"), folder_.at("nowhere"), {.jobs = {1}, .runs = {1}}, false);
  EXPECT_TRUE(has("runs/1-11/file"));
  EXPECT_TRUE(has("saved/1-7/file"));
}

}  // namespace
}  // namespace tangram::daemon
