// Removal of trees that their user controls: depth, links, rights, limits.
#include "os/remove_tree.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "tests/support/os/folder.hpp"
#include "tests/support/os/hung_mount.hpp"

namespace tangram::os {
namespace {

using testing::Folder;
using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

// Creates `levels` folders named `name`, one in the other, some with a file.
void make_deep(const std::string& top, int levels, const char* name) {
  Descriptor at(open(top.c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(mkdirat(at.get(), name, 0700), 0) << i;
    Descriptor below(openat(at.get(), name, O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(below.ok());
    at = std::move(below);
    if (i % 16 != 0) continue;
    ASSERT_TRUE(Descriptor(openat(at.get(), "file", O_CREAT | O_WRONLY, 0600)).ok());
  }
}

// Calls remove_tree() in a child process that may have at most `descriptors` open, as `uid`.
// Returns 0 if the tree was removed.
int remove_in_child(const std::string& path, rlim_t descriptors, uid_t uid = 0) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{descriptors, descriptors};
    for (int fd = 3; fd < 1024; ++fd) close(fd);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(3);
    if (uid != 0 && setuid(uid) != 0) _exit(4);
    const auto removed = remove_tree(path);
    _exit(removed && *removed ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RemoveTree, RemovesFilesFoldersAndLinks) {
  const Folder base;
  base.write("tree/a/b/c", "x");
  base.write("tree/.removing-0", "x");
  base.write("tree/.removing-1/x/y", "x");
  std::filesystem::create_directories(base.at("tree/empty/empty"));
  ASSERT_EQ(mkfifo(base.at("tree/a/pipe").c_str(), 0600), 0);
  const auto removed = remove_tree(base.at("tree"));
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(*removed);
  EXPECT_FALSE(base.has("tree"));
  EXPECT_TRUE(remove_tree(base.at("tree")));  // there is none
}

// As deep as a user likes: with 32 descriptors, std::filesystem::remove_all() fails at level 29.
TEST(RemoveTree, NeedsFewDescriptorsForADeepTree) {
  const Folder base;
  std::filesystem::create_directory(base.at("tree"));
  make_deep(base.at("tree"), 10'000, "d");
  ASSERT_EQ(remove_in_child(base.at("tree"), 32), 0);
  EXPECT_FALSE(base.has("tree"));
}

TEST(RemoveTree, DoesNotFollowLinks) {
  const Folder base;
  base.write("outside/kept", "x");
  base.write("tree/a/b/file", "x");
  std::filesystem::create_directory_symlink(base.at("outside"), base.at("tree/link"));
  std::filesystem::create_directory_symlink(base.at("outside"), base.at("tree/a/b/link"));
  std::filesystem::create_directory_symlink(base.at("outside"), base.at("top"));
  ASSERT_TRUE(remove_tree(base.at("tree")));
  EXPECT_FALSE(base.has("tree"));
  EXPECT_FALSE(remove_tree(base.at("top")));
  EXPECT_TRUE(base.has("outside/kept"));
}

TEST(RemoveTree, StopsAtItsLimits) {
  const Folder base;
  base.write("tree/a/b/file", "x");
  const auto late = remove_tree(base.at("tree"), {.until = std::chrono::steady_clock::now()});
  ASSERT_TRUE(late);
  EXPECT_FALSE(*late);
  const std::atomic<bool> cancelled = true;
  const auto stopped = remove_tree(base.at("tree"), {.cancelled = &cancelled});
  ASSERT_TRUE(stopped);
  EXPECT_FALSE(*stopped);
  EXPECT_TRUE(base.has("tree/a/b/file"));
}

TEST(RemoveTree, UnlocksFoldersOfTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Folder base;
  ASSERT_EQ(chmod(base.at("").c_str(), 0711), 0);
  for (const char* each : {"tree/none/x/y", "tree/a/locked/x/y", "tree/a/readonly/x/y"}) {
    std::filesystem::create_directories(base.at(each));
  }
  for (const auto& each : std::filesystem::recursive_directory_iterator(base.at("tree"))) {
    ASSERT_EQ(lchown(each.path().c_str(), kNobody, kNobody), 0);
  }
  ASSERT_EQ(chown(base.at("tree").c_str(), kNobody, kNobody), 0);
  for (const char* each : {"tree/none", "tree/a/locked"}) {
    ASSERT_EQ(chmod(base.at(each).c_str(), 0), 0);
  }
  ASSERT_EQ(chmod(base.at("tree/a/readonly").c_str(), 0500), 0);
  const auto removed = remove_tree(base.at("tree"));
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(base.has("tree"));
  EXPECT_EQ(geteuid(), 0U);
  base.write("after", "x");  // the thread has its rights again
  struct stat status{};
  ASSERT_EQ(stat(base.at("after").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
}

// Root removes a user's folder with the rights of that user: what others own there stays.
TEST(RemoveTree, HasOnlyTheRightsOfTheOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Folder base;
  base.write("tree/own", "x");
  base.write("tree/of-root/file", "x");
  ASSERT_EQ(chmod(base.at("tree/of-root").c_str(), 0755), 0);
  for (const char* each : {"tree", "tree/own"}) {
    ASSERT_EQ(chown(base.at(each).c_str(), kNobody, kNobody), 0);
  }
  const auto removed = remove_tree(base.at("tree"));
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("Permission denied"));
  EXPECT_FALSE(base.has("tree/own"));
  EXPECT_TRUE(base.has("tree/of-root/file"));
}

// What a user mounts in a folder of theirs is neither entered nor waited for.
TEST(RemoveTree, DoesNotWaitForAMountThatHangs) {
  const Folder base;
  base.write("tree/file", "x");
  std::filesystem::create_directories(base.at("tree/below"));
  const auto top = std::make_unique<testing::HungMount>(base.at("tree"), kNobody);
  if (!top->is_mounted()) GTEST_SKIP() << "needs root and FUSE, to mount a file system that hangs";
  const auto removed = remove_tree(base.at("tree"));
  ASSERT_FALSE(removed);
  EXPECT_THAT(removed.error().message, HasSubstr("busy"));
}

TEST(RemoveTree, DoesNotWaitForAMountBelowThatHangs) {
  const Folder base;
  base.write("tree/below/file", "x");
  const testing::HungMount below(base.at("tree/below"), kNobody);
  if (!below.is_mounted()) GTEST_SKIP() << "needs root and FUSE, to mount a file system that hangs";
  EXPECT_FALSE(remove_tree(base.at("tree")));
}

}  // namespace
}  // namespace tangram::os
