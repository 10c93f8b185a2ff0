// See instances.hpp.
#include "device/instances.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <stop_token>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "device/retry_policy.hpp"

namespace tangram::device {
namespace {

// Not the count that a profile reports: it is wrong on some boards.
constexpr unsigned kMaxInstances = 64;
constexpr unsigned kGiIds = 15;  // the driver numbers GPU instances by position: 0 to 14

struct CiRecord {
  nvml::ComputeInstance handle = nullptr;
  nvml::CiProfileInfo profile{};
};

// Reads one GPU. A handle that becomes invalid between two calls makes the second fail; the caller
// then starts over.
class InstanceReader {
 public:
  InstanceReader(const Library& library, const Gpu& gpu, nvml::Device device)
      : calls_(library.calls()), gpu_(gpu), device_(device) {}

  [[nodiscard]] Outcome<std::vector<GiRecord>> gpu_instances() const;
  [[nodiscard]] Outcome<std::vector<nvml::CiProfileInfo>> profiles(nvml::GpuInstance gi) const;
  [[nodiscard]] Outcome<std::vector<CiRecord>> computes(
      nvml::GpuInstance gi, const std::vector<nvml::CiProfileInfo>& profiles) const;
  [[nodiscard]] Outcome<Instance> instance(const GiRecord& gi) const;
  [[nodiscard]] std::string profile_name(unsigned profile_id) const;

 private:
  [[nodiscard]] std::unexpected<Failure> refused(nvml::Return code, std::string_view tried) const {
    return std::unexpected(failure_of(code, tried, gpu_.uuid));
  }
  [[nodiscard]] std::optional<mig::ProfileIndex> profile_of(unsigned profile_id) const;
  Outcome<void> add_of_profile(unsigned id, std::vector<GiRecord>& found) const;
  Outcome<void> add_unknown(std::vector<GiRecord>& found) const;
  Outcome<void> add_computes(Instance& instance, const GiRecord& gi) const;
  [[nodiscard]] Outcome<nvml::Device> mig_device(unsigned gi, unsigned ci) const;
  [[nodiscard]] Outcome<std::string> mig_uuid(unsigned gi,
                                              const nvml::ComputeInstanceInfo& ci) const;
  [[nodiscard]] Outcome<std::string> uuid_of(nvml::Device device) const;

