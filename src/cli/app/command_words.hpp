// The command lines of submit, run and lease: Tangram's own options end at the first word of the
// user's command, as with srun and docker; everything from there on is the command's. "--" may
// precede the command and is needed only if its first word begins with a dash.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace CLI {
class App;
}  // namespace CLI

namespace tangram::cli {

// The verb of this name directly below `app`; null if there is none.
[[nodiscard]] const CLI::App* find_verb(const CLI::App& app, std::string_view name);
// True for the verbs of `tangram` that run a command of the user.
[[nodiscard]] bool runs_command(const CLI::App& verb);

struct CommandWords {
  std::size_t options_end;  // words before are Tangram's
  std::size_t begin;        // words from here on are the command's; the number of words if none
};
// `words`: those behind `verb`, for which runs_command() is true. A word that names a verb below
// `verb` ("list" of `tangram lease list`) is no command: all words are Tangram's.
[[nodiscard]] CommandWords find_command(const CLI::App& verb, std::span<const char* const> words);

}  // namespace tangram::cli
