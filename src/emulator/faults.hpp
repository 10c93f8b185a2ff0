// Faults: what was asked to go wrong, so that every failure of a driver can be provoked. Each has
// a call, a GPU, a number of times and a chance. One rule: chance is drawn from a sequence that
// lies in the state, so the same node with the same calls fails in the same places.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "emulator/state_file.hpp"
#include "nvml/abi.hpp"

namespace tangram::emulator {

struct Verdict {
  nvml::Return error = nvml::kSuccess;
  bool lie = false;  // say it was done, and do nothing
};

// What happens to a call on a GPU (-1: on none); waits if it is to hang.
[[nodiscard]] Verdict suffer(StateFile& state, std::string_view call, int gpu);

// "nvmlGpuInstanceDestroy=IN_USE", "*=hang:2000", "nvmlDeviceCreateGpuInstance=lie".
[[nodiscard]] Result<FaultState> parse_fault(std::string_view text);
[[nodiscard]] std::string fault_text(const FaultState& fault);

// "IN_USE" and back.
[[nodiscard]] std::string_view error_name(nvml::Return error);
[[nodiscard]] const char* error_sentence(nvml::Return error);

}  // namespace tangram::emulator
