// The command line as the verbs see it: they add options to it and say what is asked of their
// values. Verb and Option point to what CLI11 keeps, and are used as pointers are. One rule: no
// verb includes CLI11, whose headers cost each file that does some seconds of the compiler; only
// what looks at the command line as a whole (parsing, help, completion, manual, the values of a
// sweep) does.
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
  Option& option_text(const std::string& form);  // what stands for its value in the help
  Option& group(const std::string& heading);     // of the help
  Option& excludes(const std::string& other);
  Option& excludes(const Option& other);
  Option& delimiter(char between);         // of several values in one word
  Option& expected(int least, int most);   // values
  Option& take_all();                      // if it is repeated
  Option& allow_extra_args(bool allowed);  // false: one value each time it is written
  Option& one_of(const std::vector<std::string>& words);
  Option& between(int lowest, int highest);
  // "" if the value is good, else why it is not.
  Option& check(std::function<std::string(const std::string&)> judge);

  [[nodiscard]] std::size_t count() const;  // how often it was written

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
  // Names as "-p,--profile", or "JOB" for an argument. The types a value may have are listed in
  // command_line.cpp.
  template <class Value>
  Option add_option(const std::string& names, Value& to, const std::string& help);
  Option add_flag(const std::string& names, bool& to, const std::string& help);
  // One whose values are given to `take`, which refuses them with refuse_value().
  Option add_taker(const std::string& names,
                   std::function<void(const std::vector<std::string>&)> take,
                   const std::string& help);
  Verb& footer(const std::string& text);
  // What is done once the command line was read, if the verb was chosen.
  Verb& callback(std::function<void()> chosen);
  [[nodiscard]] bool has_chosen() const;  // one of its subcommands

 private:
  CLI::App* verb_;
};

// For callbacks: the command line is no good.
[[noreturn]] void refuse_missing(const std::string& argument);
[[noreturn]] void refuse_value(const std::string& option, const std::string& why);

}  // namespace tangram::cli
