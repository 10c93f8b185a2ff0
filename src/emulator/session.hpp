// Session: this process's use of the library. nvmlInit is counted; the first one looks at the
// environment (TANGRAM_EMULATE, TANGRAM_EMULATOR_STATE, TANGRAM_EMULATOR_LATENCY) and maps the
// state. A mapping is never taken away while the process lives, because another thread may be in
// the middle of a call. One rule: a mistake in the environment is said once on standard error,
// since NVML has no other way to say what is wrong.
#pragma once

#include <string>

#include "base/error.hpp"
#include "emulator/state_file.hpp"
#include "nvml/abi.hpp"

namespace tangram::emulator {

[[nodiscard]] nvml::Return session_init();
[[nodiscard]] nvml::Return session_shutdown();

// The node, or null before nvmlInit and after the last nvmlShutdown.
[[nodiscard]] StateFile* session_state();
// The node for the control functions, which need no nvmlInit.
[[nodiscard]] Result<StateFile*> control_state();

// TANGRAM_EMULATE; empty if it says nothing.
[[nodiscard]] std::string wanted_node();
// Where the state lies: TANGRAM_EMULATOR_STATE, or a file of this user's and this node's in the
// run-time folder.
[[nodiscard]] std::string state_path();

// Waits as long as the node says such a call takes, scaled by TANGRAM_EMULATOR_LATENCY.
void take_time(std::uint32_t microseconds);
[[nodiscard]] double latency_scale();

// CLOCK_BOOTTIME, which all processes share.
[[nodiscard]] std::int64_t boot_time_ns();

}  // namespace tangram::emulator
