// Draws the memory slices of a GPU with their jobs, from the daemon's view of it. Needs no GPU
// model, so GPUs of unknown models are drawn as well. At most 80 columns; readable without colour.
#pragma once

#include <string>
#include <vector>

#include "api/node.hpp"
#include "cli/command/output.hpp"

namespace tangram::cli {

// Text in one style; the caller renders it.
struct StyledText {
  std::string text;
  Style style = Style::kPlain;
};

// The map as pieces, at most `columns` wide.
[[nodiscard]] std::vector<StyledText> slice_pieces(const Output& out, const api::GpuView& gpu,
                                                   int columns);

//   ┃ 2g.10gb #17 ┃ 1g.5gb idle ┊ · ┊ · ┊
[[nodiscard]] std::string slice_map(const Output& out, const api::GpuView& gpu);

}  // namespace tangram::cli
