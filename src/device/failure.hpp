// Failure: why something asked of the driver did not happen, in a form that a program can act on
// and a person can read. It exists because the reaction differs: what is in use is tried again,
// what has no room goes elsewhere, a lost GPU is left alone. One rule: NVML's codes are translated
// here, in one function, and nowhere else.
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
    kNoRoom,        // the place is taken, or the profile's limit is reached
    kLost,          // the GPU fell off the bus, or needs a reset
    kNotOurs,       // Tangram did not create it and was not told to adopt it
    kNotThere,      // no such GPU or instance
    kNoPermission,  // not root, and no access to mig/config
    kNotReady,      // MIG mode is off or only pending
    kUnsupported,   // the GPU or the driver cannot do it
    kUnresponsive,  // the driver did not answer in time; what it did is not known
    kFailed,        // anything else
  };
  // What a change that failed left behind, as far as it was seen afterwards.
  enum class Left : std::uint8_t {
    kNothing,   // looked: nothing of it stands
    kInstance,  // looked: `instance` stands, whole or half made
    kUnknown,   // could not look
  };

  Kind kind = Kind::kFailed;
  Error error;
  std::vector<Process> holders;
  Left left = Left::kUnknown;
  std::optional<Instance> instance;
};

template <class T>
using Outcome = std::expected<T, Failure>;

// "IN_USE"; "999" for a code without a name.
[[nodiscard]] std::string code_name(nvml::Return code);

// "cannot `tried` on `on`: why. What to do."
[[nodiscard]] Failure failure_of(nvml::Return code, std::string_view tried, std::string_view on);

// A failure that no code tells.
[[nodiscard]] Failure make_failure(Failure::Kind kind, ErrorCode code, std::string message);

// "python (pid 4711) and pid 4712"; what nobody could name is "a process that the driver does not
// list".
[[nodiscard]] std::string names_of(const std::vector<Process>& holders);

}  // namespace tangram::device
