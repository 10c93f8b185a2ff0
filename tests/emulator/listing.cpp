// See listing.hpp.
#include "listing.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"
#include "mig/limits.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

// Compute instance profile numbers are also their ids.
std::vector<ListedCi> list_cis(nvml::GpuInstance gi) {
  std::vector<ListedCi> all;
  for (unsigned profile = 0; profile < nvml::kCiProfileCount; ++profile) {
    nvml::ComputeInstance found[8]{};
    unsigned count = 0;
    if (NVML(nvmlGpuInstanceGetComputeInstances)(gi, profile, found, &count) != nvml::kSuccess) {
      continue;
    }
    for (unsigned i = 0; i < count; ++i) {
      nvml::ComputeInstanceInfo info{};
      CHECK(NVML(nvmlComputeInstanceGetInfo_v2)(found[i], &info) == nvml::kSuccess);
      CHECK(info.gpu_instance == gi && info.profile_id == profile);
      all.push_back({info.id, info.placement.start, info.placement.size, found[i]});
    }
  }
  std::ranges::sort(all, {}, &ListedCi::id);
  return all;
}

bool overlap(unsigned a, unsigned a_size, unsigned b, unsigned b_size) {
  return a < b + b_size && b < a + a_size;
}

std::string flaw_of_cis(const ListedGi& gi, int slices) {
  for (std::size_t i = 0; i < gi.cis.size(); ++i) {
    const ListedCi& a = gi.cis[i];
    if (a.start + a.size > static_cast<unsigned>(slices)) return "a compute instance sticks out";
    for (std::size_t j = i + 1; j < gi.cis.size(); ++j) {
      if (overlap(a.start, a.size, gi.cis[j].start, gi.cis[j].size)) {
        return "compute instances overlap";
      }
    }
  }
  return {};
}

// There is one MIG device per compute instance, numbered in their order.
std::string flaw_of_devices(nvml::Device gpu, const std::vector<ListedGi>& all) {
  unsigned index = 0;
  nvml::Device mig = nullptr;
  for (const ListedGi& gi : all) {
    for (const ListedCi& ci : gi.cis) {
      if (NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, index++, &mig) != nvml::kSuccess) {
        return "a compute instance has no MIG device";
      }
      unsigned gi_id = 99;
      unsigned ci_id = 99;
      NVML(nvmlDeviceGetGpuInstanceId)(mig, &gi_id);
      NVML(nvmlDeviceGetComputeInstanceId)(mig, &ci_id);
      if (gi_id != gi.id || ci_id != ci.id) return "the MIG devices are in another order";
    }
  }
  const auto next = NVML(nvmlDeviceGetMigDeviceHandleByIndex)(gpu, index, &mig);
  return next == nvml::kSuccess ? "a MIG device has no compute instance" : "";
}

}  // namespace

std::vector<ListedGi> list(nvml::Device gpu) {
  std::vector<ListedGi> all;
  for (unsigned number = 0; number < nvml::kGiProfileCount; ++number) {
    nvml::GiProfileInfo profile{};
    const auto known = NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, number, &profile);
    if (known != nvml::kSuccess) continue;
    nvml::GpuInstance found[8]{};
    unsigned count = 0;
    CHECK(NVML(nvmlDeviceGetGpuInstances)(gpu, profile.id, found, &count) == nvml::kSuccess);
    CHECK(count <= profile.instance_count);
    for (unsigned i = 0; i < count; ++i) {
      nvml::GpuInstanceInfo info{};
      CHECK(NVML(nvmlGpuInstanceGetInfo)(found[i], &info) == nvml::kSuccess);
      CHECK(info.device == gpu && info.profile_id == profile.id);
      all.push_back({info.id, info.profile_id, info.placement.start, info.placement.size, found[i],
                     list_cis(found[i])});
    }
  }
  std::ranges::sort(all, {}, &ListedGi::id);
  return all;
}

std::string to_text(const std::vector<ListedGi>& all) {
  std::string text;
  for (const ListedGi& gi : all) {
    text += cat(text.empty() ? "" : " ", gi.profile_id, "@", gi.start, "+", gi.size, " gi", gi.id);
    for (const ListedCi& ci : gi.cis) text += cat(" [", ci.id, ":", ci.start, "+", ci.size, "]");
  }
  return text;
}

ProfileIds::ProfileIds(nvml::Device gpu, const mig::Model& model) {
  for (const mig::Profile& p : model.profiles()) ids_.push_back(profile_id(gpu, p.name));
}

mig::ProfileIndex ProfileIds::profile_of(unsigned id) const {
  const auto found = std::ranges::find(ids_, id);
  CHECK(found != ids_.end());
  return mig::ProfileIndex(static_cast<std::uint8_t>(found - ids_.begin()));
}

std::string flaw(nvml::Device gpu, const mig::Model& model) {
  const ProfileIds ids(gpu, model);
  const std::vector<ListedGi> all = list(gpu);
  mig::Occupancy occupancy = mig::kEmpty;
  std::vector<mig::ProfileIndex> present;
  for (const ListedGi& gi : all) {
    const mig::Placement p{ids.profile_of(gi.profile_id), static_cast<std::uint8_t>(gi.start)};
    if (!model.fits(occupancy, p)) return cat("overlap or illegal start: ", to_text(all));
    if (!mig::within_limits(model, present, p.profile)) return cat("too many: ", to_text(all));
    occupancy = model.with(occupancy, p);
    present.push_back(p.profile);
    const std::string inside = flaw_of_cis(gi, model.profile(p.profile).compute_slices);
    if (!inside.empty()) return cat(inside, ": ", to_text(all));
  }
  const std::string devices = flaw_of_devices(gpu, all);
  return devices.empty() ? "" : cat(devices, ": ", to_text(all));
}

}  // namespace tangram::tests
