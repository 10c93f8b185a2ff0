// See call.hpp.
#include "emulator/call.hpp"

#include <cstring>
#include <unistd.h>

namespace tangram::emulator {

bool is_live(const GpuState& gpu, const Handle& handle) {
  if (handle.kind == HandleKind::kGpu) return true;
  const GiState& gi = gpu.gis[handle.gi];
  if (gi.used == 0) return false;
  if (handle.kind == HandleKind::kGpuInstance) return gi.generation == handle.generation;
  return gi.cis[handle.ci].used != 0 && gi.cis[handle.ci].generation == handle.generation;
}

bool is_permitted(const StateFile& state, Rights required) {
  if (required == Rights::kNothing) return true;
  if (!state.writable()) return false;
  const uid_t user = geteuid();
  return user == 0 || (state.node().privileges == Privileges::kOwner && user == state.owner());
}

Handle gi_handle(const GpuState& gpu, unsigned index, unsigned gi) {
  return {.kind = HandleKind::kGpuInstance,
          .gpu = index,
          .gi = gi,
          .generation = gpu.gis[gi].generation};
}

Handle ci_handle(const GpuState& gpu, unsigned index, MigDevice mig) {
  return {.kind = HandleKind::kComputeInstance,
          .gpu = index,
          .gi = mig.gi,
          .ci = mig.ci,
          .generation = gpu.gis[mig.gi].cis[mig.ci].generation};
}

Handle mig_handle(const GpuState& gpu, unsigned index, MigDevice mig) {
  Handle handle = ci_handle(gpu, index, mig);
  handle.kind = HandleKind::kMig;
  return handle;
}

Return copy_text(std::string_view text, char* buffer, unsigned length) {
  if (buffer == nullptr || length == 0) return nvml::kInvalidArgument;
  if (text.size() >= length) return nvml::kInsufficientSize;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return nvml::kSuccess;
}

}  // namespace tangram::emulator
