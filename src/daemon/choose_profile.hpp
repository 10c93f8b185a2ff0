// Which profile a request means: the one it names, or the smallest that has so much memory. One
// rule: an answer is a profile that some GPU of this node has; a refusal names the nearest one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/node.hpp"
#include "http/doors.hpp"

namespace tangram::daemon {

[[nodiscard]] http::Answer<std::string> choose_profile(
    const core::Node& node, const std::string& profile,
    const std::optional<std::uint64_t>& gpu_memory_mib);

}  // namespace tangram::daemon
