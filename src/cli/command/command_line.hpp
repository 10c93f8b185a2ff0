// A thin interface to CLI11 for the verbs: they declare options and constraints through it. Verb
// and Option are handles to objects that CLI11 owns, and are copied freely. Verbs do not include
// CLI11 itself, because its headers add seconds to the compilation of each file; only parsing,
// help, completion, manual and `sim sweep` do.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tangram::cli {

class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option* operator->() { return this; }
  const Option* operator->() const { return this; }

  Option& required();
  Option& option_text(const std::string& form);  // the placeholder of its value in the help
  Option& group(const std::string& heading);     // the heading in the help
  Option& excludes(const std::string& other);
  Option& excludes(const Option& other);
  Option& delimiter(char between);         // separates several values in one word
  Option& expected(int least, int most);   // number of values
  Option& take_all();                      // keep the values of all occurrences
  Option& allow_extra_args(bool allowed);  // false: one value per occurrence
  Option& one_of(const std::vector<std::string>& words);
  Option& between(int lowest, int highest);
  // `validate` returns "" for a valid value, else the reason.
  Option& check(std::function<std::string(const std::string&)> validate);

  [[nodiscard]] std::size_t count() const;  // number of occurrences

 private:
  CLI::Option* option_;
};

class Verb {
 public:
  explicit Verb(CLI::App* verb) : verb_(verb) {}
  Verb* operator->() { return this; }
  Verb& operator*() { return *this; }
  [[nodiscard]] CLI::App& app() const { return *verb_; }

  Verb add_subcommand(const std::string& name, const std::string& summary);
  Verb& require_subcommand(std::size_t least, std::size_t most);
  // `names`: "-p,--profile" for an option, "JOB" for a positional argument. `to` must outlive the
  // command line. The value types are those instantiated in command_line.cpp.
  template <class Value>
  Option add_option(const std::string& names, Value& to, const std::string& help);
  Option add_flag(const std::string& names, bool& to, const std::string& help);
  // Passes the values to `on_values`, which rejects them with reject_value().
  Option add_callback_option(const std::string& names,
                             std::function<void(const std::vector<std::string>&)> on_values,
                             const std::string& help);
  Verb& footer(const std::string& text);
  // Called after parsing if the command line names this verb.
  Verb& callback(std::function<void()> on_chosen);
  [[nodiscard]] bool has_chosen_subcommand() const;

 private:
  CLI::App* verb_;
};

// For callbacks: reject the command line (exit code 2).
[[noreturn]] void reject_missing(const std::string& argument);
[[noreturn]] void reject_value(const std::string& option, const std::string& why);

}  // namespace tangram::cli
