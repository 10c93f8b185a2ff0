// Locks of open files: taken once, asked after by anybody, gone with the file that holds them.
#include "files/lock.hpp"

#include <cerrno>
#include <fcntl.h>
#include <optional>

#include <gtest/gtest.h>

#include "files/descriptor.hpp"
#include "files/test_folder.hpp"

namespace tangram::files {
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

TEST(Lock, OfWhatIsNotThereIsHeldByNobody) {
  const testing::Folder base;
  EXPECT_FALSE(is_locked(base.at("lock")));
  EXPECT_EQ(take_lock(-1), EBADF);
}

}  // namespace
}  // namespace tangram::files
