// Sockets in folders with long paths.
#include "os/local_socket.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/os/folder.hpp"

namespace tangram::os {
namespace {

using ::testing::HasSubstr;

class LocalSocket : public ::testing::Test {
 protected:
  LocalSocket() : path_(base_.at(std::string(150, 'x'))) {
    std::filesystem::create_directory(path_);
    folder_ = Descriptor(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  testing::Folder base_;
  std::string path_;
  Descriptor folder_{-1};
};

TEST_F(LocalSocket, IsReachedInAFolderWithALongPath) {
  const auto listening = listen_in(folder_.get(), "s", "the socket", 1);
  ASSERT_TRUE(listening) << listening.error().message;
  struct stat status{};
  ASSERT_EQ(::stat((path_ + "/s").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  const auto connection = connect_in(path_, "s");
  ASSERT_TRUE(connection) << connection.error().message;
  EXPECT_TRUE(Descriptor(::accept(listening->get(), nullptr, nullptr)).ok());
}

TEST_F(LocalSocket, AStaleSocketIsReplaced) {
  {
    ASSERT_TRUE(listen_in(folder_.get(), "s", "the socket", 1));
  }
  const auto refused = connect_in(path_, "s");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("Connection refused"));
  const auto listening = listen_in(folder_.get(), "s", "the socket", 1);
  ASSERT_TRUE(listening);
  EXPECT_TRUE(connect_in(path_, "s"));
}

TEST_F(LocalSocket, ReportsWhatFailed) {
  std::filesystem::create_directory(path_ + "/s");
  const auto listening = listen_in(folder_.get(), "s", "the socket", 1);
  ASSERT_FALSE(listening);
  EXPECT_EQ(listening.error().message, "cannot bind the socket: Address already in use.");
  EXPECT_THAT(connect_in(base_.at("no"), "s").error().message, HasSubstr("cannot open the folder"));
}

}  // namespace
}  // namespace tangram::os
