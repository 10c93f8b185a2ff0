// How --help looks: names on the left, folded descriptions on the right, within the screen. One
// rule: what an option excludes or defaults to is said in its description, where it can be read.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace tangram::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  [[nodiscard]] std::string make_option(const CLI::Option* option,
                                        bool is_positional) const override;
  [[nodiscard]] std::string make_subcommand(const CLI::App* verb) const override;
};

}  // namespace tangram::cli
