// See help.hpp.
#include "cli/app/help.hpp"

#include "base/text.hpp"
#include "cli/command/output.hpp"

namespace tangram::cli {
namespace {

std::string entry(const std::string& name, const std::string& description) {
  Output out;
  Table table({{""}, {""}});
  constexpr std::size_t kNameColumns = 18;
  std::string padded = name;
  padded.resize(std::max(name.size(), kNameColumns), ' ');
  table.row({padded, description});
  table.print(out);
  return out.text();
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string& value = option->get_option_text();
  const std::string name = option->get_name(is_positional, !is_positional);
  return entry(value.empty() ? name : cat(name, ' ', value), option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  return entry(verb->get_name(), verb->get_description());
}

}  // namespace tangram::cli
