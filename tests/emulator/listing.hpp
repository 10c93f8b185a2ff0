// The instances of an emulated GPU, read through NVML as a client would, as one line of text:
//   "19@0+1 gi7 [0:0+1] 9@4+4 gi2 [0:0+3]"
// is per instance NVML's profile id, start and size, the instance id, and of each of its compute
// instances id, start and size. Sorted by instance id. Independent of how the emulator stores it.
#pragma once

#include <string>
#include <vector>

#include "library.hpp"
#include "mig/model.hpp"

namespace tangram::tests {

struct ListedCi {
  unsigned id = 0;
  unsigned start = 0;
  unsigned size = 0;
  nvml::ComputeInstance handle = nullptr;
};

struct ListedGi {
  unsigned id = 0;
  unsigned profile_id = 0;
  unsigned start = 0;
  unsigned size = 0;
  nvml::GpuInstance handle = nullptr;
  std::vector<ListedCi> cis;
};

[[nodiscard]] std::vector<ListedGi> list(nvml::Device gpu);
[[nodiscard]] std::string to_text(const std::vector<ListedGi>& all);

// NVML's profile ids of a model, by profile name.
class ProfileIds {
 public:
  ProfileIds(nvml::Device gpu, const mig::Model& model);
  [[nodiscard]] unsigned id_of(mig::ProfileIndex profile) const { return ids_[profile.value()]; }
  [[nodiscard]] mig::ProfileIndex profile_of(unsigned id) const;

 private:
  std::vector<unsigned> ids_;
};

// Returns what is wrong with the GPU's instances: an overlap, an illegal start, a broken limit, a
// compute instance outside of its instance, a MIG device without one; empty if nothing.
[[nodiscard]] std::string flaw(nvml::Device gpu, const mig::Model& model);

}  // namespace tangram::tests
