// Plots: gnuplot turns the lab's CSV files into SVG. One rule: gnuplot runs as its own process with
// nothing but the script and the folder of the data; without it the lab says what to install.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::lab {

// Whether there is a gnuplot to call; the error says how to get one.
[[nodiscard]] Result<void> find_gnuplot();

// Runs the script in `directory` (where its data are); it prints the SVG.
[[nodiscard]] Result<std::string> plot_svg(std::string_view script, const std::string& directory,
                                           std::string_view what);

}  // namespace tangram::lab
