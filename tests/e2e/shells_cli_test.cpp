// Completion in real shells, and the manual pages through groff. Tests of a program that is not
// installed are skipped.
#include <filesystem>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"

namespace tangram::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

bool installed(const std::string& program) { return ::access(program.c_str(), X_OK) == 0; }

const std::string kFolder = std::filesystem::path(TANGRAM_BINARY).parent_path();
// An address without a daemon: completions come from the tree and the catalog.
const Words kNoDaemon = {"TANGRAM_SOCKET=/nonexistent/s", "HOME=/nonexistent"};
const std::string kPath = "export PATH='" + kFolder + "':/usr/bin:/bin\n";

// The completions of bash after these words; the last one is being typed.
std::string in_bash(const Words& words) {
  std::string script = kPath + "set -eu\nsource <(tangram completion bash)\nCOMP_WORDS=(tangram";
  for (const std::string& word : words) script += " '" + word + "'";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size()) +
            "\ncompopt() { echo nospace; }\n_tangram\nprintf '%s\\n' \"${COMPREPLY[@]-}\"\n";
  const Ended ended = run_program("/usr/bin/bash", {"-c", script}, "", kNoDaemon);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  return ended.out;
}

TEST(Shells, BashCompletes) {
  EXPECT_EQ(in_bash({"wha"}), "what-if\n");
  EXPECT_EQ(in_bash({"lease", "re"}), "renew\nrelease\n");
  EXPECT_EQ(in_bash({"ps", "--wat"}), "--watch\n");
  EXPECT_EQ(in_bash({"gpus", "--color", "=", "al"}), "always\n");
  EXPECT_EQ(in_bash({"tune", "thr"}), "nospace\nthreshold=\n");
  EXPECT_EQ(in_bash({"tune", "migration", "=", "of"}), "off\n");
  EXPECT_THAT(in_bash({"what-if", "-p", "1g.5"}), HasSubstr("1g.5gb\n"));
  EXPECT_THAT(in_bash({"mig", "show", "A100"}), HasSubstr("A100-40GB\n"));
  EXPECT_EQ(in_bash({"run", "--", "--col"}), "\n");
}

// The script is sourced by an interactive bash that reads keys.
TEST(Shells, BashCompletesWhatIsTyped) {
  const std::string script = kPath +
                             "bash --norc --noprofile -i 2>/dev/null <<'E'\n"
                             "bind 'set enable-bracketed-paste off'\n"
                             "source <(tangram completion bash)\n"
                             "complete -p tangram\n"
                             "E\n";
  const Ended ended = run_program("/usr/bin/bash", {"-c", script}, "", kNoDaemon);
  EXPECT_THAT(ended.out, HasSubstr("complete -o default -F _tangram tangram"));
}

TEST(Shells, ZshCompletes) {
  if (!installed("/usr/bin/zsh")) GTEST_SKIP() << "zsh is not installed";
  const std::string script =
      kPath +
      "autoload -Uz compinit; compinit -D -u; source <(tangram completion zsh)\n"
      "[[ ${_comps[tangram]} == _tangram ]] || exit 3\n"
      "_describe() { print -l -- ${(P)2}; }\n"
      "words=(tangram lease re); CURRENT=3; _tangram\n";
  const Ended ended = run_program("/usr/bin/zsh", {"-f", "-c", script}, "", kNoDaemon);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("renew:Renew leases from now on\nrelease:Release leases"));
}

TEST(Shells, FishCompletes) {
  if (!installed("/usr/bin/fish")) GTEST_SKIP() << "fish is not installed";
  const std::string script = "set -x PATH '" + kFolder +
                             "' /usr/bin /bin; tangram completion fish | source; complete -C "
                             "'tangram lease re'; complete -C 'tangram wha'";
  Words variables = kNoDaemon;
  variables.back() = "HOME=" + ::testing::TempDir();
  const Ended ended = run_program("/usr/bin/fish", {"--no-config", "-c", script}, "", variables);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("renew\tRenew leases from now on\n"));
  EXPECT_THAT(ended.out, HasSubstr("what-if\t"));
}

TEST(Shells, EveryPageFormatsWithoutAWarning) {
  if (!installed("/usr/bin/groff")) GTEST_SKIP() << "groff is not installed";
  const std::string folder = ::testing::TempDir() + "/tangram-manual";
  std::filesystem::remove_all(folder);
  const Ended written = tangram_run({"man", "--into", folder});
  ASSERT_EQ(written.code, 0) << written.err;
  int pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".1") continue;
    ++pages;
    const Ended set =
        run_program("/usr/bin/groff", {"-man", "-Tutf8", "-ww", "-P-cbou", entry.path().string()});
    EXPECT_EQ(set.code, 0);
    EXPECT_EQ(set.err, "") << entry.path();
    EXPECT_NE(set.out.find("EXIT STATUS"), std::string::npos) << entry.path();
  }
  EXPECT_GT(pages, 30);
  EXPECT_EQ(read_text(folder + "/tangram-lease.1"), tangram_run({"man", "lease"}).out);
  std::filesystem::remove_all(folder);
}

TEST(Shells, ManRejectsUnknownVerbs) {
  expect_refused(tangram_run({"man", "leese"}), "unknown verb 'leese'; did you mean lease?");
  EXPECT_EQ(tangram_run({"man", "--into", "/proc/nowhere"}).code, 1);
  expect_refused(tangram_run({"completion", "tcsh"}),
                 "SHELL: invalid value 'tcsh', expected one of bash, zsh, fish; see `tangram "
                 "completion --help`");
}

}  // namespace
}  // namespace tangram::tests
