// The table of policies: every placement, queue and migration policy by name. One rule: a policy
// is one function in one file; it exists when it has a row in registry.cpp.
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

// By name; the error names the nearest and all there are.
[[nodiscard]] Result<const core::PlacementPolicy*> find_placement(std::string_view name);
[[nodiscard]] Result<const core::QueuePolicy*> find_queue(std::string_view name);
[[nodiscard]] Result<const core::MigrationPolicy*> find_migration(std::string_view name);

// The three that the tuning names.
[[nodiscard]] Result<core::Policies> find_policies(const core::Tuning& tuning);

}  // namespace tangram::policies
