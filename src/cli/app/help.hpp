// The layout of --help: names on the left, descriptions wrapped on the right, within 80 columns.
// Defaults and exclusions are part of an option's description; CLI11 adds nothing to it.
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
