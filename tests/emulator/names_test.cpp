// Names and ids: profiles as clients compute their names from the reported numbers and as NVML
// returns them, MIG devices, ids of GPU instances, UUIDs; for every model and profile.
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "mig/reported.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;

unsigned gi_id(const Instance& instance) {
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(instance.gi, &info), kSuccess);
  return info.id;
}

int memory_total_mib(nvml::Device gpu) {
  nvml::Memory memory{};
  EXPECT_EQ(NVML(nvmlDeviceGetMemoryInfo)(gpu, &memory), kSuccess);
  return static_cast<int>(memory.total >> 20U);
}

// What a client knows after reading one profile.
mig::ReportedProfile report(nvml::Device gpu, unsigned number, const nvml::GiProfileInfo& info) {
  mig::ReportedProfile reported;
  reported.facts.memory_mib = static_cast<int>(info.memory_size_mb);
  reported.facts.nvml_enum = static_cast<int>(number);
  reported.facts.nvml_id = static_cast<int>(info.id);
  reported.slice_count = static_cast<int>(info.slice_count);
  reported.instance_count = static_cast<int>(info.instance_count);
  nvml::Placement places[16]{};
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetGpuInstancePossiblePlacements_v2)(gpu, info.id, places, &count),
            kSuccess);
  for (unsigned i = 0; i < count; ++i) {
    reported.placements.push_back(
        {static_cast<int>(places[i].start), static_cast<int>(places[i].size)});
  }
  return reported;
}

mig::ReportedGpu report(nvml::Device gpu) {
  mig::ReportedGpu reported{name_of(gpu), memory_total_mib(gpu), {}};
  for (unsigned number = 0; number < nvml::kGiProfileCount; ++number) {
    nvml::GiProfileInfo info{};
    const auto result = NVML(nvmlDeviceGetGpuInstanceProfileInfo)(gpu, number, &info);
    if (result == nvml::kNotSupported) continue;
    EXPECT_EQ(result, kSuccess);
    reported.profiles.push_back(report(gpu, number, info));
  }
  return reported;
}

TEST(ProfileNames, ComputedFromTheReportAreTheCatalogs) {
  for (const mig::Model& model : mig::catalog()) {
    const Node node(model.name());
    const mig::ReportedGpu reported = report(gpu(0));
    std::multiset<std::string> computed;
    std::multiset<std::string> expected;
    for (const mig::ReportedProfile& p : reported.profiles) {
      computed.insert(mig::profile_name(p, reported.memory_total_mib));
    }
    for (const mig::Profile& p : model.profiles()) expected.insert(p.name);
    EXPECT_EQ(computed, expected) << model.name();
  }
}

TEST(ProfileNames, TheReportGivesTheCatalogsGeometryBack) {
  for (const mig::Model& model : mig::catalog()) {
    const Node node(model.name());
    const auto spec = mig::spec_of(model.name(), report(gpu(0)));
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    EXPECT_EQ(spec->compute_slices, model.compute_slices()) << model.name();
    EXPECT_EQ(spec->memory_slices, model.memory_slices()) << model.name();
    for (const mig::Profile& p : model.profiles()) {
      const auto same = std::ranges::find(spec->profiles, p.name, &mig::Profile::name);
      ASSERT_NE(same, spec->profiles.end()) << model.name() << " " << p.name;
      EXPECT_EQ(same->starts, p.starts) << model.name() << " " << p.name;
      EXPECT_EQ(same->memory_slices, p.memory_slices) << model.name() << " " << p.name;
      EXPECT_EQ(same->compute_slices, p.compute_slices) << model.name() << " " << p.name;
      EXPECT_EQ(same->max_instances, p.max_instances) << model.name() << " " << p.name;
    }
  }
}

// Versions 2 and 3 of the struct have the name; by number and by id; with MIG on and off.
TEST(ProfileNames, InBothVersionsOfTheAnswer) {
  for (const mig::Model& model : mig::catalog()) {
    const Node node(cat("[[gpu]]\nmodel = \"", model.name(), "\"\nmig = false\n"));
    std::set<std::string> names;
    for (unsigned number = 0; number < nvml::kGiProfileCount; ++number) {
      nvml::GiProfileInfoV2 second{};
      second.version = nvml::version_of<nvml::GiProfileInfoV2>(2);
      if (NVML(nvmlDeviceGetGpuInstanceProfileInfoV)(gpu(0), number, &second) != kSuccess) continue;
      nvml::GiProfileInfoV3 third{};
      third.version = nvml::version_of<nvml::GiProfileInfoV3>(3);
      auto* as_second = reinterpret_cast<nvml::GiProfileInfoV2*>(&third);
      ASSERT_EQ(NVML(nvmlDeviceGetGpuInstanceProfileInfoByIdV)(gpu(0), second.id, as_second),
                kSuccess);
      const std::string name = second.name;
      EXPECT_EQ(name, third.name);
      EXPECT_EQ(second.memory_size_mb, third.memory_size_mb);
      EXPECT_EQ(second.instance_count, third.instance_count);
      EXPECT_EQ(third.capabilities, name.ends_with("+gfx") ? nvml::kCapabilityGfx : 0U);
      names.insert(name);
    }
    std::set<std::string> expected;
    for (const mig::Profile& p : model.profiles()) expected.insert("MIG " + p.name);
    EXPECT_EQ(names, expected) << model.name();
  }
}

