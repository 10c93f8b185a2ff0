// See reported.hpp.
#include "mig/reported.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace tangram::mig {
namespace {

// NVML's GPU instance profile numbers that stand for an engine variant.
std::string_view suffix_of(int nvml_enum) {
  switch (nvml_enum) {
    case 7:
    case 8:
      return "+me";
    case 10:
    case 11:
    case 12:
    case 17:
      return "+gfx";
    case 13:
    case 14:
      return "-me";
    case 15:
    case 16:
      return "+me.all";
    default:
      return "";
  }
}

constexpr int kMaxMemoryMib = 16 * 1024 * 1024;

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }

bool is_possible(const ReportedPlacement& p) {
  return p.size >= 1 && p.size <= kMaxMemorySlices && p.start >= 0 &&
         p.start <= kMaxMemorySlices - p.size;
}

// The reported count is wrong on some boards (A30), so it is used for the engine variants only,
// which geometry does not limit.
int most_instances(const Profile& p, int reported) {
  const Media media = media_of(p.name);
  if (media == Media::kExtended || media == Media::kAll) return std::max(1, reported);
  return static_cast<int>(p.starts.size());
}

}  // namespace

std::string profile_name(const ReportedProfile& profile, int memory_total_mib) {
  const int eighths = divide_up(8 * profile.facts.memory_mib, memory_total_mib);
  const int total_gib = divide_up(memory_total_mib, 1024);
  const int gb = (eighths * total_gib * 2 + 8) / 16;  // rounded, halves up
  return cat(profile.slice_count, "g.", gb, "gb", suffix_of(profile.facts.nvml_enum));
}

Result<ModelSpec> spec_of(const std::string& model_name, const ReportedGpu& gpu) {
  const auto contradiction = [&](const auto&... why) {
    return failed(cat("the driver's report of ", quoted(gpu.device_name),
                      " contradicts itself: ", why..., "."));
  };
  if (gpu.memory_total_mib <= 0 || gpu.memory_total_mib > kMaxMemoryMib) {
    return contradiction("its memory is ", gpu.memory_total_mib, " MiB");
  }
  ModelSpec spec{.name = model_name, .device_names = {gpu.device_name}, .profiles = {}};
  for (const ReportedProfile& reported : gpu.profiles) {
    if (reported.placements.empty()) continue;  // offered by the API, not by this GPU
    if (reported.facts.memory_mib <= 0 || reported.facts.memory_mib > gpu.memory_total_mib) {
      return contradiction("profile ", reported.facts.nvml_id, " has memory ",
                           reported.facts.memory_mib, " MiB");
    }
    Profile p{.name = profile_name(reported, gpu.memory_total_mib),
              .compute_slices = reported.slice_count,
              .memory_slices = reported.placements.front().size,
              .starts = {},
              .facts = reported.facts};
    for (const ReportedPlacement& placement : reported.placements) {
      if (!is_possible(placement)) {
        return contradiction(p.name, " has a placement of size ", placement.size, " at ",
                             placement.start, "; a GPU has at most ", kMaxMemorySlices,
                             " memory slices");
      }
      if (placement.size != p.memory_slices) {
        return contradiction(p.name, " has placements of size ", p.memory_slices, " and ",
                             placement.size);
      }
      p.starts.push_back(placement.start);
      spec.memory_slices = std::max(spec.memory_slices, placement.start + placement.size);
    }
    p.max_instances = most_instances(p, reported.instance_count);
    spec.compute_slices = std::max(spec.compute_slices, p.compute_slices);
    spec.profiles.push_back(std::move(p));
  }
  if (spec.profiles.empty()) return contradiction("it offers no GPU instance profile");
  return spec;
}

}  // namespace tangram::mig
