// A document as its tests see it: the blocks of a Markdown file, and in them what a reader types.
// It exists so that every example is run. One rule: a block of commands is fenced as `console` (a
// line with "$ " is typed, what follows is what it prints) or as `sh` (every line is typed), or the
// line before it says `<!-- not run: why -->`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tangram::tests {

using Lines = std::vector<std::string>;

struct Block {
  std::string language;  // "console", "sh", "toml"; empty if it is indented
  std::string not_run;   // why, if it is marked so
  int line = 0;          // of its first line
  Lines lines = {};
};

struct Example {
  std::string command;
  std::optional<Lines> expected;  // nothing: whatever it prints
  int line = 0;
};

[[nodiscard]] std::vector<std::filesystem::path> all_documents(const std::filesystem::path& source);
[[nodiscard]] std::vector<Block> blocks_of(const std::filesystem::path& file);
// What is typed in a block of commands; nothing in any other.
[[nodiscard]] std::vector<Example> examples_of(const Block& block);
// A command that these documents could show: tangram, curl, ./run …
[[nodiscard]] bool is_command(const std::string& line);
// "…" stands for anything within a line, and alone for any lines; blanks are taken together, and
// one date, UUID or user is as good as another.
[[nodiscard]] bool prints(const Lines& expected, const std::string& got);

}  // namespace tangram::tests
