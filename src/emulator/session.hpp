// Session: this process's use of the library. nvmlInit is counted; the first call reads the
// environment (TANGRAM_EMULATE, TANGRAM_EMULATOR_STATE, TANGRAM_EMULATOR_LATENCY) and maps the
// state. A mapping is never removed while the process lives, because another thread may be in a
// call. An error in the environment is printed once on standard error, since NVML cannot report it.
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

// The value of TANGRAM_EMULATE; empty if it is not set.
[[nodiscard]] std::string node_from_environment();
// The path of the state: TANGRAM_EMULATOR_STATE, or a file per user and node in the run-time
// folder.
[[nodiscard]] std::string state_path();

// Sleeps as long as such a call takes on this node, scaled by TANGRAM_EMULATOR_LATENCY.
void emulate_latency(std::uint32_t microseconds);
[[nodiscard]] double latency_scale();

// CLOCK_BOOTTIME, which all processes share.
[[nodiscard]] std::int64_t boot_time_ns();

}  // namespace tangram::emulator
