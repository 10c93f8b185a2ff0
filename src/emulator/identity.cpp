// See identity.hpp.
#include "emulator/identity.hpp"

#include <cstdio>

#include "base/check.hpp"
#include "base/text.hpp"
#include "emulator/uuid.hpp"

namespace tangram::emulator {

std::string serial_of(unsigned index) { return std::to_string(1'650'520'000'000U + index); }

std::string uuid_of(const GpuState& gpu) { return uuid_text("GPU-", gpu.uuid); }

std::string uuid_of(const GpuState& gpu, MigDevice mig) {
  return uuid_text("MIG-", mig_uuid(gpu.uuid, mig.gi, mig.ci));
}

const CiProfile& ci_profile_of(const GpuState& gpu, MigDevice mig) {
  const CiProfile* profile = ci_profile_by_id(gpu, mig.gi, gpu.gis[mig.gi].cis[mig.ci].profile);
  CHECK(profile != nullptr);
  return *profile;
}

std::string name_of(const GpuState& gpu, MigDevice mig) {
  const Board& board = board_of(gpu);
  const mig::Profile& profile = board.model->profile(mig::ProfileIndex(gpu.gis[mig.gi].profile));
  const unsigned slices = gpu.gis[mig.gi].cis[mig.ci].size;
  const bool whole = static_cast<int>(slices) == profile.compute_slices;
  return cat(board.device_name, " MIG ", whole ? "" : cat(slices, "c."), profile.name);
}

nvml::PciInfo pci_info(const Board& board, unsigned index) {
  nvml::PciInfo info{};
  info.bus = pci_bus(index);
  info.pci_device_id = board.pci_device_id;
  info.pci_subsystem_id = 0x134F10DE;
  std::snprintf(info.bus_id_legacy, sizeof info.bus_id_legacy, "%04X:%02X:%02X.0", info.domain,
                info.bus & 0xFFU, 0U);
  std::snprintf(info.bus_id, sizeof info.bus_id, "%08X:%02X:%02X.0", info.domain, info.bus & 0xFFU,
                0U);
  return info;
}

}  // namespace tangram::emulator
