// See faults.hpp.
#include "emulator/faults.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <thread>

#include "base/text.hpp"

namespace tangram::emulator {
namespace {

struct ErrorRow {
  nvml::Return code;
  std::string_view name;
  const char* sentence;  // as nvmlErrorString returns it
};

// clang-format off
constexpr std::array<ErrorRow, 32> kErrors = {{
    {nvml::kSuccess,                "SUCCESS",                  "Success"},
    {nvml::kUninitialized,          "UNINITIALIZED",            "Uninitialized"},
    {nvml::kInvalidArgument,        "INVALID_ARGUMENT",         "Invalid Argument"},
    {nvml::kNotSupported,           "NOT_SUPPORTED",            "Not Supported"},
    {nvml::kNoPermission,           "NO_PERMISSION",            "Insufficient Permissions"},
    {nvml::kAlreadyInitialized,     "ALREADY_INITIALIZED",      "Already Initialized"},
    {nvml::kNotFound,               "NOT_FOUND",                "Not Found"},
    {nvml::kInsufficientSize,       "INSUFFICIENT_SIZE",        "Insufficient Size"},
    {nvml::kInsufficientPower,      "INSUFFICIENT_POWER",       "Insufficient External Power"},
    {nvml::kDriverNotLoaded,        "DRIVER_NOT_LOADED",        "Driver Not Loaded"},
    {nvml::kTimeout,                "TIMEOUT",                  "Timeout"},
    {nvml::kIrqIssue,               "IRQ_ISSUE",                "Interrupt Request Issue"},
    {nvml::kLibraryNotFound,        "LIBRARY_NOT_FOUND",        "NVML Shared Library Not Found"},
    {nvml::kFunctionNotFound,       "FUNCTION_NOT_FOUND",       "Function Not Found"},
    {nvml::kCorruptedInforom,       "CORRUPTED_INFOROM",        "Corrupted infoROM"},
    {nvml::kGpuIsLost,              "GPU_IS_LOST",              "GPU is lost"},
    {nvml::kResetRequired,          "RESET_REQUIRED",           "GPU requires restart"},
    {nvml::kOperatingSystem,        "OPERATING_SYSTEM",         "The operating system has blocked the request."},
    {nvml::kLibRmVersionMismatch,   "LIB_RM_VERSION_MISMATCH",  "RM has detected an NVML/RM version mismatch."},
    {nvml::kInUse,                  "IN_USE",                   "In use by another client"},
    {nvml::kMemory,                 "MEMORY",                   "Insufficient Memory"},
    {nvml::kNoData,                 "NO_DATA",                  "No data"},
    {nvml::kVgpuEccNotSupported,    "VGPU_ECC_NOT_SUPPORTED",   "The requested vgpu operation is not available on target device, becasue ECC is enabled"},
    {nvml::kInsufficientResources,  "INSUFFICIENT_RESOURCES",   "Insufficient Resources"},
    {nvml::kFreqNotSupported,       "FREQ_NOT_SUPPORTED",       "Frequency not supported"},
    {nvml::kArgumentVersionMismatch,"ARGUMENT_VERSION_MISMATCH","Argument version mismatch"},
    {nvml::kDeprecated,             "DEPRECATED",               "Deprecated"},
    {nvml::kNotReady,               "NOT_READY",                "Not ready"},
    {nvml::kGpuNotFound,            "GPU_NOT_FOUND",            "GPU not found"},
    {nvml::kInvalidState,           "INVALID_STATE",            "Invalid state"},
    {nvml::kResetTypeNotSupported,  "RESET_TYPE_NOT_SUPPORTED", "Reset type not supported"},
    {nvml::kUnknown,                "UNKNOWN",                  "Unknown Error"},
}};
// clang-format on

std::string_view without_version(std::string_view call) {
  if (call.size() > 3 && call.substr(call.size() - 3, 2) == "_v") call.remove_suffix(3);
  return call;
}

bool matches(const FaultState& fault, std::string_view call, int gpu) {
  if (fault.kind == FaultKind::kNone || (fault.gpu >= 0 && fault.gpu != gpu)) return false;
  const std::string_view wanted = fault.call;
  return wanted == "*" ? gpu >= 0 : wanted == without_version(call);
}

// The n-th number of a fixed sequence, from 0 to 99.
std::uint32_t draw(std::uint64_t n) {
  std::uint64_t x = (n + 1) * 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30U) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27U) * 0x94D049BB133111EBU;
  return static_cast<std::uint32_t>((x ^ x >> 31U) % 100);
}

// Only calls that change something can report a success without effect.
bool can_lie(std::string_view call) {
  constexpr std::array<std::string_view, 7> kChanging = {
      "nvmlDeviceCreateGpuInstance",
      "nvmlDeviceCreateGpuInstanceWithPlacement",
      "nvmlGpuInstanceDestroy",
      "nvmlGpuInstanceCreateComputeInstance",
      "nvmlGpuInstanceCreateComputeInstanceWithPlacement",
      "nvmlComputeInstanceDestroy",
      "nvmlDeviceSetMigMode"};
  return std::ranges::find(kChanging, call) != kChanging.end();
}

