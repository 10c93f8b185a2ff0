// Every reachable layout of every built-in model is created in the emulator, listed from another
// process and destroyed in a random order; in each, what the emulator allows next is compared with
// the model. Small enough to need no sampling. A failure names the layout and the seed of its
// order.
#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "child.hpp"
#include "listing.hpp"
#include "mig/catalog.hpp"
#include "mig/layout.hpp"
#include "mig/limits.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using mig::Occupancy;
using mig::ProfileIndex;
using Placements = std::span<const mig::Placement>;

constexpr unsigned kSeed = 20240817;

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const mig::Model& model : mig::catalog()) names.push_back(model.name());
  return names;
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

// Sends the listing of GPU 0 for every message.
int answer_listings(Channel& channel) {
  const Session session;
  std::string message;
  while (channel.receive(message)) channel.send("listing " + to_text(list(gpu(0))));
  return 0;
}

// NVIDIA's rule, from the driver's source: the id follows from size and start.
unsigned id_by_the_rule(const mig::Model& model, mig::Placement p) {
  const int size = model.profile(p.profile).memory_slices;
  const int part = model.memory_slices() / size;
  const unsigned first = part == 1 ? 0 : part == 2 ? 1 : part == 4 ? 3 : 7;
  return first + static_cast<unsigned>(p.start / size);
}

class EveryLayout : public testing::TestWithParam<std::string> {
 protected:
  EveryLayout()
      : model_(**mig::find_model(GetParam())),
        setting_(GetParam()),
        lister_(answer_listings),
        gpu_(gpu(0)),
        ids_(gpu_, model_) {}

  // The model's geometry, by name of the layout for messages.
  [[nodiscard]] std::string text_of(Placements layout) const {
    std::string text;
    for (const mig::Placement& p : layout) text += cat(to_string(model_, p), " ");
    return text;
  }

  void make(Placements layout) {
    for (const mig::Placement& p : layout) {
      made_.push_back(create(gpu_, to_string(model_, p)));
    }
  }

  [[nodiscard]] std::string expected_listing(Placements layout) const {
    std::vector<ListedGi> all;
    for (const mig::Placement& p : layout) {
      const mig::Profile& profile = model_.profile(p.profile);
      all.push_back({id_by_the_rule(model_, p),
                     ids_.id_of(p.profile),
                     p.start,
                     static_cast<unsigned>(profile.memory_slices),
                     nullptr,
                     {{0, 0, static_cast<unsigned>(profile.compute_slices), nullptr}}});
    }
    std::ranges::sort(all, {}, &ListedGi::id);
    return to_text(all);
  }

  void destroy_in_any_order() {
    std::ranges::shuffle(made_, random_);
    for (const Instance& instance : made_) ASSERT_EQ(destroy(instance), nvml::kSuccess);
    made_.clear();
  }

  // Tries to create one more instance; destroys it again if that succeeds.
  [[nodiscard]] nvml::Return try_one(ProfileIndex profile, unsigned start) const {
    const auto size = static_cast<unsigned>(model_.profile(profile).memory_slices);
    const nvml::Placement place{start, size};
    nvml::GpuInstance gi = nullptr;
    const auto result =
        NVML(nvmlDeviceCreateGpuInstanceWithPlacement)(gpu_, ids_.id_of(profile), &place, &gi);
    if (result != nvml::kSuccess) return result;
    EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(gi), nvml::kSuccess);
    return result;
  }

  [[nodiscard]] nvml::Return allowed(Placements layout, Occupancy occupancy, ProfileIndex profile,
                                     unsigned start) const {
    const std::vector<int>& starts = model_.profile(profile).starts;
    if (std::ranges::find(starts, static_cast<int>(start)) == starts.end()) {
      return nvml::kInvalidArgument;
    }
    std::vector<ProfileIndex> present;
    for (const mig::Placement& p : layout) present.push_back(p.profile);
    const bool fits = model_.fits(occupancy, {profile, static_cast<std::uint8_t>(start)}) &&
                      mig::within_limits(model_, present, profile);
    return fits ? nvml::kSuccess : nvml::kInsufficientResources;
  }

  // The maximum number that can be added, by trying every set of starts.
  [[nodiscard]] unsigned most_more(std::vector<ProfileIndex> present, Occupancy occupancy,
                                   ProfileIndex profile, int from) const {
    unsigned most = 0;
    for (int start = from; start < model_.memory_slices(); ++start) {
      const mig::Placement p{profile, static_cast<std::uint8_t>(start)};
      if (!model_.fits(occupancy, p) || !mig::within_limits(model_, present, profile)) continue;
      present.push_back(profile);
      most = std::max(most, 1 + most_more(present, model_.with(occupancy, p), profile, start + 1));
      present.pop_back();
    }
    return most;
  }

  void compare_what_is_allowed(Placements layout, Occupancy occupancy) const {
    std::vector<ProfileIndex> present;
    for (const mig::Placement& p : layout) present.push_back(p.profile);
    for (std::uint8_t i = 0; i < model_.profiles().size(); ++i) {
      const ProfileIndex profile(i);
      for (unsigned start = 0; start <= static_cast<unsigned>(model_.memory_slices()); ++start) {
        ASSERT_EQ(try_one(profile, start), allowed(layout, occupancy, profile, start))
            << model_.profile(profile).name << "@" << start;
      }
      unsigned remaining = 99;
      ASSERT_EQ(
          NVML(nvmlDeviceGetGpuInstanceRemainingCapacity)(gpu_, ids_.id_of(profile), &remaining),
          nvml::kSuccess);
      ASSERT_EQ(remaining, most_more(present, occupancy, profile, 0))
          << model_.profile(profile).name;
    }
  }

  void walk(std::span<const ProfileIndex> profiles) {
    unsigned seed = kSeed;
    std::size_t layouts = 0;
    mig::for_each_layout(model_, profiles, [&](Placements layout, Occupancy occupancy) {
      if (HasFatalFailure()) return;
      ++layouts;
      random_.seed(++seed);
      SCOPED_TRACE(cat(model_.name(), ": ", text_of(layout), "seed ", seed));
      make(layout);
      ASSERT_EQ(lister_.request("?"), "listing " + expected_listing(layout));
      compare_what_is_allowed(layout, occupancy);
      destroy_in_any_order();
    });
    EXPECT_GE(layouts, 9U);
    EXPECT_EQ(lister_.request("?"), "listing ");
    RecordProperty("layouts", static_cast<int>(layouts));
  }

  const mig::Model& model_;
  Setting setting_;
  Child lister_;  // before the session: it has a mapping of its own
  Session session_;
  nvml::Device gpu_;
  ProfileIds ids_;
  std::mt19937 random_;
  std::vector<Instance> made_;
};

TEST_P(EveryLayout, IsMadeSeenAndDestroyedAndAllowsWhatTheModelAllows) {
  walk(model_.representatives());
}

class EveryLayoutWithEngines : public EveryLayout {};

TEST_P(EveryLayoutWithEngines, IsMadeSeenAndDestroyedAndAllowsWhatTheModelAllows) {
  std::vector<ProfileIndex> all;
  for (std::uint8_t i = 0; i < model_.profiles().size(); ++i) all.emplace_back(i);
  walk(all);
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryLayout, testing::ValuesIn(model_names()), test_name);
INSTANTIATE_TEST_SUITE_P(Catalog, EveryLayoutWithEngines,
                         testing::Values("A30-24GB", "A100-40GB", "RTX-PRO-6000-96GB"), test_name);

}  // namespace
}  // namespace tangram::tests
