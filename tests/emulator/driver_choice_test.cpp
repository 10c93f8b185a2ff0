// Where the emulated driver puts an instance when nobody says where: every sequence that was seen
// on hardware and follows the rule (see mig/driver.hpp). A table of observations, not of what our
// code does. One rule: created through NVML without a placement, and read back.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "mig/catalog.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

constexpr std::nullopt_t kInsufficientResources = std::nullopt;
using Starts = std::vector<std::optional<int>>;

struct Observation {
  std::vector<std::string> models;
  std::vector<std::string_view> created;  // "2g" is the model's first profile of two slices
  Starts starts;
};

const std::vector<std::string> kSevenSlices = {"A100-40GB", "A100-80GB", "H100-80GB"};

const std::vector<Observation>& observations() {
  static const std::vector<Observation> all = {
      {kSevenSlices, {"1g", "1g", "1g", "1g", "1g", "1g", "1g"}, {6, 4, 5, 0, 1, 2, 3}},
      {kSevenSlices, {"1g", "2g", "4g"}, {6, 4, 0}},
      {kSevenSlices, {"1g", "1g", "2g", "3g"}, {6, 4, 0, kInsufficientResources}},
      {kSevenSlices, {"3g", "1g", "2g", "1g"}, {4, 0, 2, 1}},
      {kSevenSlices, {"2g", "1g", "1g", "1g", "1g", "1g"}, {4, 6, 0, 1, 2, 3}},
      {kSevenSlices, {"2g", "2g", "2g", "1g+me"}, {4, 0, 2, 6}},
      {kSevenSlices, {"2g", "2g", "1g"}, {4, 0, 6}},
      {kSevenSlices, {"3g", "2g", "1g"}, {4, 0, 2}},
      {kSevenSlices, {"3g", "4g"}, {4, 0}},
      {{"H100-PCIe-80GB"}, {"1g.20gb"}, {6}},
      {{"A30-24GB"}, {"1g", "1g", "2g"}, {0, 1, 2}},
      {{"RTX-PRO-6000-96GB"}, {"1g", "1g", "1g", "1g"}, {0, 3, 6, 9}},
      {{"RTX-PRO-6000-96GB"}, {"2g", "1g", "1g"}, {0, 6, 9}},
  };
  return all;
}

// A full name, or slices and suffix: "1g+me" is the first profile "1g.<memory>+me".
std::string profile_like(const mig::Model& model, std::string_view name) {
  if (model.find_profile(name)) return std::string(name);
  const std::size_t slices = name.find('g') + 1;
  const std::string_view suffix = name.substr(slices);
  for (const mig::Profile& p : model.profiles()) {
    if (p.name.starts_with(std::string(name.substr(0, slices)) + ".") &&
        p.name.ends_with(suffix.empty() ? "gb" : suffix)) {
      return p.name;
    }
  }
  CHECK(false);
}

std::optional<int> create_somewhere(nvml::Device gpu, const std::string& profile) {
  nvml::GpuInstance gi = nullptr;
  const auto result = NVML(nvmlDeviceCreateGpuInstance)(gpu, profile_id(gpu, profile), &gi);
  if (result == nvml::kInsufficientResources) return kInsufficientResources;
  EXPECT_EQ(result, nvml::kSuccess);
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(gi, &info), nvml::kSuccess);
  return static_cast<int>(info.placement.start);
}

TEST(DriverChoice, FollowsEveryObservation) {
  ASSERT_EQ(observations().size(), 13U);
  for (const Observation& seen : observations()) {
    for (const std::string& name : seen.models) {
      const Node node(name);
      const mig::Model& model = **mig::find_model(name);
      std::string sequence = name;
      Starts starts;
      for (const std::string_view created : seen.created) {
        sequence.append(" ").append(created);
        starts.push_back(create_somewhere(gpu(0), profile_like(model, created)));
      }
      EXPECT_EQ(starts, seen.starts) << sequence;
    }
  }
}

// The same compute instances: lowest place, lowest id.
TEST(DriverChoice, PutsComputeInstancesAtTheLowestPlace) {
  const Node node("A100-40GB");
  nvml::GpuInstance gi = nullptr;
  ASSERT_EQ(create_gi(gpu(0), "7g.40gb", 0, gi), nvml::kSuccess);
  nvml::ComputeInstance made[4]{};
  const std::vector<std::pair<unsigned, unsigned>> expected = {{0, 0}, {1, 1}, {2, 2}};
  for (const auto& [id, start] : expected) {
    ASSERT_EQ(NVML(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &made[id]), nvml::kSuccess);
    nvml::ComputeInstanceInfo info{};
    ASSERT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(made[id], &info), nvml::kSuccess);
    EXPECT_EQ(info.id, id);
    EXPECT_EQ(info.placement.start, start);
  }
  ASSERT_EQ(NVML(nvmlComputeInstanceDestroy)(made[1]), nvml::kSuccess);
  ASSERT_EQ(NVML(nvmlGpuInstanceCreateComputeInstance)(gi, 1, &made[3]), nvml::kSuccess);
  nvml::ComputeInstanceInfo info{};
  ASSERT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(made[3], &info), nvml::kSuccess);
  EXPECT_EQ(info.id, 1U);  // the lowest free one
  EXPECT_EQ(info.placement.start, 4U);
  EXPECT_EQ(info.placement.size, 2U);
}

}  // namespace
}  // namespace tangram::tests
