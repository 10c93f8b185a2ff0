// Failure: why a driver operation failed, for programs (`kind`, which decides the reaction: retry,
// place elsewhere, leave the GPU alone) and for people (`error`). NVML's codes are translated in
// failure_of() only.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"
#include "nvml/abi.hpp"

namespace tangram::device {

struct Failure {
  enum class Kind : std::uint8_t {
    kInUse,         // a process or another client holds it; see `holders`
    kNoRoom,        // the placement is taken, or the profile's limit is reached
    kLost,          // the GPU fell off the bus, or needs a reset
    kNotOurs,       // Tangram neither created nor adopted it
    kNotThere,      // no such GPU or instance
    kNoPermission,  // not root, and no access to mig/config
    kNotReady,      // MIG mode is off or only pending
    kUnsupported,   // the GPU or the driver cannot do it
    kUnresponsive,  // the driver call timed out; its effect is not known
    kFailed,        // anything else
  };
  // What a failed change left behind, as seen afterwards.
  enum class Leftover : std::uint8_t {
    kNothing,   // verified: nothing is left
    kInstance,  // verified: `instance` is left, complete or not
    kUnknown,   // could not be read
  };

  Kind kind = Kind::kFailed;
  Error error;
  std::vector<Process> holders;
  Leftover leftover = Leftover::kUnknown;
  std::optional<Instance> instance;
};

template <class T>
using Outcome = std::expected<T, Failure>;

// "IN_USE"; the number, e.g. "999", for a code without a name.
[[nodiscard]] std::string code_name(nvml::Return code);

// "cannot `tried` on `on`: why. What to do."
[[nodiscard]] Failure failure_of(nvml::Return code, std::string_view tried, std::string_view on);

// A failure that no NVML code describes. Its leftover is kUnknown.
[[nodiscard]] Failure make_failure(Failure::Kind kind, ErrorCode code, std::string message);

// "python (pid 4711) and pid 4712"; if empty: "a process that the driver does not list".
[[nodiscard]] std::string names_of(const std::vector<Process>& holders);

}  // namespace tangram::device
