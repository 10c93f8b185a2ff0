// Board: a kind of GPU as the emulated driver reports it: its MIG model, and the facts around it
// (architecture, memory, PCI id, PCIe, power). Where nobody has seen a fact of a model, a plausible
// one is made here, so that clients compute the right profile names; the catalog itself stays
// honest. One rule: everything that depends only on the model is here, everything that changes is
// in State.
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
  std::uint8_t most = 0;
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
  unsigned most_mig_devices = 0;
  bool resetless = false;
  std::vector<mig::ProfileFacts> facts;             // by profile, with nothing unknown
  std::vector<std::vector<CiProfile>> ci_profiles;  // by profile; the last one fills it

  [[nodiscard]] const mig::ProfileFacts& facts_of(mig::ProfileIndex p) const {
    return facts[p.value()];
  }
  [[nodiscard]] const std::vector<CiProfile>& ci_profiles_of(mig::ProfileIndex p) const {
    return ci_profiles[p.value()];
  }
};

// Of a model of the catalog, which must be there.
[[nodiscard]] const Board& board_of(std::string_view model);
// Null if there is no such model.
[[nodiscard]] const Board* find_board(std::string_view model);

// The driver's id of a GPU instance: it tells its size and place. Swapped boards number the halves
// the other way round.
[[nodiscard]] unsigned gi_id_of(const mig::Model& model, mig::Placement placement, bool swapped);

}  // namespace tangram::emulator
