// Users of the machine: names for numbers, and what a job of theirs runs with. The answers may come
// from a directory service and take their time. One rule: only add_user may block; it is called off
// the loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/run_spec.hpp"
#include "base/error.hpp"

namespace tangram::daemon {

// "alice"; the number itself if nobody knows it. Remembered for the life of the process.
[[nodiscard]] std::string user_name(std::uint32_t uid);

// Fills in the user's groups (when we are root), home, shell and name where the spec has none.
[[nodiscard]] Result<void> add_user(api::RunSpec& spec, std::uint32_t uid);

}  // namespace tangram::daemon
