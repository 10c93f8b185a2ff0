// Handles: what NVML calls nvmlDevice_t, nvmlGpuInstance_t and nvmlComputeInstance_t. A handle here
// is a number, not an address: kind, GPU, ids, and the generation of what it stands for, so that a
// stale one is always noticed and never dereferenced. One rule: zero is no handle.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

#include "emulator/state.hpp"
#include "nvml/abi.hpp"

namespace tangram::emulator {

enum class HandleKind : std::uint8_t { kGpu = 1, kGpuInstance = 2, kComputeInstance = 3, kMig = 4 };

struct Handle {
  HandleKind kind = HandleKind::kGpu;
  unsigned gpu = 0;
  unsigned gi = 0;
  unsigned ci = 0;
  std::uint32_t generation = 0;  // 0 of a GPU
};

// 4 bits of mark, 4 of kind, 8 of GPU, 8 of GI, 8 of CI, 32 of generation.
inline constexpr std::uint64_t kHandleMark = 0xE;

template <class Opaque>
[[nodiscard]] Opaque to_opaque(const Handle& h) {
  static_assert(sizeof(Opaque) == sizeof(std::uint64_t));
  const std::uint64_t bits = kHandleMark << 60U |
                             std::uint64_t{static_cast<unsigned>(h.kind)} << 56U |
                             std::uint64_t{h.gpu} << 48U | std::uint64_t{h.gi} << 40U |
                             std::uint64_t{h.ci} << 32U | h.generation;
  return std::bit_cast<Opaque>(bits);
}

// Nothing if no handle was ever made that looks like this.
template <class Opaque>
[[nodiscard]] std::optional<Handle> from_opaque(Opaque opaque) {
  const auto bits = std::bit_cast<std::uint64_t>(opaque);
  const auto byte = [&](unsigned shift) { return static_cast<unsigned>(bits >> shift & 0xFFU); };
  const auto kind = static_cast<unsigned>(bits >> 56U & 0xFU);
  if (bits >> 60U != kHandleMark || kind < 1 || kind > 4) return std::nullopt;
  const Handle h{.kind = static_cast<HandleKind>(kind),
                 .gpu = byte(48),
                 .gi = byte(40),
                 .ci = byte(32),
                 .generation = static_cast<std::uint32_t>(bits)};
  if (h.gpu >= kMostGpus || h.gi >= kGiIds || h.ci >= kMostCis) return std::nullopt;
  return h;
}

}  // namespace tangram::emulator
