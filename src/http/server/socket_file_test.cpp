// The lock file beside the daemon's socket: only a private one is used, and a held lock is waited
// for, for a bounded time.
#include "http/server/socket_file.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "os/descriptor.hpp"
#include "os/lock.hpp"
#include "tests/support/http/temp_folder.hpp"

namespace tangram::http {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

class SocketFiles : public ::testing::Test {
 protected:
  // Listens and removes the file; returns the error's message, or "" if that succeeded.
  std::string listen(milliseconds time = milliseconds(0)) {
    const auto on_wait = [this](const std::string&) { ++waits_; };
    const auto file = listen_at(socket_, 0666, {.time = time, .on_wait = on_wait});
    if (!file) return file.error().message;
    ::close(file->descriptor);
    remove(*file);
    return "";
  }
  // Takes the lock as another daemon would.
  os::Descriptor hold() const {
    os::Descriptor file(::open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(os::take_lock(file.get()), 0);
    return file;
  }

  testing::TempFolder folder_;
  std::string socket_ = folder_.path() / "api.sock";
  fs::path lock_ = folder_.path() / ".api.sock.lock";
  int waits_ = 0;
};

TEST_F(SocketFiles, LeaveAPrivateLockFile) {
  EXPECT_EQ(listen(), "");
  EXPECT_EQ(fs::status(lock_).permissions(), fs::perms(0600));
  EXPECT_FALSE(fs::exists(socket_));
  EXPECT_EQ(listen(), "");
  EXPECT_EQ(waits_, 0);
}

TEST_F(SocketFiles, WaitForAHeldLockForABoundedTime) {
  const os::Descriptor held = hold();
  EXPECT_THAT(listen(milliseconds(50)), HasSubstr("another tangramd is starting or ending there"));
  EXPECT_EQ(waits_, 1);
  EXPECT_FALSE(fs::exists(socket_));
}

TEST_F(SocketFiles, AreMadeWhenTheLockIsReleased) {
  os::Descriptor held = hold();
  const auto release = [&](const std::string&) { const os::Descriptor closed = std::move(held); };
  const auto file = listen_at(socket_, 0666, {.time = milliseconds(60'000), .on_wait = release});
  ASSERT_TRUE(file) << file.error().message;
  ::close(file->descriptor);
}

// The daemon that holds the lock is about to replace the file, which may be its own already.
TEST_F(SocketFiles, AreNotRemovedWhileAnotherDaemonStarts) {
  const auto file = listen_at(socket_, 0666);
  ASSERT_TRUE(file) << file.error().message;
  ::close(file->descriptor);
  {
    const os::Descriptor held = hold();
    remove(*file);
    EXPECT_TRUE(fs::exists(socket_));
  }
  remove(*file);
  EXPECT_FALSE(fs::exists(socket_));
}

TEST_F(SocketFiles, RefuseALockFileThatOthersCanOpenOrThatIsNotAFile) {
  const auto expect_refused = [&](const char* what) {
    EXPECT_THAT(listen(), HasSubstr("not a regular file that only this user can open")) << what;
    EXPECT_FALSE(fs::exists(socket_)) << what;
    fs::remove(lock_);
  };
  std::ofstream(lock_).close();
  fs::permissions(lock_, fs::perms(0644));
  expect_refused("readable by others");
  std::ofstream(folder_.path() / "other").close();
  fs::permissions(folder_.path() / "other", fs::perms(0600));
  fs::create_symlink(folder_.path() / "other", lock_);
  expect_refused("symbolic link");
  ASSERT_EQ(::mkfifo(lock_.c_str(), 0600), 0);
  expect_refused("FIFO");
  if (::geteuid() != 0) return;
  std::ofstream(lock_).close();
  fs::permissions(lock_, fs::perms(0600));
  ASSERT_EQ(::chown(lock_.c_str(), 65534, 65534), 0);
  expect_refused("of another user");
  fs::create_directory(lock_);
  EXPECT_THAT(listen(), HasSubstr("cannot open the lock file"));
}

}  // namespace
}  // namespace tangram::http
