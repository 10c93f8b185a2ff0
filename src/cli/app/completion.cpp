// `tangram completion`: prints a completion script for a shell. The scripts contain no verbs or
// options; they call `tangram __complete`, so they need no update with the program.
#include "cli/app/completion.hpp"

#include <memory>
#include <string_view>

#include "base/text.hpp"
#include "cli/command/verbs.hpp"

namespace tangram::cli {
namespace {

constexpr std::string_view kBash =
    R"sh(# Completion of tangram for bash: source <(tangram completion bash)
_tangram() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <("${COMP_WORDS[0]}" __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi
}
complete -o default -F _tangram tangram
)sh";

constexpr std::string_view kZsh = R"sh(#compdef tangram
# Completion of tangram for zsh: source <(tangram completion zsh)
_tangram() {
  local -a found
  local line
  for line in "${(@f)$(${words[1]} __complete zsh "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  if [[ ${#found} -gt 0 && ${found[1]%%:*} == *= ]]; then
    _describe tangram found -S ''
  elif (( ${#found} )); then
    _describe tangram found
  else
    _files
  fi
}
if [[ ${funcstack[1]} == _tangram ]]; then _tangram "$@"; else compdef _tangram tangram; fi
)sh";

constexpr std::string_view kFish =
    R"sh(# Completion of tangram for fish: tangram completion fish | source
function __tangram_complete
  set -l words (commandline -opc)
  set -l program $words[1]
  set -e words[1]
  set -l found ($program __complete fish $words (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c tangram -f -a '(__tangram_complete)'
)sh";

}  // namespace

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

void add_completion(Verb& app, Command& command) {
  const auto shell = std::make_shared<std::string>();
  Verb verb = app.add_subcommand("completion", "Print a shell completion script");
  verb->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->one_of({"bash", "zsh", "fish"});
  verb->footer(
      "Examples:\n"
      "  source <(tangram completion bash)\n"
      "  tangram completion fish > ~/.config/fish/completions/tangram.fish");
  verb->callback([&command, shell] {
    command.run = [shell](Output& out) -> Result<void> {
      out.add(completion_script(*shell));
      return {};
    };
  });
}

}  // namespace tangram::cli
