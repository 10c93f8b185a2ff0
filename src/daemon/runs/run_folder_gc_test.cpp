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
    remove_trimmed(folder_.at("runs"), folder_.at("saved"), gone);
  }
  [[nodiscard]] bool has(const char* what) const { return folder_.has(what); }

  os::testing::Folder folder_;
};

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
  remove_trimmed(folder_.at("nowhere"), folder_.at("nowhere"), {.jobs = {1}, .runs = {1}});
  EXPECT_TRUE(has("runs/1-11/file"));
  EXPECT_TRUE(has("saved/1-7/file"));
}

}  // namespace
}  // namespace tangram::daemon
