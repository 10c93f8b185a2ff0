// The frame of every NVML function: checks that the library is initialised, that the handle is
// valid and not stale, that the GPU is there, the caller's rights and injected faults; then runs
// the function's own part on the current state. Every exported NVML function is one of these calls.
#pragma once

#include <string_view>

#include "emulator/faults.hpp"
#include "emulator/gpu.hpp"
#include "emulator/handle.hpp"
#include "emulator/session.hpp"
#include "emulator/state_file.hpp"

namespace tangram::emulator {

enum class Rights : std::uint8_t { kNothing, kPrivileged };

// The GPU, or an instance of it, that a call is about.
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

// Returns whether the object of the handle still exists.
[[nodiscard]] bool is_live(const GpuState& gpu, const Handle& handle);
// Returns whether the caller has the rights: instances are changed by root, and by the owner of the
// state file unless only root may.
[[nodiscard]] bool is_permitted(const StateFile& state, Rights required);

// Runs a call that is about no GPU in particular.
template <class Work>
Return on_node(std::string_view name, const Work& work) {
  StateFile* state = session_state();
  if (state == nullptr) return nvml::kUninitialized;
  const FaultEffect effect = apply_fault(*state, name, -1);
  if (effect.error != nvml::kSuccess) return effect.error;
  return work(*state);
}

template <class Work>
Return on_index(std::string_view name, Rights required, const Handle& handle, const Work& work) {
  StateFile* state = session_state();
  if (state == nullptr) return nvml::kUninitialized;
  if (handle.gpu >= state->gpu_count()) return nvml::kInvalidArgument;
  const FaultEffect effect = apply_fault(*state, name, static_cast<int>(handle.gpu));
  if (effect.error != nvml::kSuccess) return effect.error;
  Target target{*state, handle.gpu, state->gpu(handle.gpu), handle, effect.lie};
  if (target.gpu.lost != 0) return nvml::kGpuIsLost;
  if (!is_live(target.gpu, handle)) return nvml::kInvalidArgument;
  if (!is_permitted(*state, required)) return nvml::kNoPermission;
  return work(target);
}

// Runs a call on a handle that must be of one of these kinds.
template <class Opaque, class Work>
Return on_handle(std::string_view name, Rights required, Opaque opaque,
                 std::initializer_list<HandleKind> kinds, const Work& work) {
  if (session_state() == nullptr) return nvml::kUninitialized;
  const auto handle = from_opaque(opaque);
  if (!handle) return nvml::kInvalidArgument;
  for (const HandleKind kind : kinds) {
    if (kind == handle->kind) return on_index(name, required, *handle, work);
  }
  return nvml::kInvalidArgument;
}

// on_device: a GPU or a MIG device. on_gpu: a GPU only. on_mig: a MIG device only.
template <class Work>
Return on_device(std::string_view name, nvml::Device device, const Work& work) {
  return on_handle(name, Rights::kNothing, device, {HandleKind::kGpu, HandleKind::kMig}, work);
}
template <class Work>
Return on_gpu(std::string_view name, Rights required, nvml::Device device, const Work& work) {
  return on_handle(name, required, device, {HandleKind::kGpu}, work);
}
template <class Work>
Return on_mig(std::string_view name, nvml::Device device, const Work& work) {
  return on_handle(name, Rights::kNothing, device, {HandleKind::kMig}, work);
}
template <class Work>
Return on_gi(std::string_view name, Rights required, nvml::GpuInstance instance, const Work& work) {
  return on_handle(name, required, instance, {HandleKind::kGpuInstance}, work);
}
template <class Work>
Return on_ci(std::string_view name, Rights required, nvml::ComputeInstance instance,
             const Work& work) {
  return on_handle(name, required, instance, {HandleKind::kComputeInstance}, work);
}

// Changes the GPU of a call, unless the GPU or the handle's object has disappeared since.
template <class Change>
Return change_target(Target& t, const Change& change) {
  Return result = nvml::kUnknown;
  t.state.change_gpu(t.index, [&](GpuState& gpu) {
    if (gpu.lost != 0) {
      result = nvml::kGpuIsLost;
    } else if (std::string_view(gpu.model) != t.gpu.model) {
      result = nvml::kInvalidArgument;  // the node was replaced by tangramEmulatorReset
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

// Copies text into the caller's buffer. INVALID_ARGUMENT without a buffer, INSUFFICIENT_SIZE if it
// is too small.
[[nodiscard]] Return copy_text(std::string_view text, char* buffer, unsigned length);
// Writes a value through the caller's pointer; INVALID_ARGUMENT if it is null.
template <class T>
[[nodiscard]] Return write_result(T* to, const T& value) {
  if (to == nullptr) return nvml::kInvalidArgument;
  *to = value;
  return nvml::kSuccess;
}

}  // namespace tangram::emulator
