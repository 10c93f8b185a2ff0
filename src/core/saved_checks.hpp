// The checks of restore() on saved state. Private to the core. Whatever would fail a CHECK later,
// or exceed an array, is an Error here.
#pragma once

#include <string>

#include "base/error.hpp"
#include "core/node.hpp"
#include "core/saved.hpp"

namespace tangram::core {

// The error "the saved state of the scheduler cannot be right: ….".
[[nodiscard]] std::unexpected<Error> unsound(const std::string& what);

// Checks numbers, placements and references one by one: enough to build a node.
[[nodiscard]] Result<void> check_saved(const Saved& saved);

// Checks a node built from it: jobs and instances must match.
[[nodiscard]] Result<void> check_restored(const Node& node);

}  // namespace tangram::core
