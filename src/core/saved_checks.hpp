// What restore() asks of saved state before it believes it. Private to the core. One rule: whatever
// would fail a CHECK later, or reach beyond an array, is an Error here.
#pragma once

#include <string>

#include "base/error.hpp"
#include "core/node.hpp"
#include "core/saved.hpp"

namespace tangram::core {

// "The saved state of the scheduler cannot be right: ….": one way to say it.
[[nodiscard]] std::unexpected<Error> unsound(const std::string& what);

// Numbers, placements and references, each for itself: enough to build a node from it.
[[nodiscard]] Result<void> check_saved(const Saved& saved);

// A node that was built from it: jobs and instances agree with each other.
[[nodiscard]] Result<void> check_restored(const Node& node);

}  // namespace tangram::core