// Returns whether this library has such a function, in any version, that calls apply_fault().
bool can_fail(const std::string& call) {
  if (call.starts_with("nvmlInit") || call == "nvmlShutdown" || call == "nvmlErrorString") {
    return false;
  }
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void*>(&error_sentence), &here) == 0) return true;
  void* self = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (self == nullptr) return true;
  const bool found = dlsym(self, call.c_str()) != nullptr ||
                     dlsym(self, (call + "_v2").c_str()) != nullptr ||
                     dlsym(self, (call + "_v3").c_str()) != nullptr;
  dlclose(self);
  return found && call.starts_with("nvml");
}

Error bad_fault(std::string_view text, const std::string& why) {
  return {ErrorCode::kInvalid,
          cat("cannot inject fault ", tangram::quoted(text), ": ", why,
              " Write CALL=WHAT, e.g. nvmlGpuInstanceDestroy=IN_USE, nvmlDeviceGetMigMode=hang:500 "
              "or nvmlDeviceCreateGpuInstanceWithPlacement=lie.")};
}

}  // namespace

std::string_view error_name(nvml::Return error) {
  const auto row = std::ranges::find(kErrors, error, &ErrorRow::code);
  return row == kErrors.end() ? "UNKNOWN" : row->name;
}

const char* error_sentence(nvml::Return error) {
  const auto row = std::ranges::find(kErrors, error, &ErrorRow::code);
  return row == kErrors.end() ? "Unknown Error" : row->sentence;
}

FaultEffect apply_fault(StateFile& state, std::string_view call, int gpu) {
  if (!state.has_faults()) return {};
  FaultState hit;
  const auto use_up = [&](FaultsState& all) {
    for (FaultState& fault : all.faults) {
      if (!matches(fault, call, gpu)) continue;
      if (fault.percent < 100 && draw(all.draws++) >= fault.percent) continue;
      ++all.hits;
      hit = fault;
      if (fault.times > 0 && --fault.times == 0) fault = FaultState{};
      break;
    }
    return true;
  };
  if (state.writable()) {
    state.change_faults(use_up);
  } else {
    FaultsState copy = state.faults();  // a client without write access cannot use faults up
    use_up(copy);
  }
  FaultEffect effect;
  if (hit.kind == FaultKind::kError) effect.error = static_cast<nvml::Return>(hit.error);
  if (hit.kind == FaultKind::kLie) effect.lie = true;
  if (hit.kind == FaultKind::kHang) {  // the hang itself
    std::this_thread::sleep_for(std::chrono::milliseconds(hit.hang_ms));
  }
  return effect;
}

Result<FaultState> parse_fault(std::string_view text) {
  constexpr int kLongestHang = 3'600'000;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return std::unexpected(bad_fault(text, "missing '='."));
  }
  const std::string_view call = without_version(text.substr(0, equals));
  const std::string_view what = text.substr(equals + 1);
  FaultState fault;
  if (call.size() >= sizeof fault.call || (call != "*" && !can_fail(std::string(call)))) {
    return std::unexpected(bad_fault(text, "not an NVML function that can fail here."));
  }
  std::memcpy(fault.call, call.data(), call.size());
  if (what == "lie") {
    if (!can_lie(call)) {
      return std::unexpected(bad_fault(text,
                                       "only calls that create or destroy instances or set "
                                       "the MIG mode can lie."));
    }
    fault.kind = FaultKind::kLie;
    return fault;
  }
  if (what.starts_with("hang:")) {
    const auto ms = parse_int(what.substr(5), 1, kLongestHang);
    if (!ms) return std::unexpected(bad_fault(text, "a hang takes 1 to 3600000 milliseconds."));
    fault.kind = FaultKind::kHang;
    fault.hang_ms = static_cast<std::uint32_t>(*ms);
    return fault;
  }
  const auto row = std::ranges::find(kErrors, what, &ErrorRow::name);
  if (row == kErrors.end() || row->code == nvml::kSuccess) {
    return std::unexpected(bad_fault(text, "unknown error."));
  }
  fault.kind = FaultKind::kError;
  fault.error = row->code;
  return fault;
}

std::string fault_text(const FaultState& fault) {
  switch (fault.kind) {
    case FaultKind::kLie:
      return cat(std::string_view(fault.call), "=lie");
    case FaultKind::kHang:
      return cat(std::string_view(fault.call), "=hang:", fault.hang_ms);
    default:
      return cat(std::string_view(fault.call), "=",
                 error_name(static_cast<nvml::Return>(fault.error)));
  }
}

}  // namespace tangram::emulator
