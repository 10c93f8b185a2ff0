// Shell completion: the words that can follow a partial command line, found in the tree of verbs
// and options that also parses it. Never fails; a daemon that does not answer within 0.3 s is
// treated as absent.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command/command_line.hpp"

namespace tangram::cli {

struct Suggestion {
  std::string word;
  std::string help;

  friend bool operator==(const Suggestion&, const Suggestion&) = default;
};

// Returns the possible values of an argument. `what` is its placeholder in the help ("PROFILE",
// "JOB", "GPU"), `verb` the verb it belongs to.
using ValueSource =
    std::function<std::vector<Suggestion>(std::string_view what, std::string_view verb)>;

// `words`: the words up to the cursor without "tangram"; the last one is the word being typed.
[[nodiscard]] std::vector<Suggestion> suggestions(const CLI::App& root,
                                                  const std::vector<std::string>& words,
                                                  const ValueSource& values);

// A ValueSource that queries the daemon, the catalog and the policy registry.
[[nodiscard]] std::vector<Suggestion> known_values(std::string_view what, std::string_view verb);

// Answers `tangram __complete SHELL WORD…` with "word<TAB>help" lines. `words` begins with the
// shell. bash splits words at "=" and ":", so for bash they are joined first and only the last part
// is returned.
[[nodiscard]] std::string completion_lines(const CLI::App& root,
                                           const std::vector<std::string>& words);

}  // namespace tangram::cli
