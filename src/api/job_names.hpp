// The names of a job's enumerations on the wire, in the order of their values.
#pragma once

#include <array>
#include <string_view>

namespace tangram::api {

inline constexpr std::array<std::string_view, 3> kKindNames = {"batch", "service", "lease"};
inline constexpr std::array<std::string_view, 4> kRestartNames = {"never", "on-failure", "always",
                                                                  "on-node-fault"};
inline constexpr std::array<std::string_view, 4> kProbeNames = {"none", "tcp", "http", "command"};
inline constexpr std::array<std::string_view, 3> kEndpointNames = {"none", "tcp", "http"};
inline constexpr std::array<std::string_view, 3> kMoveNames = {"never", "replica", "checkpoint"};
inline constexpr std::array<std::string_view, 2> kEndConditionNames = {"ok", "any"};
inline constexpr std::array<std::string_view, 10> kStateNames = {
    "held",     "queued",    "placed", "starting",  "running",
    "stopping", "completed", "failed", "cancelled", "refused"};

}  // namespace tangram::api
