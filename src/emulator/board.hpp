// Board: a GPU model as the emulated driver reports it: its MIG model, and architecture, memory,
// PCI id, PCIe and power. Values that the catalog does not know are filled in with plausible ones,
// so that clients compute the right profile names; the catalog keeps only known facts. What depends
// on the model only is here, what changes is in the state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mig/model.hpp"

namespace tangram::emulator {

// A compute instance profile of a GPU instance profile.
struct CiProfile {
  std::uint8_t number = 0;  // NVML's enum, which is also its id
  std::uint8_t slices = 0;
  std::uint8_t max_count = 0;
  std::uint16_t multiprocessors = 0;
  std::vector<std::uint8_t> starts;
};

struct Board {
  const mig::Model* model = nullptr;
  std::string device_name;
  unsigned architecture = 0;
  int compute_major = 0;
  int compute_minor = 0;
  unsigned pci_device_id = 0;
  unsigned memory_mib = 0;
  unsigned reserved_mib = 0;
  unsigned bar1_mib = 0;
  unsigned pcie_generation = 0;
  unsigned power_limit_w = 0;
  unsigned max_mig_devices = 0;
  bool resetless = false;
  std::vector<mig::ProfileFacts> facts;             // by profile, nothing unknown
  std::vector<std::vector<CiProfile>> ci_profiles;  // by profile; the last one fills it

  [[nodiscard]] const mig::ProfileFacts& facts_of(mig::ProfileIndex p) const {
    return facts[p.value()];
  }
  [[nodiscard]] const std::vector<CiProfile>& ci_profiles_of(mig::ProfileIndex p) const {
    return ci_profiles[p.value()];
  }
};

// The board of a catalog model, which must exist.
[[nodiscard]] const Board& board_of(std::string_view model);
// Null if there is no such model.
[[nodiscard]] const Board* find_board(std::string_view model);

// The driver's id of a GPU instance, which follows from its size and start. Swapped boards number
// the halves the other way round.
[[nodiscard]] unsigned gi_id_of(const mig::Model& model, mig::Placement placement, bool swapped);

}  // namespace tangram::emulator
