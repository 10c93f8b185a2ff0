// Pictures of a GPU's memory slices for people: what stands where, and what may stand where.
// Taken is drawn heavy, free is dotted, so that a picture reads without colour; without UTF-8 it
// is drawn in ASCII. One rule: at most 80 columns for every model there can be.
#pragma once

#include <span>
#include <string>

#include "cli/output.hpp"
#include "mig/model.hpp"

namespace tangram::cli {

// The slices in a row with the placements as boxes:
//       0        1        2        3
//   ┏━━━━━━━━━━━━━━━━━┳━━━━━━━━┱┄┄┄┄┄┄┄┄┐
//   ┃     2g.12gb     ┃ 1g.6gb ┃        ┊
//   ┗━━━━━━━━━━━━━━━━━┻━━━━━━━━┹┄┄┄┄┄┄┄┄┘
[[nodiscard]] std::string layout_picture(const Output& out, const mig::Model& model,
                                         std::span<const mig::Placement> placements);

// A line per profile with every placement it may have:
//   2g.12gb    ┣━━━━━ 0 ━━━━━┫┣━━━━━ 2 ━━━━━┫
[[nodiscard]] std::string placements_picture(const Output& out, const mig::Model& model);

// A sign per slice: the compute slices of the profile that takes it, or a dot: "22·1".
[[nodiscard]] std::string strip_picture(const Output& out, const mig::Model& model,
                                        std::span<const mig::Placement> placements);

}  // namespace tangram::cli
