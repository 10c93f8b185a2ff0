// See command_words.hpp.
#include "cli/app/command_words.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace tangram::cli {
namespace {

constexpr std::string_view kRunners[] = {"submit", "run", "lease"};

// Whether the option `name` ("-p", "--profile") takes a value.
bool takes_value(const CLI::App& verb, const std::string& name) {
  const CLI::Option* option = verb.get_option_no_throw(name);
  return option != nullptr && option->get_items_expected_min() > 0;
}

// Whether the value of an option in `word` is the next word: "-p", "-qp" and "--profile" of a
// profile, not "-p1g.5gb" or "--profile=1g.5gb".
bool needs_next_word(const CLI::App& verb, std::string_view word) {
  if (word.starts_with("--")) {
    return word.find('=') == std::string_view::npos && takes_value(verb, std::string(word));
  }
  for (std::size_t i = 1; i < word.size(); ++i) {
    if (takes_value(verb, std::string("-") + word[i])) return i + 1 == word.size();
  }
  return false;
}

}  // namespace

const CLI::App* find_verb(const CLI::App& app, std::string_view name) {
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == name) return verb;
  }
  return nullptr;
}

bool runs_command(const CLI::App& verb) {
  const CLI::App* parent = verb.get_parent();
  return parent != nullptr && parent->get_parent() == nullptr &&
         std::ranges::find(kRunners, verb.get_name()) != std::end(kRunners);
}

CommandWords find_command(const CLI::App& verb, std::span<const char* const> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") return {.options_end = i, .begin = i + 1};
    if (word.size() > 1 && word.starts_with('-')) {
      if (needs_next_word(verb, word)) ++i;
      continue;
    }
    if (find_verb(verb, word) != nullptr) break;
    return {.options_end = i, .begin = i};
  }
  return {.options_end = words.size(), .begin = words.size()};
}

}  // namespace tangram::cli
