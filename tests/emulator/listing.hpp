// What stands on an emulated GPU, asked through NVML as a client would ask, as one line of text:
//   "19@0+1 gi7 [0:0+1] 9@4+4 gi2 [0:0+3]"
// is NVML's id of the profile, start and size, the id of the instance, and of each of its compute
// instances its id, start and size. Sorted by the ids of the instances. One rule: nothing here
// knows how the emulator keeps it.
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

// The number NVML has for a profile of a model, by its name.
class ProfileIds {
 public:
  ProfileIds(nvml::Device gpu, const mig::Model& model);
  [[nodiscard]] unsigned id_of(mig::ProfileIndex profile) const { return ids_[profile.value()]; }
  [[nodiscard]] mig::ProfileIndex profile_of(unsigned id) const;

 private:
  std::vector<unsigned> ids_;
};

// What is wrong with what stands there: an overlap, an illegal start, a broken limit, a compute
// instance outside of its instance, a MIG device without one; empty if nothing.
[[nodiscard]] std::string flaw(nvml::Device gpu, const mig::Model& model);

}  // namespace tangram::tests
