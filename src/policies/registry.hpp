// The table of policies: every placement, queue and migration policy by name. Each is one function
// in one file, with a row in registry.cpp.
#pragma once

#include <span>
#include <string_view>

#include "base/error.hpp"
#include "core/policy.hpp"
#include "core/tuning.hpp"

namespace tangram::policies {

[[nodiscard]] std::span<const core::PlacementPolicy> placement_policies();
[[nodiscard]] std::span<const core::QueuePolicy> queue_policies();
[[nodiscard]] std::span<const core::MigrationPolicy> migration_policies();

// Finds a policy by name; the error names the nearest one and all that exist.
[[nodiscard]] Result<const core::PlacementPolicy*> find_placement(std::string_view name);
[[nodiscard]] Result<const core::QueuePolicy*> find_queue(std::string_view name);
[[nodiscard]] Result<const core::MigrationPolicy*> find_migration(std::string_view name);

// The three that the tuning names.
[[nodiscard]] Result<core::Policies> find_policies(const core::Tuning& tuning);

}  // namespace tangram::policies
