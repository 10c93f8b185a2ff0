// The emulated PCIe link of a GPU: shared fairly by its processes, each limited to the maximum of
// one flow; the driver's counters show the sum.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "child.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;
using Shares = std::vector<unsigned>;

// A link of 1000 KB/s for one GPU; the test sets the maximum of a flow.
std::string link(unsigned flow_mbps) {
  return cat("[[gpu]]\nmodel = \"A100-40GB\"\nlink_mbps = 100\nflow_mbps = ", flow_mbps, "\n");
}

class Link : public testing::Test {
 protected:
  // A MIG device with a process on it per demand; what each gets to the GPU.
  Shares shares_of(const Shares& demands, unsigned from = 0) {
    for (std::size_t i = 0; i < demands.size(); ++i) {
      places_.push_back(create(gpu(0), cat("1g.5gb@", i)));
      jobs_.push_back(std::make_unique<Child>(idle));
      EXPECT_EQ(demand(i, demands[i], from), kSuccess);
    }
    return shares();
  }
  nvml::Return demand(std::size_t i, unsigned to, unsigned from) {
    return NVML(tangramEmulatorDemand)(places_[i].uuid.c_str(), jobs_[i]->pid(), to, from);
  }
  Shares shares(bool to_gpu = true) {
    Shares all;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      unsigned to = 0;
      unsigned from = 0;
      const auto result =
          NVML(tangramEmulatorShare)(places_[i].uuid.c_str(), jobs_[i]->pid(), &to, &from);
      if (result == kSuccess) all.push_back(to_gpu ? to : from);
    }
    return all;
  }
  static unsigned throughput(unsigned counter) {
    unsigned kbps = 0;
    EXPECT_EQ(NVML(nvmlDeviceGetPcieThroughput)(gpu(0), counter, &kbps), kSuccess);
    return kbps;
  }

  std::vector<Instance> places_;
  std::vector<std::unique_ptr<Child>> jobs_;
};

