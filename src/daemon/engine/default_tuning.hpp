// The tuning that a new store starts with, for keys that the configuration file does not set. This
// is the one place for the daemon's defaults: core::Tuning has those of the paper, which simulator,
// lab and vectors use. A default changed here applies to new stores only: an existing store keeps
// its tuning, and `tangram status` names the keys that differ.
#pragma once

#include "core/tuning.hpp"

namespace tangram::daemon {

[[nodiscard]] inline core::Tuning default_tuning() {
  core::Tuning tuning;
  tuning.queue = "backfill";
  return tuning;
}

}  // namespace tangram::daemon
