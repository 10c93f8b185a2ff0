// The mark of a run's processes (TANGRAM_RUN) is random and told to the run only; runs that an
// earlier version started are ended by the mark in their folder.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <boost/json/serialize.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// A line that the job writes to the file `name` of the node's folder.
std::string line_in(const Node& node, const std::string& name) {
  std::string line;
  eventually(name + " is written", [&] {
    line = node.folder().has(name) ? node.folder().read(name) : "";
    return line.ends_with('\n');
  });
  return line.substr(0, line.find('\n'));
}

bool has(const std::vector<pid_t>& pids, pid_t pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(RunMark, IsRandomAndKnownToTheRunOnly) {
  Node node;
  node.start();
  const auto id =
      node.submit("1g.5gb", cat("echo $TANGRAM_RUN > ", node.at("mark"), "; exec sleep 1000"));
  node.await(id, "running");
  const std::string mark = line_in(node, "mark");
  EXPECT_THAT(mark, MatchesRegex("[0-9a-f]{32}"));
  const std::vector<std::string> targets{cat("/v1/jobs/", id), "/v1/jobs?all=true",
                                         "/v1/events?after=0&follow=false",
                                         cat("/v1/explain/", id)};
  for (const std::string& target : targets) {
    const auto answer = node.try_call("GET", target, std::nullopt);
    const std::string text = answer ? boost::json::serialize(*answer) : "";
    EXPECT_THAT(text, Not(HasSubstr(mark))) << target;
  }
  EXPECT_THAT(node.log(), Not(HasSubstr(mark)));
  int private_files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(node.state_dir())) {
    if (!entry.is_regular_file() || text_of(entry.path()).find(mark) == std::string::npos) continue;
    struct stat status{};
    ASSERT_EQ(::stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0077U, 0U) << entry.path();
    ++private_files;
  }
  EXPECT_EQ(private_files, 2);  // spec.json and started
}

// The shim and the daemon were killed; what the run has left has the mark of the earlier version.
TEST(RunMark, OfAnEarlierVersionIsReadFromTheFolder) {
  Node node;
  node.start();
  const std::string old_mark = cat("old-node/1-", ::getpid());
  const auto id = node.submit(
      "1g.5gb", cat("echo $TANGRAM_RUN > ", node.at("mark"), "; TANGRAM_RUN=", old_mark,
                    " setsid sleep 1000 & echo $! > ", node.at("left"), "; exec sleep 1000"));
  node.await(id, "running");
  const std::string mark = line_in(node, "mark");
  const auto left = static_cast<pid_t>(std::stoi(line_in(node, "left")));
  node.kill();
  for (const auto& run : fs::directory_iterator(node.at("state/runs"))) {
    for (const char* name : {"spec.json", "started"}) {
      std::string text = text_of(run.path() / name);
      const auto at = text.find(mark);
      ASSERT_NE(at, std::string::npos) << name;
      text.replace(at, mark.size(), old_mark);
      std::ofstream(run.path() / name, std::ios::binary) << text;
    }
  }
  for (const pid_t shim : node.shims()) ::kill(shim, SIGKILL);
  EXPECT_TRUE(has(node.run_processes(), left));
  node.start();
  EXPECT_EQ(node.await(id, "over").at("reason"), "shim lost");
  EXPECT_FALSE(has(node.run_processes(), left));
}

}  // namespace
}  // namespace tangram::tests
