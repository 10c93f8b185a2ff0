// Drawings of a GPU's memory slices: the placements of a layout, and the legal placements of a
// model. Used slices have heavy borders, free ones dotted, so they read without colour. At most 80
// columns for every model; ASCII if the output has no UTF-8.
#pragma once

#include <span>
#include <string>

#include "cli/command/output.hpp"
#include "mig/model.hpp"

namespace tangram::cli {

// One row of slices with the placements as boxes:
//       0        1        2        3
//   ┏━━━━━━━━━━━━━━━━━┳━━━━━━━━┱┄┄┄┄┄┄┄┄┐
//   ┃     2g.12gb     ┃ 1g.6gb ┃        ┊
//   ┗━━━━━━━━━━━━━━━━━┻━━━━━━━━┹┄┄┄┄┄┄┄┄┘
[[nodiscard]] std::string layout_picture(const Output& out, const mig::Model& model,
                                         std::span<const mig::Placement> placements);

// One line per profile with all its legal placements:
//   2g.12gb    ┣━━━━━ 0 ━━━━━┫┣━━━━━ 2 ━━━━━┫
[[nodiscard]] std::string placements_picture(const Output& out, const mig::Model& model);

// One character per slice: the compute slices of the profile that occupies it, or a dot: "22·1".
[[nodiscard]] std::string strip_picture(const Output& out, const mig::Model& model,
                                        std::span<const mig::Placement> placements);

}  // namespace tangram::cli