TEST_F(Link, GivesEveryoneWhatItWantsWhileThereIsRoom) {
  const Node node(link(100));
  EXPECT_EQ(shares_of({50'000, 30'000, 20'000}), (Shares{50'000, 30'000, 20'000}));
  EXPECT_EQ(throughput(nvml::kPcieRx), 100'000U);
  EXPECT_EQ(throughput(nvml::kPcieTx), 0U);
}

TEST_F(Link, SharesFairlyWhenThereIsNot) {
  const Node node(link(100));
  // The small demand is met; the others share the remainder equally.
  EXPECT_EQ(shares_of({10'000, 90'000, 80'000, 1'000'000}),
            (Shares{10'000, 30'000, 30'000, 30'000}));
  EXPECT_EQ(throughput(nvml::kPcieRx), 100'000U);
}

TEST_F(Link, CapsAFlow) {
  const Node node(link(25));
  EXPECT_EQ(shares_of({90'000}), (Shares{25'000}));
  EXPECT_EQ(throughput(nvml::kPcieRx), 25'000U);
}

TEST_F(Link, CapsAndShares) {
  const Node node(link(40));
  EXPECT_EQ(shares_of({90'000, 90'000, 10'000}), (Shares{40'000, 40'000, 10'000}));
  EXPECT_EQ(demand(2, 40'000, 0), kSuccess);
  const Shares thirds = shares();
  EXPECT_EQ(thirds[0] + thirds[1] + thirds[2], 100'000U) << "nothing is lost to rounding";
  for (const unsigned share : thirds) EXPECT_NEAR(share, 33'333, 1);
}

TEST_F(Link, HasTwoDirections) {
  const Node node(link(100));
  EXPECT_EQ(shares_of({80'000, 80'000}, 20'000), (Shares{50'000, 50'000}));
  EXPECT_EQ(shares(false), (Shares{20'000, 20'000}));
  EXPECT_EQ(throughput(nvml::kPcieRx), 100'000U);
  EXPECT_EQ(throughput(nvml::kPcieTx), 40'000U);
  unsigned kbps = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetPcieThroughput)(gpu(0), 2, &kbps), nvml::kInvalidArgument);
  EXPECT_EQ(NVML(nvmlDeviceGetPcieThroughput)(places_[0].mig, 0, &kbps), nvml::kInvalidArgument)
      << "there is no counter of an instance";
}

TEST_F(Link, ForgetsTheDead) {
  const Node node(link(100));
  EXPECT_EQ(shares_of({80'000, 80'000}), (Shares{50'000, 50'000}));
  jobs_[0]->kill(false);
  EXPECT_EQ(shares(), (Shares{80'000}));
  EXPECT_EQ(throughput(nvml::kPcieRx), 80'000U);
}

TEST_F(Link, ForgetsThoseThatWantNothing) {
  const Node node(link(100));
  EXPECT_EQ(shares_of({80'000, 80'000}), (Shares{50'000, 50'000}));
  EXPECT_EQ(demand(1, 0, 0), kSuccess);
  EXPECT_EQ(shares(), (Shares{80'000}));
  EXPECT_EQ(control_error(), cat("process ", jobs_[1]->pid(), " has no demand on this link."));
}

TEST_F(Link, ForgetsThoseWhoseInstanceIsGone) {
  const Node node(link(100));
  EXPECT_EQ(shares_of({80'000, 80'000}), (Shares{50'000, 50'000}));
  ASSERT_EQ(destroy(places_[0]), kSuccess);
  EXPECT_EQ(shares(), (Shares{80'000}));
}

// Two compute instances of one GPU instance have separate flows.
TEST_F(Link, DistinguishesComputeInstances) {
  const Node node(link(100));
  nvml::GpuInstance gi = nullptr;
  ASSERT_EQ(create_gi(gpu(0), "3g.20gb", 4, gi), kSuccess);
  for (int i = 0; i < 2; ++i) {
    Instance place{.gi = gi, .ci = nullptr, .mig = nullptr, .uuid = ""};
    ASSERT_EQ(NVML(nvmlGpuInstanceCreateComputeInstance)(gi, 0, &place.ci), kSuccess);
    nvml::ComputeInstanceInfo info{};
    ASSERT_EQ(NVML(nvmlComputeInstanceGetInfo_v2)(place.ci, &info), kSuccess);
    place.uuid = uuid_of(info.device);
    places_.push_back(place);
    jobs_.push_back(std::make_unique<Child>(idle));
  }
  EXPECT_EQ(demand(0, 80'000, 0), kSuccess);
  EXPECT_EQ(demand(1, 30'000, 0), kSuccess);
  EXPECT_EQ(shares(), (Shares{70'000, 30'000}));
  unsigned to = 0;
  EXPECT_EQ(NVML(tangramEmulatorShare)(places_[1].uuid.c_str(), jobs_[0]->pid(), &to, &to),
            nvml::kNotFound)
      << "it is on the other one";
  ASSERT_EQ(NVML(nvmlComputeInstanceDestroy)(places_[1].ci), kSuccess);
  EXPECT_EQ(shares(), (Shares{80'000}));
}

TEST_F(Link, OfAWholeGpu) {
  const Node node(link(100));
  jobs_.push_back(std::make_unique<Child>(idle));
  places_.push_back({.gi = nullptr, .ci = nullptr, .mig = nullptr, .uuid = uuid_of(gpu(0))});
  EXPECT_EQ(demand(0, 500'000, 1), kSuccess);
  EXPECT_EQ(shares(), (Shares{100'000}));
  jobs_[0]->kill();
  EXPECT_EQ(demand(0, 1, 1), nvml::kNotFound);
}

TEST_F(Link, HasRoomForThirtyTwo) {
  const Node node(link(100));
  places_.push_back(create(gpu(0), "7g.40gb@0"));
  for (int i = 0; i < 33; ++i) {
    jobs_.push_back(std::make_unique<Child>(idle));
    const auto result =
        NVML(tangramEmulatorDemand)(places_[0].uuid.c_str(), jobs_.back()->pid(), 10, 0);
    EXPECT_EQ(result, i < 32 ? kSuccess : nvml::kInsufficientResources);
  }
  EXPECT_EQ(control_error(), "limit of 32 flows per link reached.");
  EXPECT_EQ(throughput(nvml::kPcieRx), 320U);
}

}  // namespace
}  // namespace tangram::tests
