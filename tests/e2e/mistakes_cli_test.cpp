// What people type wrong, and what they are told: the option they typed, what is wrong with it and
// what is allowed. One rule: no word of the libraries underneath, and none of the API, which who
// types need not know.
#include <gtest/gtest.h>

#include "cli_check.hpp"

namespace tangram::tests {
namespace {

struct Mistake {
  Words typed;
  const char* told;
};

class Mistakes : public ::testing::TestWithParam<Mistake> {};

// The words, not bytes, where a failure is told.
void PrintTo(const Mistake& mistake, std::ostream* out) {
  for (const std::string& word : mistake.typed) *out << word << ' ';
}

TEST_P(Mistakes, AreToldInWordsOfWhoTypedThem) {
  Words words = GetParam().typed;
  expect_refused(tangram_run(words, "", {"TANGRAM_SOCKET=/nonexistent/s"}), GetParam().told);
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
                "--tail: x is not from 0 to 1000000000; see `tangram logs --help`"},
        Mistake{{"logs", "1", "--tail", "-5"},
                "--tail: -5 is not from 0 to 1000000000; see `tangram logs --help`"},
        Mistake{submitted({"--restart", "sometimes"}),
                "--restart: 'sometimes' is none of never, on-failure, always; see `tangram submit "
                "--help`"},
        Mistake{{"history", "--limit", "0"},
                "--limit: 0 is not from 1 to 1000000; see `tangram history --help`"},
        Mistake{{"--socket", "x", "ps"},
                "--socket belongs behind the verb: `tangram ps --socket`; see `tangram ps "
                "--help`"}));

INSTANTIATE_TEST_SUITE_P(
    OfJobs, Mistakes,
    ::testing::Values(
        Mistake{submitted({"--time-limit", "5x"}),
                "--time-limit: '5x' is not a duration; write it as \"90s\", \"1h30m\", \"500ms\" "
                "or \"2d\"."},
        Mistake{submitted({"--name", std::string(300, 'x')}),
                "--name: must have at most 128 printable characters."},
        Mistake{submitted({"--port", "80000", "--service"}),
                "--port: must be a whole number from 1 to 65535, not 80000."},
        Mistake{submitted({"--probe", "http:health", "--service"}),
                "--probe: the path must begin with \"/\" and have no blanks."},
        Mistake{submitted({"--umask", "9"}),
                "--umask: must be octal digits from \"000\" to \"777\", as \"022\"."}));

TEST(Help, IsAlsoAVerb) {
  EXPECT_EQ(tangram_run({"help"}).out, tangram_run({"--help"}).out);
  EXPECT_EQ(tangram_run({"help", "mig", "show"}).out, tangram_run({"mig", "show", "--help"}).out);
  EXPECT_EQ(tangram_run({"help"}).code, 0);
}

}  // namespace
}  // namespace tangram::tests
