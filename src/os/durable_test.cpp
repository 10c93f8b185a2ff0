// Durable files: contents, permissions and error messages.
#include "os/durable.hpp"

#include <filesystem>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/os/folder.hpp"

namespace tangram::os {
namespace {

using ::testing::AllOf;
using testing::Folder;
using ::testing::HasSubstr;

TEST(Durable, AFileIsWrittenWholeForItsOwnerOnly) {
  const Folder base;
  ASSERT_TRUE(write_durably(base.at("f"), "a longer text"));
  ASSERT_TRUE(write_durably(base.at("f"), "short"));
  EXPECT_EQ(base.read("f"), "short");
  struct stat status{};
  ASSERT_EQ(::stat(base.at("f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST(Durable, ALinkIsNotFollowed) {
  const Folder base;
  base.write("theirs", "kept");
  std::filesystem::create_symlink("theirs", base.at("f"));
  EXPECT_FALSE(write_durably(base.at("f"), "new"));
  EXPECT_EQ(base.read("theirs"), "kept");
}

TEST(Durable, ReplacingAFileLeavesNoOtherFile) {
  const Folder base;
  base.write("f", "old");
  ASSERT_TRUE(replace_durably(base.at("f"), "new"));
  EXPECT_EQ(base.read("f"), "new");
  EXPECT_FALSE(base.has("f.new"));
}

TEST(Durable, ReportsAFileThatCannotBeCreated) {
  const Folder base;
  const auto written = write_durably(base.at("no/f"), "");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, AllOf(HasSubstr("no/f"), HasSubstr("No such file")));
  EXPECT_TRUE(sync_with_parent(base.at("")));
  EXPECT_FALSE(sync_with_parent(base.at("no")));
}

}  // namespace
}  // namespace tangram::os
