// docs/cli.md agrees with the program: every verb and option is documented, and every documented
// one exists. Verbs and options are found with `tangram __complete`.
#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"
#include "cli_reference.hpp"

namespace tangram::tests {
namespace {

struct Tree {
  std::set<std::string> verbs;                              // "mig show"
  std::set<std::string> options;                            // "--json", of any
  std::map<std::string, std::set<std::string>> options_of;  // a verb
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

// A subcommand's `--help` shows its own path.
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
  std::string verb;
  for (const std::string& word : path) verb += (verb.empty() ? "" : " ") + word;
  for (const std::string& option : completed(words)) {
    tree.options.insert(option);
    tree.options_of[verb].insert(option);
  }
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

TEST(Docs, TheTreeIsComplete) {
  EXPECT_TRUE(tree().verbs.contains("lease renew"));
  EXPECT_TRUE(tree().verbs.contains("mig show"));
  EXPECT_TRUE(tree().options.contains("--gpu-memory"));
  EXPECT_GT(tree().verbs.size(), 50U);
}

TEST(Docs, EveryHelpFitsEightyColumns) {
  for (const std::string& verb : tree().verbs) {
    std::istringstream path(verb);
    Words words{std::istream_iterator<std::string>(path), {}};
    words.emplace_back("--help");
    std::istringstream help(tangram_run(words).out);
    for (std::string line; std::getline(help, line);) {
      const bool typed = line.starts_with("  ") && line.find("tangram ") != std::string::npos;
      if (typed) continue;  // examples are not wrapped
      const auto columns = std::ranges::count_if(
          line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
      EXPECT_LE(columns, 80) << verb << ": " << line;
    }
  }
}

TEST(Docs, EveryVerbHasAnExample) {
  for (const std::string& verb : tree().verbs) {
    std::istringstream path(verb);
    Words words{std::istream_iterator<std::string>(path), {}};
    words.emplace_back("--help");
    const std::string help = tangram_run(words).out;
    const std::size_t at = help.find("\nExample");
    ASSERT_NE(at, std::string::npos) << verb;
    EXPECT_NE(help.find("tangram " + verb, at), std::string::npos)
        << verb << ": " << help.substr(at);
  }
}

const CliReference& reference() {
  static const CliReference kReference(document());
  return kReference;
}

// Options of every verb, documented at the top of the page.
const std::set<std::string>& common_options() {
  static const std::set<std::string> kCommon = {"--json", "--color", "--ascii",
                                                "--help", "--watch", "--socket"};
  return kCommon;
}

TEST(Docs, EveryVerbIsDocumented) {
  for (const std::string& verb : tree().verbs) {
    EXPECT_NE(reference().about(verb), "")
        << "docs/cli.md does not describe `tangram " << verb << "`";
  }
}

TEST(Docs, EveryOptionIsDocumentedWithItsVerb) {
  for (const std::string& verb : tree().verbs) {
    const auto documented = options_in(reference().about(verb));
    for (const std::string& option : tree().options_of.at(verb)) {
      if (common_options().contains(option)) continue;
      EXPECT_TRUE(documented.contains(option))
          << "docs/cli.md does not document " << option << " with `tangram " << verb << "`";
    }
  }
}

TEST(Docs, EveryDocumentedOptionExists) {
  for (const std::string& option : options_in(document())) {
    EXPECT_TRUE(tree().options.contains(option)) << option << " is documented but does not exist";
  }
}

// A table row about verbs shows only options of these verbs.
TEST(Docs, ARowHasOnlyOptionsOfItsVerbs) {
  int looked = 0;
  for (const CliReference::Row& row : reference().rows()) {
    std::set<std::string> theirs;
    for (const auto& [verb, options] : tree().options_of) {
      const std::string last = verb.substr(verb.rfind(' ') + 1);
      const bool meant = std::ranges::any_of(row.names, [&](const std::string& name) {
        return name == last || name.starts_with(last + " ") || name.starts_with(verb + " ");
      });
      if (!verb.empty() && meant) theirs.insert(options.begin(), options.end());
    }
    if (theirs.empty()) continue;
    for (const std::string& name : row.names) {
      for (const std::string& option : options_in(name)) {
        ++looked;
        EXPECT_TRUE(theirs.contains(option)) << row.text;
      }
    }
  }
  EXPECT_GT(looked, 30);
}

TEST(Docs, EveryDocumentedVerbExists) {
  for (const std::string& verb : all_matches("tangram ([a-z][a-z-]*)[` ]")) {
    EXPECT_TRUE(tree().verbs.contains(verb)) << "tangram " << verb;
  }
}

// CliReference itself: text elsewhere does not document a verb.
TEST(Docs, OnlyItsOwnTextDocumentsAVerb) {
  const CliReference page(
      "Text on `tangram list` and --all.\n\n## `tangram box …`\n`open` opens.\n\n"
      "| verb | what |\n|---|---|\n| `list [--long]` | lists |\n| `fill --full` | fills |\n\n"
      "## Others\n`shut` is a word here. --shut\n");
  EXPECT_EQ(options_in(page.about("box list")), std::set<std::string>{"--long"});
  EXPECT_EQ(options_in(page.about("box fill")), std::set<std::string>{"--full"});
  EXPECT_NE(page.about("box open"), "");
  EXPECT_EQ(page.about("box shut"), "");
  EXPECT_EQ(page.about("list"), "");
}

}  // namespace
}  // namespace tangram::tests
