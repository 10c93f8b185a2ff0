// Where the emulated driver puts an instance without a given placement: every sequence that was
// observed on hardware and follows the rule (see mig/driver.hpp). The table holds observations, not
// results of our code; instances are created through NVML and read back.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "mig/catalog.hpp"
#include "node.hpp"
#include "tests/support/mig/observations.hpp"

namespace tangram::tests {
namespace {

std::optional<int> create_somewhere(nvml::Device gpu, const std::string& profile) {
  nvml::GpuInstance gi = nullptr;
  const auto result = NVML(nvmlDeviceCreateGpuInstance)(gpu, profile_id(gpu, profile), &gi);
  if (result == nvml::kInsufficientResources) return mig::kInsufficientResources;
  EXPECT_EQ(result, nvml::kSuccess);
  nvml::GpuInstanceInfo info{};
  EXPECT_EQ(NVML(nvmlGpuInstanceGetInfo)(gi, &info), nvml::kSuccess);
  return static_cast<int>(info.placement.start);
}

TEST(DriverChoice, FollowsEveryObservation) {
  ASSERT_EQ(mig::observations().size(), 13U);
  for (const mig::Observation& seen : mig::observations()) {
    for (const std::string& name : seen.models) {
      const Node node(name);
      const mig::Model& model = **mig::find_model(name);
      std::string sequence = name;
      mig::Starts starts;
      for (const std::string_view created : seen.created) {
        sequence.append(" ").append(created);
        starts.push_back(
            create_somewhere(gpu(0), model.profile(mig::profile_like(model, created)).name));
      }
      EXPECT_EQ(starts, seen.starts) << sequence;
    }
  }
}

// The same for compute instances: lowest start, lowest id.
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
