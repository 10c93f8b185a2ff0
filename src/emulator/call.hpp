// One call of an NVML function: what every one of them does before its own work. Is the library in
// use, is the handle one of ours and not stale, is the GPU there, may the caller do this, was a
// fault asked for? Then the function's own part runs on the state as it is. One rule: a function
// of the ABI is one of these calls and nothing else.
#pragma once

#include <string_view>

#include "emulator/faults.hpp"
#include "emulator/gpu.hpp"
#include "emulator/handle.hpp"
#include "emulator/session.hpp"
#include "emulator/state_file.hpp"

namespace tangram::emulator {

enum class Need : std::uint8_t { kNothing, kPrivilege };

// What a call is about: a GPU, and of it perhaps an instance.
struct Target {
  StateFile& state;
  unsigned index = 0;  // of the GPU
  GpuState gpu;        // as it is now
  Handle handle;
  bool lie = false;

  [[nodiscard]] const Board& board() const { return board_of(gpu); }
  [[nodiscard]] const GiState& gi() const { return gpu.gis[handle.gi]; }
  [[nodiscard]] const CiState& ci() const { return gi().cis[handle.ci]; }
  [[nodiscard]] bool is_mig() const { return handle.kind == HandleKind::kMig; }
  [[nodiscard]] mig::ProfileIndex profile() const { return mig::ProfileIndex(gi().profile); }
};

// Whether what the handle stands for is still there.
[[nodiscard]] bool is_live(const GpuState& gpu, const Handle& handle);
// Instances are changed by root, and by the owner of the state file unless only root may.
[[nodiscard]] bool may(const StateFile& state, Need need);

// For calls about no GPU in particular.
template <class Work>
Return on_node(std::string_view name, const Work& work) {
  StateFile* state = session_state();
  if (state == nullptr) return nvml::kUninitialized;
  const Verdict verdict = suffer(*state, name, -1);
  if (verdict.error != nvml::kSuccess) return verdict.error;
  return work(*state);
}

template <class Work>
Return on_index(std::string_view name, Need need, const Handle& handle, const Work& work) {
  StateFile* state = session_state();
  if (state == nullptr) return nvml::kUninitialized;
  if (handle.gpu >= state->gpu_count()) return nvml::kInvalidArgument;
  const Verdict verdict = suffer(*state, name, static_cast<int>(handle.gpu));
  if (verdict.error != nvml::kSuccess) return verdict.error;
  Target target{*state, handle.gpu, state->gpu(handle.gpu), handle, verdict.lie};
  if (target.gpu.lost != 0) return nvml::kGpuIsLost;
  if (!is_live(target.gpu, handle)) return nvml::kInvalidArgument;
  if (!may(*state, need)) return nvml::kNoPermission;
  return work(target);
}

// For calls on a handle of one of these kinds.
template <class Opaque, class Work>
Return on_handle(std::string_view name, Need need, Opaque opaque,
                 std::initializer_list<HandleKind> kinds, const Work& work) {
  if (session_state() == nullptr) return nvml::kUninitialized;
  const auto handle = from_opaque(opaque);
  if (!handle) return nvml::kInvalidArgument;
  for (const HandleKind kind : kinds) {
    if (kind == handle->kind) return on_index(name, need, *handle, work);
  }
  return nvml::kInvalidArgument;
}

// A GPU or a MIG device; only a GPU; only a MIG device.
template <class Work>
Return on_device(std::string_view name, nvml::Device device, const Work& work) {
  return on_handle(name, Need::kNothing, device, {HandleKind::kGpu, HandleKind::kMig}, work);
}
template <class Work>
Return on_gpu(std::string_view name, Need need, nvml::Device device, const Work& work) {
  return on_handle(name, need, device, {HandleKind::kGpu}, work);
}
template <class Work>
Return on_mig(std::string_view name, nvml::Device device, const Work& work) {
  return on_handle(name, Need::kNothing, device, {HandleKind::kMig}, work);
}
template <class Work>
Return on_gi(std::string_view name, Need need, nvml::GpuInstance instance, const Work& work) {
  return on_handle(name, need, instance, {HandleKind::kGpuInstance}, work);
}
template <class Work>
Return on_ci(std::string_view name, Need need, nvml::ComputeInstance instance, const Work& work) {
  return on_handle(name, need, instance, {HandleKind::kComputeInstance}, work);
}

// Changes the GPU of a call, unless it or what the handle stands for has gone in the meantime.
template <class Change>
Return change_target(Target& t, const Change& change) {
  Return result = nvml::kUnknown;
  t.state.change_gpu(t.index, [&](GpuState& gpu) {
    if (gpu.lost != 0) {
      result = nvml::kGpuIsLost;
    } else if (std::string_view(gpu.model) != t.gpu.model) {
      result = nvml::kInvalidArgument;  // the node was made another one
    } else {
      result = is_live(gpu, t.handle) ? change(gpu) : nvml::kInvalidArgument;
    }
    return result == nvml::kSuccess;
  });
  return result;
}

[[nodiscard]] inline Handle gpu_handle(unsigned gpu) { return {.gpu = gpu}; }
[[nodiscard]] Handle gi_handle(const GpuState& gpu, unsigned index, unsigned gi);
[[nodiscard]] Handle ci_handle(const GpuState& gpu, unsigned index, MigDevice mig);
[[nodiscard]] Handle mig_handle(const GpuState& gpu, unsigned index, MigDevice mig);

// Text into a caller's buffer: INVALID_ARGUMENT without one, INSUFFICIENT_SIZE if it is too short.
[[nodiscard]] Return give_text(std::string_view text, char* buffer, unsigned length);
// A value through a caller's pointer.
template <class T>
[[nodiscard]] Return give(T* to, const T& value) {
  if (to == nullptr) return nvml::kInvalidArgument;
  *to = value;
  return nvml::kSuccess;
}

}  // namespace tangram::emulator
