// UUIDs of emulated GPUs and MIG devices, as on hardware: a GPU's looks random but never changes; a
// MIG device's is a version-5 UUID of its GPU, GI and CI, so the same position yields the same UUID
// again. They depend on nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tangram::emulator {

using UuidBytes = std::array<std::uint8_t, 16>;

[[nodiscard]] UuidBytes gpu_uuid(std::string_view model, unsigned index);
[[nodiscard]] UuidBytes mig_uuid(std::span<const std::uint8_t, 16> gpu, unsigned gi, unsigned ci);

// "GPU-8d3f…", "MIG-…"
[[nodiscard]] std::string uuid_text(std::string_view prefix,
                                    std::span<const std::uint8_t, 16> uuid);

}  // namespace tangram::emulator
