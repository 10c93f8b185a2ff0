// See cli_check.hpp.
#include "cli_check.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"

namespace tangram::tests {

Ended tangram_run(const Words& words, const std::string& input, const Words& environment) {
  return run_program(TANGRAM_BINARY, words, input, environment);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const Words& words, const std::string& input) {
  const Ended ended = tangram_run(words, input);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  const std::string path = cat(TANGRAM_TESTS_DIR "/e2e/golden/", name, ".txt");
  if (std::getenv("TANGRAM_REGENERATE") != nullptr) std::ofstream(path) << ended.out;
  EXPECT_EQ(ended.out, read_text(path)) << "TANGRAM_REGENERATE=1 accepts the new output";
}

void expect_refused(const Ended& ended, const std::string& message) {
  EXPECT_EQ(ended.code, 2) << message;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, cat("tangram: ", message, "\n"));
}

}  // namespace tangram::tests
