// Plots: gnuplot turns the lab's CSV files into SVG. It runs as a separate process with only the
// script and the folder of the data; if it is missing, the error says what to install.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tangram::lab {

// Checks that gnuplot can be run; the error says how to get it.
[[nodiscard]] Result<void> find_gnuplot();

// Runs the script in `directory`, which has its data, and returns the SVG. `what` is for messages.
[[nodiscard]] Result<std::string> plot_svg(std::string_view script, const std::string& directory,
                                           std::string_view what);

}  // namespace tangram::lab