  const Calls& calls_;
  const Gpu& gpu_;
  nvml::Device device_;
};

std::optional<nvml::CiProfileInfo> filling(const std::vector<nvml::CiProfileInfo>& profiles,
                                           unsigned slices) {
  std::optional<nvml::CiProfileInfo> best;
  for (const nvml::CiProfileInfo& profile : profiles) {
    if (profile.slice_count != slices) continue;
    if (!best || profile.multiprocessor_count > best->multiprocessor_count) best = profile;
  }
  return best;
}

bool is_none(nvml::Return code) {
  return code == nvml::kNotFound || code == nvml::kInvalidArgument || code == nvml::kNotSupported ||
         code == nvml::kFunctionNotFound;
}

unsigned most_slices(const std::vector<nvml::CiProfileInfo>& profiles) {
  unsigned most = 0;
  for (const nvml::CiProfileInfo& profile : profiles) most = std::max(most, profile.slice_count);
  return most;
}

std::optional<mig::ProfileIndex> InstanceReader::profile_of(unsigned profile_id) const {
  if (gpu_.model == nullptr) return std::nullopt;
  const auto& all = gpu_.model->profiles();
  const auto found = std::ranges::find_if(all, [&](const mig::Profile& profile) {
    return profile.facts.nvml_id == static_cast<int>(profile_id);
  });
  if (found == all.end()) return std::nullopt;
  return mig::ProfileIndex(static_cast<std::uint8_t>(found - all.begin()));
}

std::string InstanceReader::profile_name(unsigned profile_id) const {
  const auto profile = profile_of(profile_id);
  return profile ? gpu_.model->profile(*profile).name : cat("unknown-", profile_id);
}

Outcome<void> InstanceReader::add_of_profile(unsigned id, std::vector<GiRecord>& found) const {
  std::array<nvml::GpuInstance, kMaxInstances> handles{};
  unsigned count = 0;
  nvml::Return code = calls_.gis_of_profile(device_, id, handles.data(), &count);
  if (code == nvml::kNotSupported) return {};  // MIG is off
  if (code != nvml::kSuccess) return refused(code, "list the GPU instances");
  for (unsigned i = 0; i < std::min(count, kMaxInstances); ++i) {
    GiRecord gi{.handle = handles[i]};
    code = calls_.gi_info(gi.handle, &gi.info);
    if (code != nvml::kSuccess) return refused(code, "read a GPU instance");
    found.push_back(gi);
  }
  return {};
}

// Adds instances of profiles that the model does not know: they occupy slices all the same.
Outcome<void> InstanceReader::add_unknown(std::vector<GiRecord>& found) const {
  for (unsigned id = 0; id < kGiIds; ++id) {
    const auto is_it = [&](const GiRecord& gi) { return gi.info.id == id; };
    if (std::ranges::any_of(found, is_it)) continue;
    GiRecord gi;
    nvml::Return code = calls_.gi_by_id(device_, id, &gi.handle);
    if (is_none(code)) continue;
    if (code != nvml::kSuccess) return refused(code, "list the GPU instances");
    code = calls_.gi_info(gi.handle, &gi.info);
    if (code != nvml::kSuccess) return refused(code, "read a GPU instance");
    found.push_back(gi);
  }
  return {};
}

Outcome<std::vector<GiRecord>> InstanceReader::gpu_instances() const {
  std::vector<GiRecord> found;
  if (gpu_.model != nullptr) {
    for (const mig::Profile& profile : gpu_.model->profiles()) {
      const auto added = add_of_profile(static_cast<unsigned>(profile.facts.nvml_id), found);
      if (!added) return std::unexpected(added.error());
    }
  }
  if (const auto added = add_unknown(found); !added) return std::unexpected(added.error());
  return found;
}

Outcome<std::vector<nvml::CiProfileInfo>> InstanceReader::profiles(nvml::GpuInstance gi) const {
  std::vector<nvml::CiProfileInfo> found;
  for (unsigned number = 0; number < nvml::kCiProfileCount; ++number) {
    nvml::CiProfileInfo info{};
    const nvml::Return code = calls_.ci_profile(gi, number, nvml::kCiEngineShared, &info);
    if (code == nvml::kSuccess) {
      found.push_back(info);
    } else if (code != nvml::kNotSupported && code != nvml::kInvalidArgument) {
      return refused(code, "read a compute instance profile");
    }
  }
  if (found.empty()) return refused(nvml::kInvalidArgument, "read its compute instance profiles");
  return found;
}

Outcome<std::vector<CiRecord>> InstanceReader::computes(
    nvml::GpuInstance gi, const std::vector<nvml::CiProfileInfo>& profiles) const {
  std::vector<CiRecord> found;
  for (const nvml::CiProfileInfo& profile : profiles) {
    std::array<nvml::ComputeInstance, kMaxInstances> handles{};
    unsigned count = 0;
    const nvml::Return code = calls_.cis_of_profile(gi, profile.id, handles.data(), &count);
    if (code == nvml::kNotSupported) continue;
    if (code != nvml::kSuccess) return refused(code, "list the compute instances");
    for (unsigned i = 0; i < std::min(count, kMaxInstances); ++i) {
      found.push_back({handles[i], profile});
    }
  }
  return found;
}

Outcome<std::string> InstanceReader::uuid_of(nvml::Device device) const {
  std::array<char, nvml::kUuidBuffer> text{};
  const nvml::Return code = calls_.device_uuid(device, text.data(), nvml::kUuidBuffer);
  if (code != nvml::kSuccess) return refused(code, "read the UUID of a MIG device");
  text.back() = '\0';
  return std::string(text.data());
}

Outcome<nvml::Device> InstanceReader::mig_device(unsigned gi, unsigned ci) const {
  unsigned most = 0;
  if (const nvml::Return code = calls_.mig_device_count(device_, &most); code != nvml::kSuccess) {
    return refused(code, "count the MIG devices");
  }
  for (unsigned index = 0; index < most; ++index) {
    nvml::Device device = nullptr;
    unsigned its_gi = nvml::kNoInstanceId;
    unsigned its_ci = nvml::kNoInstanceId;
    if (calls_.mig_device(device_, index, &device) != nvml::kSuccess ||
        calls_.mig_device_gi(device, &its_gi) != nvml::kSuccess ||
        calls_.mig_device_ci(device, &its_ci) != nvml::kSuccess) {
      continue;
    }
    if (its_gi == gi && its_ci == ci) return device;
  }
  return refused(nvml::kNotFound, cat("find the MIG device of GPU instance ", gi));
}

// The handle in a compute instance's record is the MIG device on known drivers; the documentation
// calls it the parent, so its UUID is checked first.
Outcome<std::string> InstanceReader::mig_uuid(unsigned gi,
                                              const nvml::ComputeInstanceInfo& ci) const {
  if (auto uuid = uuid_of(ci.device); uuid && uuid->starts_with("MIG-")) return uuid;
  const Outcome<nvml::Device> device = mig_device(gi, ci.id);
  if (!device) return std::unexpected(device.error());
  return uuid_of(*device);
}

Outcome<void> InstanceReader::add_computes(Instance& instance, const GiRecord& gi) const {
  const auto offered = profiles(gi.handle);
  if (!offered) return std::unexpected(offered.error());
  const auto found = computes(gi.handle, *offered);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return {};
  nvml::ComputeInstanceInfo info{};
  const nvml::Return code = calls_.ci_info(found->front().handle, &info);
  if (code != nvml::kSuccess) return refused(code, "read a compute instance");
  Outcome<std::string> uuid = mig_uuid(gi.info.id, info);
  if (!uuid) return std::unexpected(std::move(uuid.error()));
  instance.ci = info.id;
  instance.mig_uuid = *std::move(uuid);
  const unsigned slices =
      instance.placement
          ? static_cast<unsigned>(gpu_.model->profile(instance.placement->profile).compute_slices)
          : most_slices(*offered);
  const auto best = filling(*offered, slices);
  instance.whole = found->size() == 1 && best && found->front().profile.slice_count == slices &&
                   found->front().profile.multiprocessor_count == best->multiprocessor_count;
  return {};
}

Outcome<Instance> InstanceReader::instance(const GiRecord& gi) const {
  Instance instance;
  instance.gpu_uuid = gpu_.uuid;
  instance.gi = gi.info.id;
  instance.profile = profile_name(gi.info.profile_id);
  instance.start = gi.info.placement.start;
  instance.size = gi.info.placement.size;
  if (const auto profile = profile_of(gi.info.profile_id)) {
    const auto placement = gpu_.model->placement(*profile, static_cast<int>(instance.start));
    if (placement) instance.placement = *placement;
  }
  if (const auto added = add_computes(instance, gi); !added) return std::unexpected(added.error());
  return instance;
}

Outcome<std::vector<Instance>> list_once(const InstanceReader& reader) {
  const auto handles = reader.gpu_instances();
  if (!handles) return std::unexpected(handles.error());
  std::vector<Instance> instances;
  for (const GiRecord& gi : *handles) {
    Outcome<Instance> instance = reader.instance(gi);
    if (!instance) return std::unexpected(std::move(instance.error()));
    instances.push_back(*std::move(instance));
  }
  std::ranges::sort(instances, {}, [](const Instance& i) { return std::pair(i.start, i.gi); });
  return instances;
}

bool may_pass(const Failure& failure) {
  return failure.kind == Failure::Kind::kFailed || failure.kind == Failure::Kind::kInUse ||
         failure.kind == Failure::Kind::kNoRoom || failure.kind == Failure::Kind::kNotThere;
}

}  // namespace

Outcome<std::vector<Instance>> list_instances(const Library& library, const Gpu& gpu) {
  const Outcome<nvml::Device> device = library.device(gpu.uuid);
  if (!device) return std::unexpected(device.error());
  return list_once(InstanceReader(library, gpu, *device));
}

Outcome<std::vector<Instance>> list_instances_with_retry(const Library& library, const Gpu& gpu) {
  Backoff backoff({.retry_for = std::chrono::milliseconds(500),
                   .longest_wait = std::chrono::milliseconds(50),
                   .stop = {}});
  for (;;) {
    auto instances = list_instances(library, gpu);
    if (instances || !may_pass(instances.error()) || !backoff.wait()) return instances;
  }
}

Outcome<std::optional<GiRecord>> find_gpu_instance(const Library& library, const Gpu& gpu,
                                                   const InstanceLocation& location) {
  const Outcome<nvml::Device> device = library.device(gpu.uuid);
  if (!device) return std::unexpected(device.error());
  const InstanceReader reader(library, gpu, *device);
  const auto handles = reader.gpu_instances();
  if (!handles) return std::unexpected(handles.error());
  for (const GiRecord& gi : *handles) {
    if (gi.info.placement.start != location.start) continue;
    if (reader.profile_name(gi.info.profile_id) == location.profile) return gi;
  }
  return std::nullopt;
}

Outcome<std::vector<nvml::ComputeInstance>> compute_instances(const Library& library,
                                                              const Gpu& gpu,
                                                              nvml::GpuInstance gi) {
  const InstanceReader reader(library, gpu, nullptr);
  const auto offered = reader.profiles(gi);
  if (!offered) return std::unexpected(offered.error());
  const auto found = reader.computes(gi, *offered);
  if (!found) return std::unexpected(found.error());
  std::vector<nvml::ComputeInstance> handles;
  for (const CiRecord& compute : *found) handles.push_back(compute.handle);
  return handles;
}

Outcome<nvml::CiProfileInfo> filling_profile(const Library& library, const Gpu& gpu,
                                             nvml::GpuInstance gi, unsigned slices) {
  const auto offered = InstanceReader(library, gpu, nullptr).profiles(gi);
  if (!offered) return std::unexpected(offered.error());
  if (const auto best = filling(*offered, slices)) return *best;
  return std::unexpected(
      make_failure(Failure::Kind::kUnsupported, ErrorCode::kFailed,
                   cat("cannot fill a GPU instance on ", gpu.uuid,
                       ": the driver offers no compute instance of ", slices, " slices for it.")));
}

}  // namespace tangram::device
