// From a driver's report to a specification: names as nvidia-smi computes them, the catalog's own
// geometry coming back out of a report that mirrors it, and reports that contradict themselves.
#include "mig/reported.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using testing::model;

struct Total {
  const char* model;
  int memory_mib;
};
// What nvidia-smi shows as the GPU's memory.
constexpr Total kWhollyKnown[] = {{"A30-24GB", 24576},
                                  {"A100-40GB", 40960},
                                  {"A100-80GB", 81920},
                                  {"H100-80GB", 81559},
                                  {"RTX-PRO-6000-96GB", 97887}};
constexpr Total kPartlyKnown[] = {{"B200-180GB", 183359}, {"GB200-186GB", 189471}};

ReportedProfile report_of(const Profile& p) {
  ReportedProfile reported{.facts = p.facts,
                           .slice_count = p.compute_slices,
                           .instance_count = p.max_instances,
                           .placements = {}};
  for (const int start : p.starts) reported.placements.push_back({start, p.memory_slices});
  return reported;
}

ReportedGpu report_of(const Model& m, int memory_total_mib) {
  ReportedGpu gpu{
      .device_name = "NVIDIA Test", .memory_total_mib = memory_total_mib, .profiles = {}};
  for (const Profile& p : m.profiles()) gpu.profiles.push_back(report_of(p));
  return gpu;
}

ReportedGpu a100_report() { return report_of(model("A100-40GB"), 40960); }

std::string contradiction(const ReportedGpu& gpu) {
  const Result<ModelSpec> spec = spec_of("reported", gpu);
  if (spec) return "(accepted)";
  EXPECT_EQ(spec.error().code, ErrorCode::kFailed);
  return spec.error().message;
}

const std::string kSelf = "the driver's report of 'NVIDIA Test' contradicts itself: ";

// How many of the model's profiles have a known memory; each must be named as in the catalog.
int named_as_in_catalog(const Total& total) {
  int named = 0;
  for (const Profile& p : model(total.model).profiles()) {
    if (p.facts.memory_mib == kUnknown) continue;
    EXPECT_EQ(profile_name(report_of(p), total.memory_mib), p.name) << total.model;
    ++named;
  }
  return named;
}

TEST(ProfileName, IsTheCatalogsForEveryKnownMemory) {
  int named = 0;
  for (const Total& total : kWhollyKnown) named += named_as_in_catalog(total);
  EXPECT_EQ(named, 5 + 7 + 7 + 7 + 11);
  for (const Total& total : kPartlyKnown) EXPECT_EQ(named_as_in_catalog(total), 4) << total.model;
}

TEST(SpecOf, GivesTheCatalogsGeometryBack) {
  for (const Total& total : kWhollyKnown) {
    const Model& m = model(total.model);
    const Result<ModelSpec> spec = spec_of(m.name(), report_of(m, total.memory_mib));
    ASSERT_TRUE(spec.has_value()) << spec.error().message;
    ModelSpec expected = m.spec();
    expected.device_names = {"NVIDIA Test"};
    EXPECT_EQ(*spec, expected) << m.name();
    EXPECT_TRUE(Model::build(*spec).has_value());
  }
}

// The A30's driver reports wrong instance counts; geometry says how many there can be.
TEST(SpecOf, ToleratesWrongInstanceCounts) {
  ReportedGpu gpu = report_of(model("A30-24GB"), 24576);
  for (ReportedProfile& p : gpu.profiles) p.instance_count = 0;
  const Result<ModelSpec> spec = spec_of("A30-24GB", gpu);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->profiles, model("A30-24GB").spec().profiles);
}

TEST(SpecOf, SkipsProfilesWithoutPlacements) {
  ReportedGpu gpu = a100_report();
  gpu.profiles[2].placements.clear();
  const Result<ModelSpec> spec = spec_of("reported", gpu);
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->profiles.size(), gpu.profiles.size() - 1);
}

TEST(SpecOf, RefusesAnImpossibleMemory) {
  ReportedGpu gpu = a100_report();
  gpu.memory_total_mib = 0;
  EXPECT_EQ(contradiction(gpu), kSelf + "its memory is 0 MiB.");
  gpu.memory_total_mib = -5;
  EXPECT_EQ(contradiction(gpu), kSelf + "its memory is -5 MiB.");
  gpu.memory_total_mib = std::numeric_limits<int>::max();
  EXPECT_EQ(contradiction(gpu), kSelf + "its memory is 2147483647 MiB.");
}

TEST(SpecOf, RefusesAProfileWithImpossibleMemory) {
  ReportedGpu gpu = a100_report();
  gpu.profiles[3].facts.memory_mib = 40961;
  EXPECT_EQ(contradiction(gpu), kSelf + "profile 14 has memory 40961 MiB.");
  gpu.profiles[3].facts.memory_mib = kUnknown;
  EXPECT_EQ(contradiction(gpu), kSelf + "profile 14 has memory -1 MiB.");
  gpu.profiles[3].facts.memory_mib = 0;
  EXPECT_EQ(contradiction(gpu), kSelf + "profile 14 has memory 0 MiB.");
}

TEST(SpecOf, RefusesPlacementsOfUnlikeSize) {
  ReportedGpu gpu = a100_report();
  gpu.profiles[3].placements[1].size = 3;
  EXPECT_EQ(contradiction(gpu), kSelf + "2g.10gb has placements of size 2 and 3.");
}

TEST(SpecOf, RefusesPlacementsNoGpuCanHave) {
  ReportedGpu gpu = a100_report();
  gpu.profiles[0].placements = {{std::numeric_limits<int>::max(), 1}};
  EXPECT_EQ(contradiction(gpu),
            kSelf +
                "1g.5gb has a placement of size 1 at 2147483647; a GPU has at most 16 memory "
                "slices.");
  gpu.profiles[0].placements = {{0, std::numeric_limits<int>::max()}};
  EXPECT_EQ(contradiction(gpu),
            kSelf +
                "1g.5gb has a placement of size 2147483647 at 0; a GPU has at most 16 memory "
                "slices.");
  gpu.profiles[0].placements = {{-1, 1}};
  EXPECT_EQ(contradiction(gpu),
            kSelf + "1g.5gb has a placement of size 1 at -1; a GPU has at most 16 memory slices.");
}

TEST(SpecOf, RefusesAGpuWithoutProfiles) {
  ReportedGpu gpu = a100_report();
  gpu.profiles.clear();
  EXPECT_EQ(contradiction(gpu), kSelf + "it offers no GPU instance profile.");
}

}  // namespace
}  // namespace tangram::mig
