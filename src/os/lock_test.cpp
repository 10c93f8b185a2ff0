// Locks of open files: exclusive, can be queried, released when the file is closed.
#include "os/lock.hpp"

#include <cerrno>
#include <fcntl.h>
#include <optional>

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
  EXPECT_FALSE(is_locked(path));
  EXPECT_EQ(take_lock(first->get()), 0);
  EXPECT_TRUE(is_locked(path));
  EXPECT_EQ(take_lock(second.get()), EAGAIN);
  first.reset();
  EXPECT_FALSE(is_locked(path));
  EXPECT_EQ(take_lock(second.get()), 0);
}

TEST(Lock, OfAMissingFileIsNotHeld) {
  const testing::Folder base;
  EXPECT_FALSE(is_locked(base.at("lock")));
  EXPECT_EQ(take_lock(-1), EBADF);
}

}  // namespace
}  // namespace tangram::os
