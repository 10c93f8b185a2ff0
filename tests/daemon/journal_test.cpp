// The daemon's log in systemd's journal: a line begins with its level, which the journal takes off,
// and has no time, because the journal has its own (sd-daemon(3), JOURNAL_STREAM).
#include <cstdlib>
#include <regex>
#include <sstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

// Starts the node with JOURNAL_STREAM naming its log, or the log of another node.
std::string log_of(Node& node, const std::string& stream) {
  node.folder().write("log", "");
  struct stat file{};
  EXPECT_EQ(::stat(stream.c_str(), &file), 0);
  ::setenv("JOURNAL_STREAM", cat(file.st_dev, ":", file.st_ino).c_str(), 1);
  node.start();
  ::unsetenv("JOURNAL_STREAM");
  node.folder().write("tangram.toml", "nonsense = 1\n");
  node.reload();
  eventually("the error is logged",
             [&] { return node.log().find("not reloaded") != std::string::npos; });
  return node.log();
}

TEST(JournalLog, LinesBeginWithTheirLevel) {
  Node node;
  std::istringstream lines(log_of(node, node.at("log")));
  const std::regex form("<[3-7]>[^0-9<].*");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_TRUE(std::regex_match(line, form)) << line;
  }
  EXPECT_GT(count, 1);
  EXPECT_THAT(node.log(), ::testing::HasSubstr("<6>tangramd "));
  EXPECT_THAT(node.log(), ::testing::HasSubstr("<3>configuration not reloaded"));
}

TEST(JournalLog, IsOnlyForTheJournalsOwnStream) {
  Node node;
  const std::string log = log_of(node, "/dev/null");
  EXPECT_EQ(log.find("<6>"), std::string::npos) << log;
  EXPECT_TRUE(std::regex_search(log, std::regex("\\d{4}-\\d\\d-\\d\\d \\d\\d:.* info ")));
}

}  // namespace
}  // namespace tangram::tests
