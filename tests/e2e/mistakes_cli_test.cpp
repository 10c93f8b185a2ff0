// Error messages for invalid command lines: they name the option, the mistake and the allowed
// values, in terms of the command line, not of CLI11 or the API.
#include <gtest/gtest.h>

#include "cli_check.hpp"

namespace tangram::tests {
namespace {

struct Mistake {
  Words typed;
  const char* message;
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

// Prints the words instead of bytes on failure.
void PrintTo(const Mistake& mistake, std::ostream* out) {
  for (const std::string& word : mistake.typed) *out << word << ' ';
}

TEST_P(Mistakes, AreReported) {
  Words words = GetParam().typed;
  expect_refused(tangram_run(words, "", {"TANGRAM_SOCKET=/nonexistent/s"}), GetParam().message);
}

Words submitted(Words options) {
  options.insert(options.begin(), {"submit", "-p", "1g.5gb"});
  options.insert(options.end(), {"--", "true"});
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    OfOptions, Mistakes,
    ::testing::Values(
        Mistake{{"submit", "-p"}, "--profile needs a value; see `tangram submit --help`"},
        Mistake{{"submit", "-p", "1g.5gb", "-p", "2g.10gb", "--", "true"},
                "--profile is given more than once; see `tangram submit --help`"},
        Mistake{{"logs", "1", "--tail", "x"},
                "--tail: x is out of range (0 to 1000000000); see `tangram logs --help`"},
        Mistake{{"logs", "1", "--tail", "-5"},
                "--tail: -5 is out of range (0 to 1000000000); see `tangram logs --help`"},
        Mistake{submitted({"--restart", "sometimes"}),
                "--restart: invalid value 'sometimes', expected one of never, on-failure, always, "
                "on-node-fault; see `tangram submit --help`"},
        Mistake{{"history", "--limit", "0"},
                "--limit: 0 is out of range (1 to 1000000); see `tangram history --help`"},
        Mistake{{"--socket", "x", "ps"},
                "--socket goes after the verb: `tangram ps --socket`; see `tangram ps "
                "--help`"}));

INSTANTIATE_TEST_SUITE_P(
    OfJobs, Mistakes,
    ::testing::Values(
        Mistake{submitted({"--time-limit", "5x"}),
                "--time-limit: invalid duration '5x': use e.g. 90s, 1h30m, 500ms or 2d"},
        Mistake{submitted({"--name", std::string(300, 'x')}),
                "--name: must have at most 128 printable characters"},
        Mistake{submitted({"--port", "80000", "--service"}),
                "--port: must be a whole number from 1 to 65535, not 80000"},
        Mistake{submitted({"--probe", "http:health", "--service"}),
                "--probe: the path must begin with \"/\" and contain no blanks"},
        Mistake{submitted({"--umask", "9"}),
                R"(--umask: must be octal digits from "000" to "777", e.g. "022")"}));

TEST(Help, IsAlsoAVerb) {
  EXPECT_EQ(tangram_run({"help"}).out, tangram_run({"--help"}).out);
  EXPECT_EQ(tangram_run({"help", "mig", "show"}).out, tangram_run({"mig", "show", "--help"}).out);
  EXPECT_EQ(tangram_run({"help"}).code, 0);
}

}  // namespace
}  // namespace tangram::tests
