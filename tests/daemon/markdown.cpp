// See markdown.hpp.
#include "markdown.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <pwd.h>
#include <regex>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAny = "…";
constexpr std::string_view kMark = "<!-- not run: ";

// Collects the blocks of a file from its lines.
class BlockReader {
 public:
  void add_line(const std::string& line) {
    ++number_;
    if (fenced_) {
      add_fenced(line);
      return;
    }
    if (line.starts_with("```")) {
      open(line.substr(3));
      fenced_ = true;
    } else if (line.starts_with("    ") && (blank_ || indented_)) {
      if (!indented_) open("");
      indented_ = true;
      blocks_.back().lines.push_back(line.substr(4));
    } else {
      add_text(line);
    }
  }
  [[nodiscard]] std::vector<Block> blocks() && { return std::move(blocks_); }

 private:
  void open(std::string language) {
    blocks_.push_back(
        {.language = std::move(language), .not_run = std::move(mark_), .line = number_ + 1});
    if (blocks_.back().language.empty()) --blocks_.back().line;
    mark_.clear();
  }
  void add_fenced(const std::string& line) {
    fenced_ = !line.starts_with("```");
    if (fenced_) blocks_.back().lines.push_back(line);
    blank_ = false;
  }
  void add_text(const std::string& line) {
    blank_ = line.empty();
    if (blank_) return;  // an indented block may continue after it
    indented_ = false;
    mark_.clear();
    const std::size_t end = line.rfind(" -->");
    if (line.starts_with(kMark) && end != std::string::npos) {
      mark_ = line.substr(kMark.size(), end - kMark.size());
    }
  }

  std::vector<Block> blocks_;
  std::string mark_;
  bool fenced_ = false;
  bool indented_ = false;
  bool blank_ = true;
  int number_ = 0;
};

// Replaces dates, UUIDs and user names by fixed ones, and collapses white space.
std::string normalized(const std::string& line) {
  static const std::regex kDate(R"(\d{4}-\d\d-\d\d([T ]\d\d:\d\d:\d\d(\.\d+Z)?)?)");
  static const std::regex kUuid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
  static const std::string kUser = [] {
    const passwd* const user = ::getpwuid(::geteuid());
    return std::string(user == nullptr ? "root" : user->pw_name);
  }();
  std::istringstream words(
      std::regex_replace(std::regex_replace(line, kDate, "2026-11-16"), kUuid, "UUID"));
  std::string text;
  for (std::string word; words >> word;) {
    text += (text.empty() ? "" : " ") + (word == kUser ? "root" : word);
  }
  return text;
}

Lines normalized_lines(const Lines& lines) {
  Lines all;
  for (const std::string& line : lines) {
    if (std::string text = normalized(line); !text.empty()) all.push_back(std::move(text));
  }
  return all;
}

bool matches(std::string_view pattern, std::string_view text) {
  const std::size_t at = pattern.find(kAny);
  if (at == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, at))) return false;
  const std::string_view tail = pattern.substr(at + kAny.size());
  for (std::size_t i = at; i <= text.size(); ++i) {
    if (matches(tail, text.substr(i))) return true;
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

}  // namespace

std::vector<fs::path> all_documents(const fs::path& source) {
  std::vector<fs::path> files = {source / "tests/scenarios/README.md"};
  for (const fs::path& folder : {source, source / "docs"}) {
    for (const auto& each : fs::directory_iterator(folder)) {
      if (each.path().extension() == ".md") files.push_back(each.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<Block> blocks_of(const fs::path& file) {
  std::ifstream in(file);
  BlockReader reader;
  for (std::string line; std::getline(in, line);) reader.add_line(line);
  return std::move(reader).blocks();
}

std::vector<Example> examples_of(const Block& block) {
  const bool console = block.language == "console";
  if (!console && block.language != "sh") return {};
  std::vector<Example> examples;
  int number = block.line;
  bool continued = false;  // the line before ended with a backslash
  for (const std::string& line : block.lines) {
    if (continued) {
      examples.back().command += "\n" + line;
    } else if (console && line.starts_with("$ ")) {
      examples.push_back({.command = line.substr(2), .expected = Lines{}, .line = number});
    } else if (!console && !line.empty()) {
      examples.push_back({.command = line, .expected = std::nullopt, .line = number});
    } else if (console && !examples.empty()) {
      examples.back().expected->push_back(line);
    }
    continued = line.ends_with('\\') && (continued || !console || line.starts_with("$ "));
    ++number;
  }
  return examples;
}

bool is_command(const std::string& line) {
  static constexpr std::array<std::string_view, 14> kPrograms = {
      "$",    "tangram",    "tangramd", "curl", "export", "source", "cmake",
      "kill", "nvidia-smi", "nvtop",    "apt",  "ctest",  "sudo",   "systemctl"};
  std::istringstream words(line);
  std::string first;
  words >> first;
  return std::ranges::find(kPrograms, first) != kPrograms.end() || first.starts_with("./") ||
         first.starts_with("build/") || first.starts_with("tools/") ||
         (first.starts_with("TANGRAM_") && first.find('=') != std::string::npos);
}

bool matches_output(const Lines& expected, const std::string& output) {
  Lines lines;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return match(normalized_lines(expected), 0, normalized_lines(lines), 0);
}

}  // namespace tangram::tests
