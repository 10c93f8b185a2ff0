// The emulated libnvidia-ml.so.1 that was built with this program: where it lies, and its own doors
// (nvml/control.hpp), found by name. One rule: the program never links it; like every client it is
// reached through the dynamic linker.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "nvml/control.hpp"

namespace tangram::cli {

// Beside the program in a build tree, in ../lib/tangram/emulator where it is installed.
[[nodiscard]] Result<std::string> emulated_library_folder();

// Which emulated node is meant: what the environment says, unless an option says otherwise.
struct EmulatedNode {
  std::string node;   // TANGRAM_EMULATE
  std::string state;  // TANGRAM_EMULATOR_STATE
};
void apply(const EmulatedNode& node);

// Where the state of that node lies; the error says why there is no such node.
[[nodiscard]] Result<std::string> emulated_status();  // as JSON
[[nodiscard]] Result<std::string> emulated_state_path();

// A door of the library, loaded when first needed.
[[nodiscard]] Result<void*> find_door(const char* name);
// call_door<decltype(nvml::tangramEmulatorReboot)>("tangramEmulatorReboot"): calls it; its own
// sentence is the error.
template <class Door, class... Arguments>
[[nodiscard]] Result<void> call_door(const char* name, Arguments... arguments) {
  const auto door = find_door(name);
  if (!door) return std::unexpected(door.error());
  const nvml::Return result = reinterpret_cast<Door*>(*door)(arguments...);
  if (result == nvml::kSuccess) return {};
  const auto error = find_door("tangramEmulatorError");
  if (!error) return std::unexpected(error.error());
  const bool bad_input = result == nvml::kInvalidArgument || result == nvml::kNotFound;
  return std::unexpected(Error{bad_input ? ErrorCode::kInvalid : ErrorCode::kFailed,
                               reinterpret_cast<decltype(&nvml::tangramEmulatorError)>(*error)()});
}

}  // namespace tangram::cli
