// Runs the examples of the documents: those of each document in order, in one shell, against a real
// daemon on an emulated node or against the daemon that the document itself starts. Each command
// must succeed and print what the document shows.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "markdown.hpp"
#include "node.hpp"
#include "program.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;

// Whether the test starts a daemon, or the document does.
enum class Daemon : std::uint8_t { kStarted, kOwn };

struct Document {
  const char* file;
  Daemon daemon;
  friend void PrintTo(const Document& document, std::ostream* out) { *out << document.file; }
};

std::vector<Example> examples_in(const fs::path& file) {
  std::vector<Example> examples;
  for (const Block& block : blocks_of(file)) {
    if (!block.not_run.empty()) continue;
    for (Example& each : examples_of(block)) examples.push_back(std::move(each));
  }
  return examples;
}

// The shell of a reader in the source folder after a build. Its HOME is the node's folder;
// processes that it starts are marked in their environment, so that they end with the node.
class Shell {
 public:
  explicit Shell(const Node& node) : node_(node) {
    const fs::path here = node.at(".");
    const fs::path source = TANGRAM_SOURCE_DIR;
    fs::create_directory(here / "build");
    for (const char* preset : {"release", "dev"}) {
      fs::create_directory_symlink(fs::path(TANGRAM_BINARY).parent_path(), here / "build" / preset);
    }
    for (const char* folder : {"examples", "packaging", "docs"}) {
      fs::create_directory_symlink(source / folder, here / folder);
    }
  }

  void run(const std::vector<std::string>& commands) const {
    std::string script =
        cat("cd ", node_.at("."), "\nPATH=", fs::path(TANGRAM_BINARY).parent_path().string(),
            ":$PATH\n");
    for (std::size_t i = 0; i < commands.size(); ++i) {
      node_.folder().write(cat("command.", i), commands[i]);
      script += cat("eval \"$(<", node_.at(cat("command.", i)), ")\" >", node_.at(cat("out.", i)),
                    " 2>&1; echo $? >", node_.at(cat("code.", i)), "\n");
    }
    const Ended ended =
        run_program("/bin/bash", {node_.folder().write("script", script)}, "", environment());
    EXPECT_EQ(ended.err, "");
  }
  [[nodiscard]] std::string output(std::size_t i) const {
    return node_.folder().read(cat("out.", i));
  }
  [[nodiscard]] std::string code(std::size_t i) const {
    return node_.folder().read(cat("code.", i));
  }

 private:
  [[nodiscard]] std::vector<std::string> environment() const {
    const std::string home = fs::path(node_.at(".")).parent_path();
    return {cat("TANGRAM_SOCKET=", node_.socket()),
            cat("NODE_UNDER_TEST=", node_.socket()),
            cat("HOME=", home),
            cat("XDG_RUNTIME_DIR=", home),
            "TANGRAM_EMULATOR_LATENCY=0",
            "COLUMNS=80"};
  }

  const Node& node_;
};

class Examples : public testing::TestWithParam<Document> {};

TEST_P(Examples, PrintTheDocumentedOutput) {
  const auto examples = examples_in(fs::path(TANGRAM_SOURCE_DIR) / GetParam().file);
  ASSERT_FALSE(examples.empty());
  Node node({.emulate = "2xA100-40GB"});
  if (GetParam().daemon == Daemon::kStarted) node.start();
  const Shell shell(node);
  std::vector<std::string> commands;
  for (const Example& each : examples) commands.push_back(each.command);
  shell.run(commands);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const std::string output = shell.output(i);
    SCOPED_TRACE(cat(GetParam().file, ":", examples[i].line, ": $ ", examples[i].command,
                     "\nprints\n", output));
    ASSERT_EQ(shell.code(i), "0\n");  // later examples depend on it
    ASSERT_TRUE(!examples[i].expected || matches_output(*examples[i].expected, output));
  }
}

std::string name_of(const testing::TestParamInfo<Document>& document) {
  std::string name = fs::path(document.param.file).stem();
  std::ranges::replace(name, '-', '_');
  return name;
}

