// The emulated libnvidia-ml.so.1: its location, and its control functions (nvml/control.hpp). The
// library is loaded with dlopen() and never linked, as for any NVML client.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "nvml/control.hpp"

namespace tangram::cli {

// The directory of the library: next to the program in a build tree, ../lib/tangram/emulator when
// installed.
[[nodiscard]] Result<std::string> emulated_library_folder();

// The emulated node of the options. Empty members: as in the environment.
struct EmulatedNode {
  std::string node;   // TANGRAM_EMULATE
  std::string state;  // TANGRAM_EMULATOR_STATE
};
// Sets the environment variables that the library reads when it is first used.
void apply(const EmulatedNode& node);

// The status and the state file of the node. The error says why there is no such node.
[[nodiscard]] Result<std::string> emulated_status();  // as JSON
[[nodiscard]] Result<std::string> emulated_state_path();

// A control function of the library, which is loaded on first use.
[[nodiscard]] Result<void*> find_control(const char* name);
// Calls a control function, e.g.
// call_control<decltype(nvml::tangramEmulatorReboot)>("tangramEmulatorReboot"). On failure returns
// the emulator's own message.
template <class Function, class... Arguments>
[[nodiscard]] Result<void> call_control(const char* name, Arguments... arguments) {
  const auto function = find_control(name);
  if (!function) return std::unexpected(function.error());
  const nvml::Return result = reinterpret_cast<Function*>(*function)(arguments...);
  if (result == nvml::kSuccess) return {};
  const auto error = find_control("tangramEmulatorError");
  if (!error) return std::unexpected(error.error());
  const bool bad_input = result == nvml::kInvalidArgument || result == nvml::kNotFound;
  return std::unexpected(Error{bad_input ? ErrorCode::kInvalid : ErrorCode::kFailed,
                               reinterpret_cast<decltype(&nvml::tangramEmulatorError)>(*error)()});
}

}  // namespace tangram::cli
