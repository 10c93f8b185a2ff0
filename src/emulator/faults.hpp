// Injected faults: a call, a GPU, a number of times and a probability each. Random numbers come
// from a sequence in the state, so the same node with the same calls fails at the same places.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "emulator/state_file.hpp"
#include "nvml/abi.hpp"

namespace tangram::emulator {

struct FaultEffect {
  nvml::Return error = nvml::kSuccess;
  bool lie = false;  // report success without doing anything
};

// Returns the fault of a call on a GPU (-1: on none) and uses it up. Blocks for the time of a hang.
[[nodiscard]] FaultEffect apply_fault(StateFile& state, std::string_view call, int gpu);

// "nvmlGpuInstanceDestroy=IN_USE", "*=hang:2000", "nvmlDeviceCreateGpuInstance=lie".
[[nodiscard]] Result<FaultState> parse_fault(std::string_view text);
[[nodiscard]] std::string fault_text(const FaultState& fault);

// "IN_USE"; and NVML's sentence for it.
[[nodiscard]] std::string_view error_name(nvml::Return error);
[[nodiscard]] const char* error_sentence(nvml::Return error);

}  // namespace tangram::emulator
