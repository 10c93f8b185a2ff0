// The memory slices of a GPU with the jobs that stand on them, as the daemon tells them. It is
// drawn from what is told and not from a model, so that a GPU of which little is known has a
// picture too. One rule: as picture.hpp, within 80 columns and readable without colour.
#pragma once

#include <string>
#include <vector>

#include "api/node.hpp"
#include "cli/output.hpp"

namespace tangram::cli {

// Text in one style, for whoever paints it himself.
struct Piece {
  std::string text;
  Style style = Style::kPlain;
};

// The map in pieces, in at most so many columns.
[[nodiscard]] std::vector<Piece> slice_pieces(const Output& out, const api::GpuView& gpu,
                                              int columns);

//   ┃ 2g.10gb #17 ┃ 1g.5gb idle ┊ · ┊ · ┊
[[nodiscard]] std::string slice_map(const Output& out, const api::GpuView& gpu);

}  // namespace tangram::cli
