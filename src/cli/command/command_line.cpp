// See command_line.hpp.
#include "cli/command/command_line.hpp"

#include <cstdint>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

namespace tangram::cli {

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::option_text(const std::string& form) {
  option_->option_text(form);
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::excludes(const std::string& other) {
  option_->excludes(other);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::delimiter(char between) {
  option_->delimiter(between);
  return *this;
}

Option& Option::expected(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Option& Option::take_all() {
  option_->take_all();
  return *this;
}

Option& Option::allow_extra_args(bool allowed) {
  option_->allow_extra_args(allowed);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Option& Option::between(int lowest, int highest) {
  option_->check(CLI::Range(lowest, highest));
  return *this;
}

Option& Option::check(std::function<std::string(const std::string&)> validate) {
  option_->check(CLI::Validator(std::move(validate), ""));
  return *this;
}

std::size_t Option::count() const { return option_->count(); }

Verb Verb::add_subcommand(const std::string& name, const std::string& summary) {
  return Verb(verb_->add_subcommand(name, summary));
}

Verb& Verb::require_subcommand(std::size_t least, std::size_t most) {
  verb_->require_subcommand(least, most);
  return *this;
}

template <class Value>
Option Verb::add_option(const std::string& names, Value& to, const std::string& help) {
  return Option(verb_->add_option(names, to, help));
}

template Option Verb::add_option(const std::string&, std::string&, const std::string&);
template Option Verb::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Verb::add_option(const std::string&, std::vector<std::uint64_t>&,
                                 const std::string&);
template Option Verb::add_option(const std::string&, int&, const std::string&);
template Option Verb::add_option(const std::string&, unsigned&, const std::string&);
template Option Verb::add_option(const std::string&, std::uint64_t&, const std::string&);
template Option Verb::add_option(const std::string&, unsigned long long&, const std::string&);
template Option Verb::add_option(const std::string&, double&, const std::string&);
template Option Verb::add_option(const std::string&, std::optional<int>&, const std::string&);
template Option Verb::add_option(const std::string&, std::optional<std::uint64_t>&,
                                 const std::string&);
template Option Verb::add_option(const std::string&, std::optional<double>&, const std::string&);

Option Verb::add_flag(const std::string& names, bool& to, const std::string& help) {
  return Option(verb_->add_flag(names, to, help));
}

Option Verb::add_callback_option(const std::string& names,
                                 std::function<void(const std::vector<std::string>&)> on_values,
                                 const std::string& help) {
  return Option(verb_->add_option(
      names,
      [on_values = std::move(on_values)](const std::vector<std::string>& typed) {
        on_values(typed);
        return true;
      },
      help));
}

Verb& Verb::footer(const std::string& text) {
  verb_->footer(text);
  return *this;
}

Verb& Verb::callback(std::function<void()> on_chosen) {
  verb_->callback(std::move(on_chosen));
  return *this;
}

bool Verb::has_chosen_subcommand() const { return !verb_->get_subcommands().empty(); }

void reject_missing(const std::string& argument) { throw CLI::RequiredError(argument); }

void reject_value(const std::string& option, const std::string& why) {
  throw CLI::ValidationError(option, why);
}

}  // namespace tangram::cli
