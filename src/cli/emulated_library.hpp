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
[[nodiscard]] Result<std::string> emulated_library();

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
// Calls a door; its own sentence is the error.
template <class... Parameters, class... Arguments>
[[nodiscard]] Result<void> call_door(const char* name,
                                     nvml::Return (* /*signature*/)(Parameters...),
                                     Arguments... arguments) {
  const auto door = find_door(name);
  if (!door) return std::unexpected(door.error());
  const auto function = reinterpret_cast<nvml::Return (*)(Parameters...)>(*door);
  const nvml::Return result = function(arguments...);
  if (result == nvml::kSuccess) return {};
  const auto error = find_door("tangramEmulatorError");
  if (!error) return std::unexpected(error.error());
  const bool bad_input = result == nvml::kInvalidArgument || result == nvml::kNotFound;
  return std::unexpected(Error{bad_input ? ErrorCode::kInvalid : ErrorCode::kFailed,
                               reinterpret_cast<decltype(&nvml::tangramEmulatorError)>(*error)()});
}

}  // namespace tangram::cli

// A door's name and signature, without linking it.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): only a macro has both
#define TANGRAM_DOOR(name) #name, static_cast<decltype(&tangram::nvml::name)>(nullptr)