// Creates every profile at every start on its own: names, ids, UUIDs. Returns "name@start gi" to
// UUID.
std::vector<std::string> walk_places(const mig::Model& model, nvml::Device gpu, bool swapped) {
  std::vector<std::string> uuids;
  const std::string board = name_of(gpu);
  const int total = model.memory_slices();
  for (const mig::Profile& p : model.profiles()) {
    for (const int start : p.starts) {
      const Instance instance = create(gpu, cat(p.name, "@", start));
      EXPECT_EQ(name_of(instance.mig), cat(board, " MIG ", p.name));
      const int parts = total / p.memory_slices;
      const int first = parts == 1 ? 0 : parts == 2 ? 1 : parts == 4 ? 3 : 7;
      const int place = swapped && parts > 1 ? (start + total / 2) % total : start;
      EXPECT_EQ(gi_id(instance), static_cast<unsigned>(first + place / p.memory_slices))
          << model.name() << " " << p.name << "@" << start;
      uuids.push_back(instance.uuid);
      EXPECT_EQ(destroy(instance), kSuccess);
    }
  }
  return uuids;
}

TEST(Instances, HaveTheDriversNamesAndIdsOnEveryModel) {
  for (const mig::Model& model : mig::catalog()) {
    const Node node(cat("[[gpu]]\nmodel = \"", model.name(), "\"\n[[gpu]]\nmodel = \"",
                        model.name(), "\"\nswapped = true\n"));
    const auto first = walk_places(model, gpu(0), false);
    EXPECT_EQ(walk_places(model, gpu(0), false), first) << "the same place, the same UUID";
    walk_places(model, gpu(1), true);
  }
}

// The ids in the driver's source and in nvidia-smi listings.
TEST(Instances, HaveTheIdsThatWereSeen) {
  const Node node("A100-40GB,A30,RTX-PRO-6000-96GB");
  const auto id = [](unsigned index, const char* placement) {
    const Instance instance = create(gpu(index), placement);
    const unsigned number = gi_id(instance);
    EXPECT_EQ(destroy(instance), kSuccess);
    return number;
  };
  EXPECT_EQ(id(0, "7g.40gb@0"), 0U);
  EXPECT_EQ(id(0, "4g.20gb@0"), 1U);
  EXPECT_EQ(id(0, "3g.20gb@4"), 2U);
  EXPECT_EQ(id(0, "2g.10gb@4"), 5U);
  EXPECT_EQ(id(0, "1g.10gb@6"), 6U);
  EXPECT_EQ(id(0, "1g.5gb@0"), 7U);
  EXPECT_EQ(id(0, "1g.5gb@6"), 13U);
  EXPECT_EQ(id(1, "1g.6gb@3"), 6U);
  EXPECT_EQ(id(1, "2g.12gb@2"), 2U);
  EXPECT_EQ(id(2, "1g.24gb@9"), 6U);
  EXPECT_EQ(id(2, "2g.48gb@6"), 2U);
  EXPECT_EQ(id(2, "4g.96gb@0"), 0U);
}

TEST(Instances, SplitIntoComputeInstancesAreNamedSo) {
  const Node node("A100-40GB");
  nvml::GpuInstance gi = nullptr;
  ASSERT_EQ(create_gi(gpu(0), "3g.20gb", 4, gi), kSuccess);
  std::vector<std::string> names;
  std::set<std::string> uuids;
  for (const unsigned profile : {0U, 1U}) {
    // Two slices fit at 0 only, so the single slice goes to the end.
    const nvml::Placement place = profile == 0 ? nvml::Placement{2, 1} : nvml::Placement{0, 2};
    nvml::ComputeInstance ci = nullptr;
    ASSERT_EQ(NVML(nvmlGpuInstanceCreateComputeInstanceWithPlacement)(gi, profile, &place, &ci),
              kSuccess);
    nvml::ComputeInstanceInfo info{};
    ASSERT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(ci, &info), kSuccess);
    names.push_back(name_of(info.device));
    uuids.insert(uuid_of(info.device));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"NVIDIA A100-SXM4-40GB MIG 1c.3g.20gb",
                                             "NVIDIA A100-SXM4-40GB MIG 2c.3g.20gb"}));
  EXPECT_EQ(uuids.size(), 2U);
  nvml::CiProfileInfoV2 second{};
  second.version = nvml::version_of<nvml::CiProfileInfoV2>(2);
  ASSERT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(gi, 0, 0, &second), kSuccess);
  EXPECT_STREQ(second.name, "MIG 1c.3g.20gb");
  nvml::CiProfileInfoV3 third{};
  third.version = nvml::version_of<nvml::CiProfileInfoV3>(3);
  auto* as_second = reinterpret_cast<nvml::CiProfileInfoV2*>(&third);
  ASSERT_EQ(NVML(nvmlGpuInstanceGetComputeInstanceProfileInfoV)(gi, 2, 0, as_second), kSuccess);
  EXPECT_STREQ(third.name, "MIG 3g.20gb");
}

TEST(Uuids, AreDistinctOverANodeAndOfTheRightForm) {
  const Node node("4xA100-40GB,2xA30,2xH100-80GB");
  const std::regex gpu_form("GPU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}");
  const std::regex mig_form(
      "MIG-[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
  std::set<std::string> all;
  std::size_t count = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const bool is_a30 = i == 4 || i == 5;
    const std::string uuid = uuid_of(gpu(i));
    EXPECT_TRUE(std::regex_match(uuid, gpu_form)) << uuid;
    all.insert(uuid);
    ++count;
    const char* profile = is_a30 ? "1g.6gb" : i < 4 ? "1g.5gb" : "1g.10gb";
    for (int start = 0; start < (is_a30 ? 4 : 7); ++start) {
      const Instance instance = create(gpu(i), cat(profile, "@", start));
      EXPECT_TRUE(std::regex_match(instance.uuid, mig_form)) << instance.uuid;
      all.insert(instance.uuid);
      ++count;
    }
  }
  EXPECT_EQ(all.size(), count);
}

}  // namespace
}  // namespace tangram::tests
