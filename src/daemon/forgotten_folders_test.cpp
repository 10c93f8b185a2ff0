// See forgotten_folders.hpp.
#include "daemon/forgotten_folders.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "files/test_folder.hpp"

namespace tangram::daemon {
namespace {

class ForgottenFolders : public testing::Test {
 protected:
  ForgottenFolders() {
    for (const char* each : {"runs/1-11", "runs/2-12", "runs/20-13", "saved/1-7", "saved/2-8"}) {
      std::filesystem::create_directories(folder_.at(each));
      folder_.write(std::string(each) + "/file", "x");
    }
  }
  void remove(const store::Trimmed& gone) const {
    remove_forgotten(folder_.at("runs"), folder_.at("saved"), gone);
  }
  [[nodiscard]] bool has(const char* what) const { return folder_.has(what); }

  files::testing::Folder folder_;
};

// A job that lives for long has had many runs.
TEST_F(ForgottenFolders, OfRunsLeaveTheirJobsCheckpoints) {
  remove({.jobs = {}, .runs = {1, 2}});
  EXPECT_FALSE(has("runs/1-11"));
  EXPECT_FALSE(has("runs/2-12"));
  EXPECT_TRUE(has("runs/20-13/file"));
  EXPECT_TRUE(has("saved/1-7/file"));
  EXPECT_TRUE(has("saved/2-8/file"));
}

TEST_F(ForgottenFolders, OfJobsAreTheirCheckpoints) {
  remove({.jobs = {2}, .runs = {}});
  EXPECT_TRUE(has("saved/1-7/file"));
  EXPECT_FALSE(has("saved/2-8"));
  EXPECT_TRUE(has("runs/2-12/file"));
}

TEST_F(ForgottenFolders, ThatAreNotThereAreNoTrouble) {
  remove({.jobs = {99}, .runs = {99}});
  remove_forgotten(folder_.at("nowhere"), folder_.at("nowhere"), {.jobs = {1}, .runs = {1}});
  EXPECT_TRUE(has("runs/1-11/file"));
  EXPECT_TRUE(has("saved/1-7/file"));
}

}  // namespace
}  // namespace tangram::daemon
