// Links in the documents point to existing files and headings. Anchors are derived from headings as
// GitHub does.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "cli_check.hpp"

namespace tangram::tests {
namespace {

namespace fs = std::filesystem;

// The anchor of "`tangram mig` and more" is "tangram-mig-and-more".
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto letter = static_cast<unsigned char>(c);
    if (c == ' ') anchor += '-';
    if (std::isalnum(letter) != 0 || c == '-' || c == '_' || letter >= 0x80) {
      anchor += static_cast<char>(std::tolower(letter));
    }
  }
  return anchor;
}

// The lines of a document; those of code blocks are empty.
std::vector<std::string> prose_of(const fs::path& file) {
  std::vector<std::string> lines;
  std::istringstream in(read_text(file.string()));
  bool fenced = false;
  for (std::string line; std::getline(in, line);) {
    const bool fence = line.starts_with("```");
    fenced = fenced != fence;
    lines.push_back(fenced || fence ? "" : line);
  }
  return lines;
}

std::set<std::string> anchors_of(const fs::path& file) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(file)) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') continue;
    anchors.insert(anchor_of(line.substr(level + 1)));
  }
  return anchors;
}

void expect_target(const fs::path& file, const std::string& link) {
  const std::size_t hash = link.find('#');
  const std::string path = link.substr(0, hash);
  const fs::path target = path.empty() ? file : file.parent_path() / path;
  EXPECT_TRUE(fs::exists(target)) << link;
  if (hash == std::string::npos || !fs::exists(target)) return;
  EXPECT_TRUE(anchors_of(target).contains(link.substr(hash + 1))) << link;
}

TEST(Docs, AnchorsMatchThoseOfGitHub) {
  EXPECT_EQ(anchor_of("`tangram sim compare` and `tangram sim sweep`"),
            "tangram-sim-compare-and-tangram-sim-sweep");
  EXPECT_EQ(anchor_of("Backup, check, restore"), "backup-check-restore");
}

TEST(Docs, EveryLinkHasATarget) {
  std::vector<fs::path> files;
  for (const char* folder : {TANGRAM_SOURCE_DIR, TANGRAM_SOURCE_DIR "/docs"}) {
    for (const auto& each : fs::directory_iterator(folder)) {
      if (each.path().extension() == ".md") files.push_back(each.path());
    }
  }
  const std::regex form(R"(\]\(([^)\s]+)\))");
  int seen = 0;
  for (const fs::path& file : files) {
    for (const std::string& line : prose_of(file)) {
      for (std::sregex_iterator at(line.begin(), line.end(), form), end; at != end; ++at) {
        const std::string link = (*at)[1].str();
        if (link.starts_with("http")) continue;
        SCOPED_TRACE(file.string());
        ++seen;
        expect_target(file, link);
      }
    }
  }
  EXPECT_GT(seen, 50);
}

}  // namespace
}  // namespace tangram::tests
