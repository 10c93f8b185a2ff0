// Locks of open files: exclusive, can be queried, released when the file is closed.
#include "os/lock.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "os/descriptor.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::os {
namespace {

TEST(Lock, IsHeldByOneOpenFileUntilItIsClosed) {
  const testing::Folder base;
  const std::string path = base.write("lock", "");
  std::optional<Descriptor> first(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const Descriptor second(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(lock_state(path), LockState::kFree);
  EXPECT_EQ(take_lock(first->get()), 0);
  EXPECT_EQ(lock_state(path), LockState::kHeld);
  EXPECT_EQ(take_lock(second.get()), EAGAIN);
  first.reset();
  EXPECT_EQ(lock_state(path), LockState::kFree);
  EXPECT_EQ(take_lock(second.get()), 0);
}

TEST(Lock, OfAMissingFileIsNotHeld) {
  const testing::Folder base;
  EXPECT_EQ(lock_state(base.at("lock")), LockState::kFree);
  base.write("file", "");
  EXPECT_EQ(lock_state(base.at("file/lock")), LockState::kFree);
  EXPECT_EQ(take_lock(-1), EBADF);
}

TEST(Lock, OfAFileThatCannotBeOpenedIsUnknown) {
  const testing::Folder base;
  const std::string path = base.write("lock", "");
  std::filesystem::create_symlink(path, base.at("link"));
  EXPECT_EQ(lock_state(base.at("link")), LockState::kUnknown);
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const LockState state = lock_state(path);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(state, LockState::kUnknown);
  EXPECT_EQ(lock_state(path), LockState::kFree);
}

}  // namespace
}  // namespace tangram::os
