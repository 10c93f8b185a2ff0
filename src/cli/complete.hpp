// What could be typed next, for the completion scripts of shells. It walks the same tree of verbs
// and options that reads the command line. One rule: it never fails and never keeps a shell
// waiting: a daemon that does not answer at once is as good as none.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"

namespace tangram::cli {

struct Suggestion {
  std::string word;
  std::string help;

  friend bool operator==(const Suggestion&, const Suggestion&) = default;
};

// What a value may be, by the word that help has for it: "PROFILE", "JOB" (with the verb), "GPU".
using ValueSource =
    std::function<std::vector<Suggestion>(std::string_view what, std::string_view verb)>;

// The words before the cursor, without "tangram"; the last one is the one that is being typed.
[[nodiscard]] std::vector<Suggestion> suggestions(const CLI::App& root,
                                                  const std::vector<std::string>& words,
                                                  const ValueSource& values);

// The values as the daemon and the catalog know them.
[[nodiscard]] std::vector<Suggestion> known_values(std::string_view what, std::string_view verb);

// `tangram __complete SHELL WORD…`: "word<TAB>help" lines. bash takes words apart at "=" and ":",
// so they come in pieces from it and go back as pieces.
[[nodiscard]] std::string completion_lines(const CLI::App& root,
                                           const std::vector<std::string>& words);

}  // namespace tangram::cli
