// docs/cli.md and the program say the same: every verb and option is documented, and nothing is
// documented that is not there. One rule: the program is asked (`__complete`), not its source.
#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"

namespace tangram::tests {
namespace {

struct Tree {
  std::set<std::string> verbs;    // "mig show"
  std::set<std::string> options;  // "--json"
};

Words completed(Words words) {
  words.insert(words.begin(), {"__complete", "plain"});
  const Ended ended = tangram_run(words, "", {"TANGRAM_SOCKET=/nonexistent/s"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  Words found;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);)
    found.push_back(line.substr(0, line.find('\t')));
  return found;
}

// A verb below another answers to `--help` with its own path.
bool is_verb(const Words& path) {
  Words words = path;
  words.emplace_back("--help");
  std::string usage = "Usage: tangram";
  for (const std::string& word : path) usage += " " + word;
  return tangram_run(words).out.find(usage) != std::string::npos;
}

void walk(const Words& path, Tree& tree) {
  Words words = path;
  words.emplace_back("--");
  for (const std::string& option : completed(words)) tree.options.insert(option);
  words.back() = "";
  for (const std::string& name : completed(words)) {
    words.back() = name;
    if (name.starts_with('-') || !is_verb(words)) continue;
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    tree.verbs.insert(text);
    walk(words, tree);
  }
}

const Tree& tree() {
  static const Tree kTree = [] {
    Tree made;
    walk({}, made);
    return made;
  }();
  return kTree;
}

const std::string& document() {
  static const std::string kText = read_text(TANGRAM_SOURCE_DIR "/docs/cli.md");
  return kText;
}

std::set<std::string> all_matches(const std::string& pattern) {
  const std::regex form(pattern);
  std::set<std::string> found;
  const std::string& text = document();
  for (std::sregex_iterator at(text.begin(), text.end(), form), end; at != end; ++at) {
    found.insert((*at)[1].str());
  }
  return found;
}

TEST(Docs, TheTreeIsSeen) {
  EXPECT_TRUE(tree().verbs.contains("lease renew"));
  EXPECT_TRUE(tree().verbs.contains("mig show"));
  EXPECT_TRUE(tree().options.contains("--gpu-memory"));
  EXPECT_GT(tree().verbs.size(), 50U);
}

TEST(Docs, EveryHelpFitsAScreen) {
  for (const std::string& verb : tree().verbs) {
    std::istringstream path(verb);
    Words words{std::istream_iterator<std::string>(path), {}};
    words.emplace_back("--help");
    std::istringstream help(tangram_run(words).out);
    for (std::string line; std::getline(help, line);) {
      const bool typed = line.starts_with("  ") && line.find("tangram ") != std::string::npos;
      if (typed) continue;  // a command is not folded
      const auto columns = std::ranges::count_if(
          line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
      EXPECT_LE(columns, 80) << verb << ": " << line;
    }
  }
}

TEST(Docs, EveryOptionIsDocumented) {
  const auto documented = all_matches("(--[a-z][a-z-]*[a-z])");
  for (const std::string& option : tree().options) {
    EXPECT_TRUE(documented.contains(option)) << option << " is not in docs/cli.md";
  }
}

TEST(Docs, EveryDocumentedOptionIsThere) {
  for (const std::string& option : all_matches("(--[a-z][a-z-]*[a-z])")) {
    EXPECT_TRUE(tree().options.contains(option)) << option << " is documented and not there";
  }
}

// A verb of a family stands in its family's table by its last word.
TEST(Docs, EveryVerbIsDocumented) {
  const auto words = all_matches("[`| ]([a-z][a-z-]*)(?=[`| ,.])");
  for (const std::string& verb : tree().verbs) {
    EXPECT_TRUE(words.contains(verb.substr(verb.rfind(' ') + 1))) << verb;
  }
}

TEST(Docs, EveryDocumentedVerbIsThere) {
  for (const std::string& verb : all_matches("tangram ([a-z][a-z-]*)[` ]")) {
    EXPECT_TRUE(tree().verbs.contains(verb)) << "tangram " << verb;
  }
}

}  // namespace
}  // namespace tangram::tests
