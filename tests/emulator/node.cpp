// See node.hpp.
#include "node.hpp"

#include <cstdlib>

#include "base/check.hpp"
#include "mig/layout.hpp"
#include "tests/support/mig/models.hpp"

namespace tangram::tests {
namespace {

void set(const char* name, const std::string& value) { CHECK(setenv(name, value.c_str(), 1) == 0); }

// The compute instance profile that fills the instance: the one of most slices.
unsigned filling_profile(nvml::GpuInstance gi) {
  std::optional<nvml::CiProfileInfo> most;
  for (unsigned number = 0; number < nvml::kCiProfileCount; ++number) {
    nvml::CiProfileInfo info{};
    const auto result = NVML(nvmlGpuInstanceGetComputeInstanceProfileInfo)(gi, number, 0, &info);
    if (result != nvml::kSuccess) continue;
    if (!most || info.slice_count > most->slice_count) most = info;
  }
  CHECK(most.has_value());
  return most->id;
}

}  // namespace

Setting::Setting(const std::string& description, const std::string& latency) {
  set("TANGRAM_EMULATOR_STATE", state());
  set("TANGRAM_EMULATOR_LATENCY", latency);
  describe(description);
}

Setting::~Setting() {
  for (const char* name :
       {"TANGRAM_EMULATE", "TANGRAM_EMULATOR_STATE", "TANGRAM_EMULATOR_LATENCY"}) {
    unsetenv(name);
  }
}

void Setting::describe(const std::string& description) const {
  const bool is_file = description.find('=') != std::string::npos;
  set("TANGRAM_EMULATE", is_file ? folder_.write("node.toml", description) : description);
}

Session::Session() { CHECK(NVML(nvmlInit_v2)() == nvml::kSuccess); }
Session::~Session() { NVML(nvmlShutdown)(); }

nvml::Device gpu(unsigned index) {
  nvml::Device device = nullptr;
  CHECK(NVML(nvmlDeviceGetHandleByIndex_v2)(index, &device) == nvml::kSuccess);
  return device;
}

std::string uuid_of(nvml::Device device) {
  char text[nvml::kUuidBuffer] = "";
  CHECK(NVML(nvmlDeviceGetUUID)(device, text, sizeof text) == nvml::kSuccess);
  return text;
}

std::string name_of(nvml::Device device) {
  char text[nvml::kNameBuffer] = "";
  CHECK(NVML(nvmlDeviceGetName)(device, text, sizeof text) == nvml::kSuccess);
  return text;
}

unsigned profile_id(nvml::Device gpu, std::string_view profile) {
  for (unsigned number = 0; number < nvml::kGiProfileCount; ++number) {
    nvml::GiProfileInfoV2 info{};
    info.version = nvml::version_of<nvml::GiProfileInfoV2>(2);
    const auto result = NVML(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu, number, &info);
    if (result == nvml::kSuccess && std::string_view(info.name) == "MIG " + std::string(profile)) {
      return info.id;
    }
  }
  std::fprintf(stderr, "the emulated GPU has no profile %s\n", std::string(profile).c_str());
  std::abort();
}

nvml::Return create_gi(nvml::Device gpu, std::string_view profile, unsigned start,
                       nvml::GpuInstance& gi) {
  const unsigned id = profile_id(gpu, profile);
  unsigned count = 0;
  nvml::Placement legal[16]{};
  const auto listed = NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu, id, legal, &count);
  CHECK(listed == nvml::kSuccess);
  const nvml::Placement placement{start, legal[0].size};
  return NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu, id, &placement, &gi);
}

Instance create(nvml::Device gpu, std::string_view placement) {
  const mig::PlacementText text = mig::testing::or_stop(mig::parse_placement(placement));
  Instance made;
  const auto start = static_cast<unsigned>(text.start);
  CHECK(create_gi(gpu, text.profile, start, made.gi) == nvml::kSuccess);
  const unsigned profile = filling_profile(made.gi);
  CHECK(NVML(nvmlGpuInstanceCreateComputeInstance)(made.gi, profile, &made.ci) == nvml::kSuccess);
  nvml::ComputeInstanceInfo info{};
  CHECK(NVML(nvmlComputeInstanceGetInfo_v2)(made.ci, &info) == nvml::kSuccess);
  made.mig = info.device;
  made.uuid = uuid_of(made.mig);
  return made;
}

nvml::Return destroy(const Instance& instance) {
  const auto first = NVML(nvmlComputeInstanceDestroy)(instance.ci);
  return first == nvml::kSuccess ? NVML(nvmlGpuInstanceDestroy)(instance.gi) : first;
}

std::string control_error() { return NVML(tangramEmulatorError)(); }

std::string status() {
  unsigned length = 0;
  CHECK(NVML(tangramEmulatorStatus)(nullptr, &length) == nvml::kSuccess);
  std::string text(length, '\0');
  CHECK(NVML(tangramEmulatorStatus)(text.data(), &length) == nvml::kSuccess);
  text.resize(length - 1);
  return text;
}

std::pair<unsigned, unsigned> mig_mode(nvml::Device gpu) {
  unsigned current = 9;
  unsigned pending = 9;
  CHECK(NVML(nvmlDeviceGetMigMode)(gpu, &current, &pending) == nvml::kSuccess);
  return {current, pending};
}

}  // namespace tangram::tests
