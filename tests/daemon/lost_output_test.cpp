// The disk of the logs is full until a job ends: its reason says how much of its output was lost.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"
#include "tests/support/os/small_disk.hpp"

namespace tangram::tests {
namespace {

using ::testing::HasSubstr;

TEST(LostOutput, IsToldInTheReason) {
  Node node;
  std::filesystem::create_directories(node.state_dir());
  const os::testing::SmallDisk disk(node.at("state/runs"), "size=1m,mode=700");
  if (!disk.is_mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  node.start();
  const auto id =
      node.submit("1g.5gb", cat("echo > ", node.at("up"), "; until [ -e ", node.at("full"),
                                " ]; do sleep 0.01; done; head -c 20000 /dev/zero"));
  eventually("it runs", [&] { return node.folder().has("up"); });
  disk.fill();
  node.folder().write("full", "");
  const auto job = node.await(id, "over");
  EXPECT_EQ(job.at("exit_code"), 0);
  EXPECT_EQ(job.at("state"), "completed");
  EXPECT_THAT(std::string(job.at("reason").as_string()),
              HasSubstr("bytes of its output were lost"));
  EXPECT_THAT(node.tangram({"show", std::to_string(id)}), HasSubstr("of its output were lost"));
}

}  // namespace
}  // namespace tangram::tests
