// From what NVML reports of a GPU to a ModelSpec. The device module reads the driver; what the
// values mean (which number is a size, how a profile is named) is geometry and is here, where it is
// tested without a driver. Placements are taken as reported.
#pragma once

#include <string>
#include <vector>

#include "mig/model.hpp"

namespace tangram::mig {

struct ReportedPlacement {
  int start = 0;
  int size = 0;
};

struct ReportedProfile {
  ProfileFacts facts;  // memory_mib, nvml_enum and nvml_id are needed
  int slice_count = 0;
  int instance_count = 0;
  std::vector<ReportedPlacement> placements;
};

struct ReportedGpu {
  std::string device_name;
  int memory_total_mib = 0;
  std::vector<ReportedProfile> profiles;
};

// "1g.5gb+me" as nvidia-smi and mig-parted name it: the share of the GPU's memory in eighths,
// applied to the GPU's size in whole GB, rounded.
[[nodiscard]] std::string profile_name(const ReportedProfile& profile, int memory_total_mib);

// Builds the specification of a model of that name; the error says which part of the report
// contradicts itself.
[[nodiscard]] Result<ModelSpec> spec_of(const std::string& model_name, const ReportedGpu& gpu);

}  // namespace tangram::mig
