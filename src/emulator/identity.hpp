// The identity of an emulated GPU or MIG device: names and numbers derived from its index, model
// and position, as NVML returns them. Computed, never stored.
#pragma once

#include <string>

#include "emulator/gpu.hpp"

namespace tangram::emulator {

[[nodiscard]] constexpr unsigned pci_bus(unsigned index) { return 7 + 7 * index; }
[[nodiscard]] std::string serial_of(unsigned index);
[[nodiscard]] std::string uuid_of(const GpuState& gpu);
[[nodiscard]] std::string uuid_of(const GpuState& gpu, MigDevice mig);
// "NVIDIA A100-SXM4-40GB MIG 3g.20gb"; "… MIG 1c.3g.20gb" if it does not fill its instance.
[[nodiscard]] std::string name_of(const GpuState& gpu, MigDevice mig);
[[nodiscard]] nvml::PciInfo pci_info(const Board& board, unsigned index);
// The compute instance profile of a MIG device.
[[nodiscard]] const CiProfile& ci_profile_of(const GpuState& gpu, MigDevice mig);

}  // namespace tangram::emulator
