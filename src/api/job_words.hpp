// The words of a job's enumerations, in the order of their values. Private to the JSON of a job.
#pragma once

#include <array>
#include <string_view>

namespace tangram::api {

inline constexpr std::array<std::string_view, 3> kKindWords = {"batch", "service", "lease"};
inline constexpr std::array<std::string_view, 3> kRestartWords = {"never", "on-failure", "always"};
inline constexpr std::array<std::string_view, 4> kProbeWords = {"none", "tcp", "http", "command"};
inline constexpr std::array<std::string_view, 3> kEndpointWords = {"none", "tcp", "http"};
inline constexpr std::array<std::string_view, 3> kMoveWords = {"never", "replica", "checkpoint"};
inline constexpr std::array<std::string_view, 10> kStateWords = {
    "held",     "queued",    "placed", "starting",  "running",
    "stopping", "completed", "failed", "cancelled", "refused"};

}  // namespace tangram::api
