// The lock that keeps two starting daemons apart: no other user can hold it, and waiting for it is
// bounded and reported.
#include <csignal>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "node.hpp"
#include "os/descriptor.hpp"
#include "os/lock.hpp"
#include "other_user.hpp"

namespace tangram::tests {
namespace {

using ::testing::HasSubstr;

// A process of the user "nobody" that holds a flock() on a folder until this object is destroyed.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    int ends[2];
    CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      const bool is_other = ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
      const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
      const char result = is_other && ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? '1' : '0';
      if (::write(ends[1], &result, 1) == 1) ::pause();
      ::_exit(0);
    }
    ::close(ends[1]);
    char result = '0';
    is_held_ = ::read(ends[0], &result, 1) == 1 && result == '1';
    ::close(ends[0]);
  }
  ~FolderLock() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  FolderLock(FolderLock&&) = delete;
  FolderLock& operator=(FolderLock&&) = delete;

  [[nodiscard]] bool is_held() const { return is_held_; }

 private:
  pid_t pid_ = -1;
  bool is_held_ = false;
};

TEST(SocketLock, CannotBeHeldByAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to act as other users";
  Node node;
  allow_other_users(node);
  const FolderLock lock(node.at("."));
  ASSERT_TRUE(lock.is_held());
  ASSERT_NO_FATAL_FAILURE(node.start());
  struct stat status{};
  ASSERT_EQ(::lstat(node.at(".socket.lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  node.stop();
  node.start();
}

class HeldSocketLock : public ::testing::Test {
 protected:
  HeldSocketLock()
      : lock_(::open(node_.folder().write(".socket.lock", "").c_str(), O_RDWR | O_CLOEXEC)) {
    CHECK(::fchmod(lock_.get(), 0600) == 0);
    CHECK(os::take_lock(lock_.get()) == 0);
  }
  void release() { const os::Descriptor closed = std::move(lock_); }

  Node node_;
  os::Descriptor lock_;
};

TEST_F(HeldSocketLock, EndsAStartAfterABoundedWait) {
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(node_.start_and_fail(), 1);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
  EXPECT_THAT(node_.log(), HasSubstr("waiting for another tangramd"));
  EXPECT_THAT(node_.log(), HasSubstr("another tangramd is starting or ending there"));
}

TEST_F(HeldSocketLock, DelaysAStartUntilItIsReleased) {
  std::thread releaser([this] {
    eventually("the daemon waits", [&] {
      return node_.log().find("waiting for another tangramd") != std::string::npos;
    });
    release();
  });
  node_.start();
  releaser.join();
}

}  // namespace
}  // namespace tangram::tests
