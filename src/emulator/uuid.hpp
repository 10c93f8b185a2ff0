// UUIDs of emulated GPUs and of their MIG devices, as hardware has them: a GPU's looks random but
// never changes; a MIG device's is a version-5 one over its GPU and place, so the same place yields
// the same UUID again. One rule: they depend on nothing but model, index and place.
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
