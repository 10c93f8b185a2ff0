// See lost_found.hpp.
#include "daemon/runs/lost_found.hpp"

#include <chrono>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/runs/run_folder_gc.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::daemon {
namespace {

using std::chrono::hours;

constexpr store::WallTime kTime{std::chrono::seconds(1'795'040'764)};

TEST(LostFound, NamesAreTimes) {
  EXPECT_EQ(lost_found_name(kTime), "20261118T222604Z");
  EXPECT_EQ(parse_lost_found_name("20261118T222604Z"), kTime);
  for (const char* each : {"", "x", "20261118T222604", "20261118T222604Zx", "2026-11-18T22:26:04Z",
                           "20261318T222604Z", " 20261118T222604Z"}) {
    EXPECT_FALSE(parse_lost_found_name(each)) << each;
  }
}

TEST(LostFound, MovesAFolderWithItsContent) {
  const os::testing::Folder base;
  base.write("runs/7-12/stdout.log", "precious");
  ASSERT_EQ(chmod(base.at("runs/7-12").c_str(), 0750), 0);
  const auto place = move_to_lost_found(base.at("lost+found"), "runs", base.at("runs/7-12"), kTime);
  ASSERT_TRUE(place) << place.error().message;
  EXPECT_EQ(*place, base.at("lost+found/20261118T222604Z/runs/7-12"));
  EXPECT_EQ(base.read("lost+found/20261118T222604Z/runs/7-12/stdout.log"), "precious");
  EXPECT_FALSE(base.has("runs/7-12"));
  struct stat status{};
  ASSERT_EQ(stat(place->c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0750U);
  ASSERT_EQ(stat(base.at("lost+found").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

TEST(LostFound, OverwritesNothing) {
  const os::testing::Folder base;
  base.write("runs/7-12/file", "new");
  base.write("lost+found/20261118T222604Z/runs/7-12/file", "old");
  const auto place = move_to_lost_found(base.at("lost+found"), "runs", base.at("runs/7-12"), kTime);
  ASSERT_FALSE(place);
  EXPECT_THAT(place.error().message, testing::HasSubstr("exists"));
  EXPECT_EQ(base.read("lost+found/20261118T222604Z/runs/7-12/file"), "old");
  EXPECT_EQ(base.read("runs/7-12/file"), "new");
}

TEST(LostFound, RemovesWhatIsTooOld) {
  const os::testing::Folder base;
  std::atomic<bool> cancelled = false;
  base.write("lost+found/20261118T222604Z/runs/7-12/file", "x");
  base.write("lost+found/20261118T222604Z/checkpoints/1-2/deep/file", "x");
  base.write("lost+found/20261119T222604Z/runs/8-12/file", "x");
  base.write("lost+found/keep/runs/7-12/file", "x");
  remove_old_lost_found(base.at("lost+found"), kTime, cancelled);
  EXPECT_TRUE(base.has("lost+found/20261118T222604Z/runs/7-12/file"));
  remove_old_lost_found(base.at("lost+found"), kTime + hours(1), cancelled);
  EXPECT_FALSE(base.has("lost+found/20261118T222604Z"));
  EXPECT_TRUE(base.has("lost+found/20261119T222604Z/runs/8-12/file"));
  EXPECT_TRUE(base.has("lost+found/keep/runs/7-12/file"));
  remove_old_lost_found(base.at("nowhere"), kTime, cancelled);
}

}  // namespace
}  // namespace tangram::daemon
