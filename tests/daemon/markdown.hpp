// The code blocks of a Markdown file and the commands in them, so that tests can run every example.
// A block of commands is fenced as `console` (lines with "$ " are commands, the lines after them
// their output) or as `sh` (every line is a command), or is preceded by `<!-- not run: REASON -->`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tangram::tests {

using Lines = std::vector<std::string>;

struct Block {
  std::string language;  // "console", "sh", "toml"; empty if it is indented
  std::string not_run;   // the reason, if the block is marked as not run
  int line = 0;          // number of its first line
  Lines lines = {};
};

struct Example {
  std::string command;
  std::optional<Lines> expected;  // nullopt: the output is not checked
  int line = 0;
};

[[nodiscard]] std::vector<std::filesystem::path> all_documents(const std::filesystem::path& source);
[[nodiscard]] std::vector<Block> blocks_of(const std::filesystem::path& file);
// The commands of a `console` or `sh` block; empty for other blocks.
[[nodiscard]] std::vector<Example> examples_of(const Block& block);
// Whether a line looks like a command: tangram, curl, ./run …
[[nodiscard]] bool is_command(const std::string& line);
// Whether the output is as expected. "…" matches anything within a line, and alone any number of
// lines. White space is collapsed; dates, UUIDs and user names all match each other.
[[nodiscard]] bool matches_output(const Lines& expected, const std::string& output);

}  // namespace tangram::tests
