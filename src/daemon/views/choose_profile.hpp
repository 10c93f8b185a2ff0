// Resolves the profile of a request.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/node.hpp"
#include "http/routes/api_handlers.hpp"

namespace tangram::daemon {

// Returns a profile that some GPU of the node has: `profile`, or the smallest with at least
// `gpu_memory_mib` if that is given. Only GPUs of `gpu_model` count, unless it is empty. A problem
// (422) names the nearest profile, or all of them.
[[nodiscard]] http::Answer<std::string> choose_profile(
    const core::Node& node, const std::string& profile,
    const std::optional<std::uint64_t>& gpu_memory_mib, const std::string& gpu_model = {});

}  // namespace tangram::daemon