constexpr Document kDocuments[] = {
    {"README.md", Daemon::kOwn},           {"docs/api.md", Daemon::kStarted},
    {"docs/cli.md", Daemon::kStarted},     {"docs/daemon.md", Daemon::kOwn},
    {"docs/emulator.md", Daemon::kOwn},    {"docs/jobs.md", Daemon::kStarted},
    {"docs/metrics.md", Daemon::kStarted}, {"docs/model-file.md", Daemon::kOwn},
    {"docs/moving.md", Daemon::kStarted},  {"docs/simulator.md", Daemon::kOwn},
    {"docs/tutorial.md", Daemon::kOwn}};

INSTANTIATE_TEST_SUITE_P(Docs, Examples, testing::ValuesIn(kDocuments), name_of);

const std::set<std::string> kLanguages = {"", "console", "sh", "toml", "yaml", "json", "text"};

TEST(Documents, RunEveryExampleOrGiveAReason) {
  std::map<fs::path, Daemon> tested;
  for (const Document& each : kDocuments) {
    tested.emplace(fs::path(TANGRAM_SOURCE_DIR) / each.file, each.daemon);
  }
  for (const fs::path& file : all_documents(TANGRAM_SOURCE_DIR)) {
    for (const Block& block : blocks_of(file)) {
      SCOPED_TRACE(cat(file.string(), ":", block.line));
      if (!block.not_run.empty()) continue;
      EXPECT_TRUE(examples_of(block).empty() || tested.contains(file)) << "this example is not run";
      EXPECT_TRUE(kLanguages.contains(block.language)) << "unknown language: " << block.language;
      if (!block.language.empty()) continue;
      for (const std::string& line : block.lines) {
        EXPECT_FALSE(is_command(line)) << "a command that is neither run nor marked: " << line;
      }
    }
  }
}

// "tangram submit -p 2g.10gb -- true  # a comment", or with a path before it.
std::vector<std::string> command_words(const std::string& line) {
  std::istringstream in(line.substr(0, line.find("  #")));
  std::vector<std::string> words;
  for (std::string word; in >> word && word != "--" && word != "|" && word != "&";) {
    words.push_back(word);
  }
  if (words.empty() || !(words[0] == "tangram" || words[0].ends_with("/tangram"))) return {};
  return words;
}

class HelpTexts {
 public:
  const std::string& of(const std::string& verbs) {
    const auto [at, is_new] = texts_.try_emplace(verbs);
    if (is_new) {
      std::istringstream in(verbs);
      std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
      words.emplace_back("--help");
      at->second = run_program(TANGRAM_BINARY, words).out;
    }
    return at->second;
  }

 private:
  std::map<std::string, std::string> texts_;
};

void expect_existing(HelpTexts& helps, const std::vector<std::string>& words) {
  std::string verbs = words[1];
  EXPECT_NE(helps.of(verbs).find("Usage: tangram " + verbs), std::string::npos) << verbs;
  for (std::size_t i = 2; i < words.size() && !words[i].starts_with('-'); ++i) {
    if (helps.of(verbs).find("Subcommands:") == std::string::npos) break;
    verbs += " " + words[i];
  }
  for (const std::string& word : words) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string option = word.substr(0, word.find('='));
    EXPECT_NE(helps.of(verbs).find(option), std::string::npos) << option << " of " << verbs;
  }
}

// Every command in the documents, run or not, uses existing verbs and options.
TEST(Documents, NameExistingVerbsAndOptions) {
  HelpTexts helps;
  int checked = 0;
  for (const fs::path& file : all_documents(TANGRAM_SOURCE_DIR)) {
    for (const Block& block : blocks_of(file)) {
      for (const Example& each : examples_of(block)) {
        const auto words = command_words(each.command);
        if (words.size() < 2) continue;
        SCOPED_TRACE(cat(file.string(), ":", each.line, ": ", each.command));
        ++checked;
        expect_existing(helps, words);
      }
    }
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace tangram::tests
