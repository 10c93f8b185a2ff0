// Calls: the functions of one loaded NVML library, found by name; failures are counted. A function
// that the library lacks returns FUNCTION_NOT_FOUND, so callers need no null checks. Each type is
// the declaration in nvml/functions.hpp, which the emulator defines, so the two cannot drift apart.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nvml/functions.hpp"

namespace tangram::device {

// How often a call has failed with a code, for metrics.
struct ErrorCount {
  std::string call;  // "nvmlGpuInstanceDestroy"
  nvml::Return code = nvml::kSuccess;
  std::uint64_t count = 0;
};

class ErrorCounts {
 public:
  // Lists the call in totals() from now on, with 0.
  void expect(const char* call);
  // Codes that are answers and not errors are not counted: "there is none", "not on this GPU", "no
  // event within the timeout", "the buffer is too small".
  void add(const char* call, nvml::Return code);
  [[nodiscard]] std::vector<ErrorCount> all() const;
  [[nodiscard]] std::map<std::string, std::uint64_t> totals() const;  // by call, of all codes

 private:
  mutable std::mutex mutex_;
  std::set<std::string> expected_;
  std::map<std::pair<std::string, nvml::Return>, std::uint64_t> counts_;
};

// The library in which functions are looked up, and the counters for their errors.
struct Symbols {
  void* library = nullptr;
  ErrorCounts* errors = nullptr;

  [[nodiscard]] void* find(const char* name) const;
};

template <class Signature>
class Call;

template <class... Arguments>
class Call<nvml::Return(Arguments...)> {
 public:
  Call(const Symbols& symbols, const char* name)
      : name_(name),
        function_(reinterpret_cast<Function>(symbols.find(name))),
        errors_(symbols.errors) {
    errors_->expect(name);
  }

  [[nodiscard]] bool is_there() const { return function_ != nullptr; }
  [[nodiscard]] const char* name() const { return name_; }

  nvml::Return operator()(Arguments... arguments) const {
    const nvml::Return code = invoke(arguments...);
    if (code != nvml::kSuccess) errors_->add(name_, code);
    return code;
  }

  // For calls that are retried: "in use" is counted only by count_in_use(), when the caller gives
  // up.
  nvml::Return call_retried(Arguments... arguments) const {
    const nvml::Return code = invoke(arguments...);
    if (code != nvml::kSuccess && code != nvml::kInUse) errors_->add(name_, code);
    return code;
  }
  void count_in_use() const { errors_->add(name_, nvml::kInUse); }

 private:
  using Function = nvml::Return (*)(Arguments...);
  nvml::Return invoke(Arguments... arguments) const {
    return function_ == nullptr ? nvml::kFunctionNotFound : function_(arguments...);
  }

  const char* name_;
  Function function_;
  ErrorCounts* errors_;
};

// A call named after its C function, so that name and type cannot differ.
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name cannot stand in any
#define TANGRAM_CALL(member, function) Call<decltype(nvml::function)> member = {symbols, #function}

struct Calls {
  explicit Calls(const Symbols& from) : symbols(from) {}

  Symbols symbols;

  TANGRAM_CALL(init, nvmlInit_v2);
  TANGRAM_CALL(shutdown, nvmlShutdown);
  TANGRAM_CALL(driver_version, nvmlSystemGetDriverVersion);
  TANGRAM_CALL(process_name, nvmlSystemGetProcessName);

  TANGRAM_CALL(device_count, nvmlDeviceGetCount_v2);
  TANGRAM_CALL(device_by_index, nvmlDeviceGetHandleByIndex_v2);
  TANGRAM_CALL(device_by_uuid, nvmlDeviceGetHandleByUUID);
  TANGRAM_CALL(device_uuid, nvmlDeviceGetUUID);
  TANGRAM_CALL(device_name, nvmlDeviceGetName);
  TANGRAM_CALL(device_index, nvmlDeviceGetIndex);
  TANGRAM_CALL(device_minor, nvmlDeviceGetMinorNumber);
  TANGRAM_CALL(device_pci, nvmlDeviceGetPciInfo_v3);
  TANGRAM_CALL(device_architecture, nvmlDeviceGetArchitecture);
  TANGRAM_CALL(device_memory, nvmlDeviceGetMemoryInfo);
  TANGRAM_CALL(device_throughput, nvmlDeviceGetPcieThroughput);
  TANGRAM_CALL(device_processes, nvmlDeviceGetComputeRunningProcesses_v3);
  TANGRAM_CALL(device_graphics, nvmlDeviceGetGraphicsRunningProcesses_v3);
  TANGRAM_CALL(device_fields, nvmlDeviceGetFieldValues);

  TANGRAM_CALL(set_mig_mode, nvmlDeviceSetMigMode);
  TANGRAM_CALL(mig_mode, nvmlDeviceGetMigMode);
  TANGRAM_CALL(gi_profile, nvmlDeviceGetGpuInstanceProfileInfo);
  TANGRAM_CALL(gi_placements, nvmlDeviceGetGpuInstancePossiblePlacements_v2);
  TANGRAM_CALL(create_gi, nvmlDeviceCreateGpuInstanceWithPlacement);
  TANGRAM_CALL(destroy_gi, nvmlGpuInstanceDestroy);
  TANGRAM_CALL(gis_of_profile, nvmlDeviceGetGpuInstances);
  TANGRAM_CALL(gi_by_id, nvmlDeviceGetGpuInstanceById);
  TANGRAM_CALL(gi_info, nvmlGpuInstanceGetInfo);
  TANGRAM_CALL(ci_profile, nvmlGpuInstanceGetComputeInstanceProfileInfo);
  TANGRAM_CALL(create_ci, nvmlGpuInstanceCreateComputeInstance);
  TANGRAM_CALL(destroy_ci, nvmlComputeInstanceDestroy);
  TANGRAM_CALL(cis_of_profile, nvmlGpuInstanceGetComputeInstances);
  TANGRAM_CALL(ci_info, nvmlComputeInstanceGetInfo_v2);

  TANGRAM_CALL(mig_device_count, nvmlDeviceGetMaxMigDeviceCount);
  TANGRAM_CALL(mig_device, nvmlDeviceGetMigDeviceHandleByIndex);
  TANGRAM_CALL(mig_device_gi, nvmlDeviceGetGpuInstanceId);
  TANGRAM_CALL(mig_device_ci, nvmlDeviceGetComputeInstanceId);

  TANGRAM_CALL(create_events, nvmlEventSetCreate);
  TANGRAM_CALL(free_events, nvmlEventSetFree);
  TANGRAM_CALL(supported_events, nvmlDeviceGetSupportedEventTypes);
  TANGRAM_CALL(register_events, nvmlDeviceRegisterEvents);
  TANGRAM_CALL(wait_event, nvmlEventSetWait_v2);
};

#undef TANGRAM_CALL

}  // namespace tangram::device
