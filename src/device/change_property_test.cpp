// Every placement of every model through the whole module, and long random sequences with faults:
// no instance is leaked, none of another program's is touched.
#include <algorithm>
#include <array>
#include <random>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "mig/catalog.hpp"
#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using testing::fast_retry;
using testing::must_create;
using testing::Node;

TEST(EveryPlacement, OfEveryModelCanBeCreatedAndDestroyed) {
  for (const mig::Model& model : mig::catalog()) {
    const Node node(cat("1x", model.name()));
    const Gpu gpu = node.gpu();
    ASSERT_NE(gpu.model, nullptr) << gpu.trouble;
    for (const mig::Profile& profile : model.profiles()) {
      for (const int start : profile.starts) {
        SCOPED_TRACE(cat(model.name(), " ", profile.name, "@", start));
        OwnedInstances owned;
        const Instance instance = must_create(node, gpu, profile.name, start, owned);
        EXPECT_EQ(instance.profile, profile.name);
        EXPECT_EQ(instance.start, static_cast<unsigned>(start));
        EXPECT_EQ(instance.size, static_cast<unsigned>(profile.memory_slices));
        EXPECT_TRUE(instance.whole);
        EXPECT_TRUE(destroy(node.library(), gpu, instance, owned, fast_retry()).has_value());
        EXPECT_TRUE(node.instances(gpu).empty());
      }
    }
  }
}

constexpr std::array kCalls = {"nvmlDeviceCreateGpuInstanceWithPlacement",
                               "nvmlGpuInstanceCreateComputeInstance", "nvmlComputeInstanceDestroy",
                               "nvmlGpuInstanceDestroy"};
constexpr std::array kFaults = {
    "IN_USE", "INSUFFICIENT_RESOURCES", "UNKNOWN", "TIMEOUT", "GPU_IS_LOST", "lie"};

// One random sequence. After every step the GPU holds Tangram's instances and the foreign one.
class RandomSequence {
 public:
  explicit RandomSequence(unsigned seed) : random_(seed) {
    foreign_ = must_create(node_, gpu_, "2g.10gb", 0, others_);
  }

  void step() {
    if (!known_.empty() && random_() % 2 == 0) {
      destroy_one();
    } else {
      create_one();
    }
    check();
  }
  void new_faults() {
    node_.clear_faults();
    for (const char* call : kCalls) {
      const std::string fault = cat(call, "=", kFaults.at(random_() % kFaults.size()));
      node_.fault(fault.c_str(), 0, -1, 5);
    }
  }
  void end() {
    node_.clear_faults();
    for (const Instance& instance : node_.instances(gpu_)) {
      if (instance == foreign_) continue;
      EXPECT_TRUE(destroy(node_.library(), gpu_, instance, owned_, fast_retry()).has_value());
    }
    ASSERT_EQ(node_.instances(gpu_).size(), 1U);
    EXPECT_EQ(node_.instances(gpu_)[0], foreign_);
  }
  [[nodiscard]] int created() const { return created_; }
  [[nodiscard]] int failed() const { return failed_; }

 private:
  void create_one() {
    const mig::Model& model = *gpu_.model;
    const mig::ProfileIndex index(static_cast<std::uint8_t>(random_() % model.profiles().size()));
    const auto& starts = model.profile(index).starts;
    const auto placement = model.placement(index, starts[random_() % starts.size()]);
    auto made = create(node_.library(), gpu_, *placement, owned_, fast_retry());
    if (made) {
      ++created_;
      known_.push_back(*made);
    } else {
      note(made.error());
    }
  }
  void destroy_one() {
    const Instance instance = known_[random_() % known_.size()];
    const auto result = destroy(node_.library(), gpu_, instance, owned_, fast_retry());
    if (result || result.error().leftover == Failure::Leftover::kNothing) forget(instance);
    if (!result) note(result.error());
  }
  void forget(const Instance& instance) {
    std::erase_if(known_,
                  [&](const Instance& i) { return location_of(i) == location_of(instance); });
  }
  void note(const Failure& failure) {
    if (failure.kind != Failure::Kind::kNoRoom) ++failed_;
    EXPECT_NE(failure.leftover, Failure::Leftover::kUnknown);  // reads do not fail here
    if (failure.leftover != Failure::Leftover::kInstance) return;
    forget(*failure.instance);
    known_.push_back(*failure.instance);
  }
  void check() {
    bool foreign_found = false;
    const auto instances = node_.instances(gpu_);
    for (const Instance& instance : instances) {
      const bool is_foreign = instance == foreign_;
      foreign_found |= is_foreign;
      EXPECT_NE(is_foreign, owned_.has(location_of(instance)))
          << instance.profile << "@" << instance.start;
    }
    EXPECT_TRUE(foreign_found);
    EXPECT_EQ(instances.size(), known_.size() + 1);
    EXPECT_EQ(owned_.locations().size(), known_.size());
  }

  Node node_{"1xA100-40GB"};
  Gpu gpu_ = node_.gpu();
  OwnedInstances others_;
  OwnedInstances owned_;
  Instance foreign_;
  std::vector<Instance> known_;
  std::mt19937 random_;
  int created_ = 0;
  int failed_ = 0;
};

TEST(RandomSequence, LeaksNothingAndTouchesNothingForeign) {
  constexpr unsigned kSeed = 20240607;
  SCOPED_TRACE(cat("seed ", kSeed));
  RandomSequence sequence(kSeed);
  for (int i = 0; i < 1000 && !::testing::Test::HasFailure(); ++i) {
    if (i % 20 == 0) sequence.new_faults();
    sequence.step();
  }
  sequence.end();
  EXPECT_GT(sequence.created(), 100);
  EXPECT_GT(sequence.failed(), 10);
}

// Every call may fail, also the reads; every instance that was created is still owned.
TEST(RandomSequence, KeepsItsClaimsWhenItCannotSee) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  OwnedInstances owned;
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    node.clear_faults();
    node.fault(i % 2 == 0 ? "*=UNKNOWN" : "*=GPU_IS_LOST", 0, -1, 1);
    const mig::ProfileIndex index(
        static_cast<std::uint8_t>(random() % gpu.model->profiles().size()));
    const auto& starts = gpu.model->profile(index).starts;
    const auto placement = gpu.model->placement(index, starts[random() % starts.size()]);
    const auto made = create(node.library(), gpu, *placement, owned, fast_retry());
    if (made) {
      const auto gone = destroy(node.library(), gpu, *made, owned, fast_retry());
      if (gone || gone.error().leftover == Failure::Leftover::kNothing) {
        EXPECT_FALSE(owned.has(location_of(*made)));
      }
    }
    node.clear_faults();
    for (const Instance& instance : node.instances(gpu)) {
      EXPECT_TRUE(owned.has(location_of(instance))) << "round " << i;
      EXPECT_TRUE(destroy(node.library(), gpu, instance, owned, fast_retry()).has_value());
    }
    ASSERT_TRUE(owned.forget_gone(gpu.uuid, {}).has_value());
  }
}

}  // namespace
}  // namespace tangram::device
