// See complete.hpp.
#include "cli/app/complete.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/app/command_words.hpp"

namespace tangram::cli {
namespace {

// The placeholder of an option's value ("PROFILE"), or the name of a positional argument.
std::string value_name(const CLI::Option& option) {
  if (option.get_positional() && !option.nonpositional()) return option.get_name(true, false);
  return option.get_option_text();
}

// The words of an option with a fixed set: CLI11 reports them as "{auto,always,never}".
std::vector<Suggestion> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  std::vector<Suggestion> words;
  if (open == std::string::npos || close == std::string::npos) return words;
  std::string rest = type.substr(open + 1, close - open - 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    words.push_back({rest.substr(0, end), ""});
    rest.erase(0, std::min(end + 1, rest.size()));
  }
  return words;
}

// The position in the tree that the words before the cursor lead to.
struct Cursor {
  const CLI::App* verb;
  const CLI::Option* option = nullptr;  // the option whose value comes next
  std::size_t arguments = 0;            // positional arguments so far
  bool command = false;                 // behind "--" or in the user's own command
};

Cursor locate(const CLI::App& root, const std::vector<std::string>& words) {
  Cursor cursor{&root};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") cursor.command = true;
    if (cursor.command) break;
    if (cursor.option != nullptr) {
      cursor.option = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* option = cursor.verb->get_option_no_throw(word);
      const bool needs_value = option != nullptr && option->get_expected_min() > 0;
      cursor.option = needs_value ? option : nullptr;
    } else if (const CLI::App* verb = find_verb(*cursor.verb, word)) {
      cursor = {verb};
    } else if (runs_command(*cursor.verb)) {
      cursor.command = true;
    } else {
      ++cursor.arguments;
    }
  }
  return cursor;
}

void add_options(const CLI::App& verb, std::vector<Suggestion>& out) {
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      out.push_back({"--" + name, option->get_description()});
    }
  }
}

void add_verbs(const CLI::App& verb, std::vector<Suggestion>& out) {
  for (const CLI::App* each : verb.get_subcommands([](const CLI::App*) { return true; })) {
    out.push_back({each->get_name(), each->get_description()});
  }
}

std::vector<Suggestion> values_of(const CLI::Option& option, const CLI::App& verb,
                                  const ValueSource& values) {
  std::vector<Suggestion> words = words_of(option);
  return words.empty() ? values(value_name(option), verb.get_name()) : words;
}

// The positional argument after `before` others. The last one may be repeatable.
const CLI::Option* next_argument(const CLI::App& verb, std::size_t before) {
  std::size_t at = 0;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->nonpositional()) continue;
    const bool repeated = option->get_items_expected_max() > 1;
    if (at == before || (repeated && at < before)) return option;
    ++at;
  }
  return nullptr;
}

// Drops suggestions that do not begin with `typed`. KEY=VALUE words are offered once "=" is typed;
// until then only "KEY=" is.
void filter_by_prefix(std::vector<Suggestion>& found, std::string_view typed) {
  const bool has_equals = typed.find('=') != std::string_view::npos;
  std::erase_if(found, [&](const Suggestion& s) {
    const std::size_t equals = s.word.find('=');
    const bool has_value = equals != std::string::npos && equals + 1 < s.word.size();
    return !s.word.starts_with(typed) || has_value != has_equals;
  });
}

}  // namespace

std::vector<Suggestion> suggestions(const CLI::App& root, const std::vector<std::string>& words,
                                    const ValueSource& values) {
  if (words.empty()) return {};
  const Cursor cursor = locate(root, words);
  const std::string& typed = words.back();
  std::vector<Suggestion> found;
  if (cursor.command) return found;
  const std::size_t equals = typed.find('=');
  if (cursor.option != nullptr) {
    found = values_of(*cursor.option, *cursor.verb, values);
  } else if (typed.starts_with("--") && equals != std::string::npos) {
    const CLI::Option* option = cursor.verb->get_option_no_throw(typed.substr(0, equals));
    if (option != nullptr) found = values_of(*option, *cursor.verb, values);
    for (Suggestion& each : found) each.word.insert(0, typed.substr(0, equals + 1));
  } else if (typed.starts_with('-')) {
    add_options(*cursor.verb, found);
  } else {
    if (cursor.arguments == 0) add_verbs(*cursor.verb, found);
    if (const CLI::Option* argument = next_argument(*cursor.verb, cursor.arguments)) {
      std::ranges::copy(values_of(*argument, *cursor.verb, values), std::back_inserter(found));
    }
  }
  filter_by_prefix(found, typed);
  return found;
}

std::string completion_lines(const CLI::App& root, const std::vector<std::string>& words) {
  const bool bash = words.front() == "bash";
  const auto is_break = [](char c) { return c == '=' || c == ':'; };
  std::vector<std::string> whole;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool alone = words[i].size() == 1 && is_break(words[i][0]);
    const bool open = !whole.empty() && !whole.back().empty() && is_break(whole.back().back());
    const bool joins = bash && !whole.empty() && (alone || open);
    if (joins) {
      whole.back() += words[i];
    } else {
      whole.push_back(words[i]);
    }
  }
  const std::size_t cut = bash && !whole.empty() ? whole.back().find_last_of("=:") + 1 : 0;
  std::string lines;
  for (const Suggestion& each : suggestions(root, whole, known_values)) {
    lines +=
        cat(each.word.substr(std::min(cut, each.word.size())), '\t', printable(each.help), '\n');
  }
  return lines;
}

}  // namespace tangram::cli
