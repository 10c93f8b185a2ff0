// Every scenario in this folder, one test each: the results must be as written. Regenerate with
// TANGRAM_REGENERATE=1, then review the difference as carefully as code.
#include "scenario.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

namespace tangram::scenario {
namespace {

namespace fs = std::filesystem;

const fs::path kDirectory = fs::path(TANGRAM_TESTS_DIR) / "scenarios";

std::vector<std::string> all() {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(kDirectory)) {
    const fs::path& file = entry.path();
    if (file.extension() != ".txt" || file.filename() == "CMakeLists.txt") continue;
    names.push_back(fs::relative(file, kDirectory).string());
  }
  std::ranges::sort(names);
  return names;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, GoesAsWritten) {
  const fs::path file = kDirectory / GetParam();
  const auto expected = read_text(file);
  ASSERT_TRUE(expected) << expected.error().message;
  const auto actual = replay(GetParam(), *expected);
  ASSERT_TRUE(actual) << actual.error().message;
  if (std::getenv("TANGRAM_REGENERATE") != nullptr) {
    std::ofstream(file) << *actual;
    return;
  }
  EXPECT_EQ(first_difference(*expected, *actual), "")
      << "in " << GetParam() << "; if this is how it should be: TANGRAM_REGENERATE=1";
}

INSTANTIATE_TEST_SUITE_P(All, Scenario, ::testing::ValuesIn(all()), [](const auto& each) {
  std::string name = each.param.substr(0, each.param.rfind('.'));
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == '-'; }, '_');
  return name;
});

TEST(ScenarioFile, EveryOneSaysFirstWhatItShows) {
  EXPECT_GE(all().size(), 30U);
  for (const std::string& name : all()) {
    const auto text = read_text(kDirectory / name);
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->starts_with("# ")) << name;
  }
}

std::string error_of(const std::string& text) {
  const auto result = replay("x.txt", text);
  return result ? std::string() : result.error().message;
}

TEST(ScenarioFile, ABadLineIsNamedWithItsReason) {
  EXPECT_TRUE(error_of("> submit job 1 2g.10gb\n").starts_with("x.txt:1: there is no node yet."));
  const std::string node = "> node A100-40GB\n";
  EXPECT_TRUE(error_of(node + "\n> frobnicate\n").starts_with("x.txt:3: no input line begins"));
  EXPECT_TRUE(error_of(node + ">show\n").starts_with("x.txt:2: an input line begins with"));
  EXPECT_TRUE(error_of(node + "> submit job x 2g.10gb\n")
                  .starts_with("x.txt:2: expected the number of a job, not 'x'."));
  EXPECT_TRUE(error_of(node + "> cordon gpu 7\n").starts_with("x.txt:2: no GPU 7."));
  EXPECT_TRUE(error_of(node + "> at noon\n").starts_with("x.txt:2: 'noon' is no time"));
  EXPECT_TRUE(error_of(node + "> created gpu 0 start 4\n")
                  .starts_with("x.txt:2: no such action waits for an answer."));
  EXPECT_TRUE(error_of(node + "> tune colour=red\n").starts_with("x.txt:2: unknown option"));
  EXPECT_TRUE(error_of(node + "> show me\n").starts_with("x.txt:2: did not understand 'me'."));
  EXPECT_TRUE(error_of("> node A100-41GB\n").starts_with("x.txt:1: "));
}

TEST(ScenarioFile, ADifferenceIsShownByLine) {
  EXPECT_EQ(first_difference("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(first_difference("a\nb\n", "a\nc\n"), "line 2\n  expected: b\n  but was:  c");
  EXPECT_EQ(first_difference("a\n", "a\nc\n"), "line 2\n  expected: (the end)\n  but was:  c");
}

}  // namespace
}  // namespace tangram::scenario
