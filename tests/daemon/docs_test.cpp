// The examples of the documents, run: every block marked `console` in them, in its order, against a
// real daemon on an emulated node. A line that begins with "$ " is typed; the lines up to the next
// one are what it prints, blanks taken together; "…" stands for anything within a line, and alone
// for any lines. One rule: a document is right when this test says so.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

struct Example {
  std::string command;
  Lines expected;
  int line = 0;
};

std::vector<Example> examples_in(const fs::path& file) {
  std::vector<Example> examples;
  std::ifstream in(file);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      inside = line == "```console";
    } else if (inside && line.starts_with("$ ")) {
      examples.push_back({.command = line.substr(2), .expected = {}, .line = number});
    } else if (inside && !examples.empty()) {
      examples.back().expected.push_back(line);
    }
  }
  return examples;
}

// Runs of blanks are one, at the ends they are none.
std::string plain(const std::string& line) {
  std::istringstream words(line);
  std::string text;
  for (std::string word; words >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (std::string each = plain(line); !each.empty()) lines.push_back(std::move(each));
  }
  return lines;
}

constexpr std::string_view kAny = "…";

bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t at = pattern.find(kAny);
  if (at == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, at))) return false;
  const std::string_view rest = pattern.substr(at + kAny.size());
  for (std::size_t i = at; i <= text.size(); ++i) {
    if (matches(rest, text.substr(i))) return true;
  }
  return false;
}

bool match(const Lines& expected, std::size_t e, const Lines& got, std::size_t g) {
  if (e == expected.size()) return g == got.size();
  if (expected[e] == kAny) {
    for (std::size_t i = g; i <= got.size(); ++i) {
      if (match(expected, e + 1, got, i)) return true;
    }
    return false;
  }
  return g < got.size() && matches(expected[e], got[g]) && match(expected, e + 1, got, g + 1);
}

std::string typed(const Node& node, const std::string& command) {
  const std::string script =
      cat("export TANGRAM_SOCKET=", node.socket(),
          " COLUMNS=80 PATH=", fs::path(TANGRAM_BINARY).parent_path().string(), ":$PATH; cd ",
          node.at("."), "; { ", command, "\n} 2>&1");
  node.folder().write("typed", script);
  std::FILE* out = ::popen(cat("bash ", node.at("typed")).c_str(), "r");
  std::string text;
  char piece[4096];
  for (std::size_t size = 0; (size = std::fread(piece, 1, sizeof piece, out)) > 0;) {
    text.append(piece, size);
  }
  ::pclose(out);
  return text;
}

class Examples : public testing::TestWithParam<const char*> {};

TEST_P(Examples, PrintWhatTheySay) {
  const auto examples = examples_in(fs::path(TANGRAM_SOURCE_DIR) / "docs" / GetParam());
  ASSERT_FALSE(examples.empty());
  Node node({.emulate = "2xA100-40GB"});
  node.start();
  for (const Example& each : examples) {
    Lines expected;
    for (const std::string& line : each.expected) {
      if (std::string text = plain(line); !text.empty()) expected.push_back(std::move(text));
    }
    const std::string got = typed(node, each.command);
    EXPECT_TRUE(match(expected, 0, lines_of(got), 0))
        << GetParam() << ":" << each.line << ": $ " << each.command << "\nprints\n"
        << got;
  }
}

// "tangram submit -p 2g.10gb -- true  # a comment", or with a path before it.
std::vector<std::string> command_words(const std::string& line) {
  std::istringstream in(line.substr(0, line.find("  #")));
  std::vector<std::string> words;
  for (std::string word; in >> word && word != "--" && word != "|" && word != "&";) {
    if (words.empty() && word == "$") continue;
    words.push_back(word);
  }
  if (words.empty() || !(words[0] == "tangram" || words[0].ends_with("/tangram"))) return {};
  return words;
}

// Every command in the documents, whether it is run or not, has verbs and options that there are.
TEST(Documents, NameVerbsAndOptionsThatThereAre) {
  Node node;
  std::map<std::string, std::string> helps;
  const auto help = [&](const std::string& verbs) -> const std::string& {
    const auto [at, fresh] = helps.try_emplace(verbs);
    if (fresh) at->second = typed(node, cat("tangram ", verbs, " --help"));
    return at->second;
  };
  int looked = 0;
  std::vector<fs::path> files = {fs::path(TANGRAM_SOURCE_DIR) / "README.md"};
  for (const auto& each : fs::directory_iterator(fs::path(TANGRAM_SOURCE_DIR) / "docs")) {
    if (each.path().extension() == ".md") files.push_back(each.path());
  }
  for (const fs::path& file : files) {
    std::ifstream in(file);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (!line.starts_with("    ") && !line.starts_with("$ ")) continue;
      const auto words = command_words(line);
      if (words.size() < 2) continue;
      SCOPED_TRACE(cat(file.filename().string(), ":", number, ": ", line));
      ++looked;
      std::string verbs = words[1];
      EXPECT_NE(help(verbs).find("Usage: tangram " + verbs), std::string::npos) << help(verbs);
      for (std::size_t i = 2; i < words.size() && !words[i].starts_with('-'); ++i) {
        if (help(verbs).find("Subcommands:") == std::string::npos) break;
        verbs += " " + words[i];
      }
      for (const std::string& word : words) {
        if (word.size() < 2 || word[0] != '-') continue;
        const std::string option = word.substr(0, word.find('='));
        EXPECT_NE(help(verbs).find(option), std::string::npos) << option << " of " << verbs;
      }
    }
  }
  EXPECT_GT(looked, 40);
}

std::string name_of(const testing::TestParamInfo<const char*>& document) {
  const std::string name = document.param;
  return name.substr(0, name.find('.'));
}

INSTANTIATE_TEST_SUITE_P(Docs, Examples, testing::Values("tutorial.md"), name_of);

}  // namespace
}  // namespace tangram::tests
