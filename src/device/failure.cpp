// See failure.hpp.
#include "device/failure.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace tangram::device {
namespace {

struct Meaning {
  nvml::Return code;
  Failure::Kind kind;
  ErrorCode error;
  std::string_view name;
  std::string_view why;
  std::string_view advice;
};

using Kind = Failure::Kind;

constexpr Meaning kMeanings[] = {
    {nvml::kSuccess, Kind::kFailed, ErrorCode::kFailed, "SUCCESS",
     "the driver reports success, but nothing changed", "Check the kernel log (dmesg)."},
    {nvml::kUninitialized, Kind::kFailed, ErrorCode::kFailed, "UNINITIALIZED",
     "the library was not initialised", "This is a bug in Tangram; please report it."},
    {nvml::kInvalidArgument, Kind::kFailed, ErrorCode::kFailed, "INVALID_ARGUMENT",
     "invalid argument for the driver",
     "The GPU or instance may just have been removed; list them and try again."},
    {nvml::kNotSupported, Kind::kUnsupported, ErrorCode::kFailed, "NOT_SUPPORTED",
     "the GPU or its driver does not support it", "Check the GPU's model and its MIG mode."},
    {nvml::kNoPermission, Kind::kNoPermission, ErrorCode::kFailed, "NO_PERMISSION", "no permission",
     "Run as root, or give this user read access to /proc/driver/nvidia/capabilities/mig/config."},
    {nvml::kNotFound, Kind::kNotThere, ErrorCode::kNotFound, "NOT_FOUND", "not found",
     "See `tangram device instances`."},
    {nvml::kInsufficientSize, Kind::kFailed, ErrorCode::kFailed, "INSUFFICIENT_SIZE",
     "the buffer was too small", "Try again."},
    {nvml::kInsufficientPower, Kind::kFailed, ErrorCode::kFailed, "INSUFFICIENT_POWER",
     "a power cable of the GPU is missing", "Connect its external power."},
    {nvml::kDriverNotLoaded, Kind::kFailed, ErrorCode::kUnavailable, "DRIVER_NOT_LOADED",
     "the NVIDIA kernel driver is not loaded",
     "Load it (modprobe nvidia) or install it; `tangram emulate` can stand in for it."},
    {nvml::kTimeout, Kind::kFailed, ErrorCode::kUnavailable, "TIMEOUT",
     "the driver gave up waiting for the GPU", "Try again; check the kernel log (dmesg)."},
    {nvml::kIrqIssue, Kind::kFailed, ErrorCode::kFailed, "IRQ_ISSUE",
     "the kernel found an interrupt problem with the GPU", "Check the kernel log (dmesg)."},
    {nvml::kFunctionNotFound, Kind::kUnsupported, ErrorCode::kFailed, "FUNCTION_NOT_FOUND",
     "the driver's library is too old to have this function",
     "MIG needs driver R450, Tangram R510 or newer; install one."},
    {nvml::kGpuIsLost, Kind::kLost, ErrorCode::kFailed, "GPU_IS_LOST",
     "the GPU has fallen off the bus",
     "Look for Xid 79 in the kernel log (dmesg); reset the GPU or reboot the machine."},
    {nvml::kResetRequired, Kind::kLost, ErrorCode::kFailed, "RESET_REQUIRED",
     "the GPU must be reset first", "Stop what uses it, then run nvidia-smi --gpu-reset."},
    {nvml::kOperatingSystem, Kind::kFailed, ErrorCode::kFailed, "OPERATING_SYSTEM",
     "the operating system has blocked it", "Check the device cgroup and /dev/nvidia*."},
    {nvml::kLibRmVersionMismatch, Kind::kFailed, ErrorCode::kFailed, "LIB_RM_VERSION_MISMATCH",
     "the library and the kernel driver are of different versions",
     "A driver was updated under a running system; reload the kernel modules or reboot."},
    {nvml::kInUse, Kind::kInUse, ErrorCode::kUnavailable, "IN_USE", "in use by another client",
     "Stop the processes that use it and try again."},
    {nvml::kMemory, Kind::kFailed, ErrorCode::kUnavailable, "MEMORY", "not enough memory",
     "Free some and try again."},
    {nvml::kInsufficientResources, Kind::kNoRoom, ErrorCode::kUnavailable, "INSUFFICIENT_RESOURCES",
     "the placement is taken, or the limit of this profile is reached",
     "Choose another start, or destroy an instance first."},
    {nvml::kNotReady, Kind::kFailed, ErrorCode::kUnavailable, "NOT_READY",
     "the GPU is not ready yet", "Try again."},
    {nvml::kGpuNotFound, Kind::kNotThere, ErrorCode::kNotFound, "GPU_NOT_FOUND",
     "the driver sees no GPU", "Check lspci and the kernel log; `tangram emulate` can stand in."},
    {nvml::kInvalidState, Kind::kFailed, ErrorCode::kFailed, "INVALID_STATE",
     "the GPU is in a state that does not allow it", "Check the GPU's MIG mode."},
    {nvml::kUnknown, Kind::kFailed, ErrorCode::kFailed, "UNKNOWN", "internal error of the driver",
     "Check the kernel log (dmesg)."},
};

const Meaning* meaning_of(nvml::Return code) {
  const auto found = std::ranges::find(kMeanings, code, &Meaning::code);
  return found == std::end(kMeanings) ? nullptr : found;
}

}  // namespace

std::string code_name(nvml::Return code) {
  const Meaning* meaning = meaning_of(code);
  return meaning == nullptr ? std::to_string(static_cast<int>(code)) : std::string(meaning->name);
}

Failure failure_of(nvml::Return code, std::string_view tried, std::string_view on) {
  const Meaning* meaning = meaning_of(code);
  if (meaning == nullptr) meaning = meaning_of(nvml::kUnknown);
  return make_failure(meaning->kind, meaning->error,
                      cat("cannot ", tried, " on ", on, ": ", meaning->why,
                          " (NVML: ", code_name(code), "). ", meaning->advice));
}

Failure make_failure(Failure::Kind kind, ErrorCode code, std::string message) {
  return {.kind = kind,
          .error = {code, std::move(message)},
          .holders = {},
          .leftover = Failure::Leftover::kUnknown,
          .instance = std::nullopt};
}

std::string names_of(const std::vector<Process>& holders) {
  if (holders.empty()) return "a process that the driver does not list";
  std::vector<std::string> names;
  for (const Process& process : holders) {
    names.push_back(process.name.empty()
                        ? cat("pid ", process.pid)
                        : cat(printable(process.name), " (pid ", process.pid, ")"));
  }
  return join_words(names);
}

}  // namespace tangram::device
