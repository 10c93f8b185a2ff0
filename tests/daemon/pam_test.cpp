// PAM sessions of jobs, as far as the daemon is concerned; the sessions themselves are tested with
// the shim (src/shim/pam_session_test.cpp).
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string spec_of_only_run(const Node& node) {
  for (const auto& run : std::filesystem::directory_iterator(node.state_dir() + "/runs")) {
    return node.folder().read(cat("state/runs/", run.path().filename().string(), "/spec.json"));
  }
  return "";
}

// Whether the job may run is a matter of the machine's own PAM service.
TEST(Pam, TheShimIsToldTheUserAndTheLimitOfFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to open PAM sessions";
  Node node({.config = "[jobs]\npam = true\n"});
  node.start();
  node.await(node.submit("1g.5gb", "true"), "over");
  const std::string spec = spec_of_only_run(node);
  EXPECT_THAT(spec, HasSubstr(R"("pam":{"user":"root","folder":"","nofile":{"soft":)"));
  EXPECT_THAT(spec, HasSubstr(R"("resource_limits":{})"));
}

TEST(Pam, IsOffByDefault) {
  Node node;
  node.start();
  node.await(node.submit("1g.5gb", "true"), "completed");
  EXPECT_THAT(spec_of_only_run(node), Not(HasSubstr("\"pam\"")));
}

}  // namespace
}  // namespace tangram::tests
