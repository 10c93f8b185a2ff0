// Handles: NVML's nvmlDevice_t, nvmlGpuInstance_t and nvmlComputeInstance_t. A handle is a number,
// not an address: kind, GPU, ids, and the generation of its object, so that a stale one is detected
// and never dereferenced. Zero is not a valid handle.
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
  std::uint32_t generation = 0;  // 0 for a GPU
};

// 4 bits mark, 4 kind, 8 GPU, 8 GI, 8 CI, 32 generation.
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

// Returns nullopt if the bits are not those of a handle.
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
  if (h.gpu >= kMaxGpus || h.gi >= kGiIds || h.ci >= kMaxCis) return std::nullopt;
  return h;
}

}  // namespace tangram::emulator
