// The keys of the placement policies, one function per file, and shared helpers. The smallest key
// wins, compared part by part. All rely on core/candidates.hpp: the slot is legal, free and within
// the limits.
#pragma once

#include <optional>

#include "core/node.hpp"
#include "core/policy.hpp"

namespace tangram::policies {

core::Key paper_key(const core::Node&, const core::Request&, const core::Slot&);
std::optional<core::Slot> paper_indexed(const core::Node&, const core::Request&);
core::Key first_fit_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key first_fit_driver_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key best_fit_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key least_loaded_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key owp_style_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key elasticbatch_style_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key hami_style_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key min_delta_key(const core::Node&, const core::Request&, const core::Slot&);
core::Key fgd_style_key(const core::Node&, const core::Request&, const core::Slot&);

// A slot seen with its GPU: the model, the occupancy before and after the placement.
struct Seen {
  const core::Gpu& gpu;
  const mig::Model& model;
  mig::Placement placement;
  mig::Occupancy after;
};
[[nodiscard]] Seen look(const core::Node&, const core::Request&, const core::Slot&);

// Memory slices that are free in `o`, and those of them that no legal placement could use.
[[nodiscard]] int free_slices(const mig::Model&, mig::Occupancy o);
[[nodiscard]] int stranded_slices(const mig::Model&, mig::Occupancy o);

}  // namespace tangram::policies
