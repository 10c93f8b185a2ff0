// The built-in tables, written down a second time: names, counts and placements as NVIDIA's user
// guide and nvidia-smi list them. An error in a table shows here as a difference.
#include "mig/catalog.hpp"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/mig/models.hpp"

namespace tangram::mig {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::model;

// "1g.5gb×7 1g.5gb+me×1 …": every profile with the most instances of it.
std::string offer(const Model& m) {
  std::string out;
  for (const Profile& p : m.profiles()) {
    out += (out.empty() ? "" : " ") + p.name + "×" + std::to_string(p.max_instances);
  }
  return out;
}

TEST(Catalog, OffersTheseProfiles) {
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"A30-24GB", "1g.6gb×4 1g.6gb+me×1 2g.12gb×2 2g.12gb+me×1 4g.24gb×1"},
      {"A100-40GB", "1g.5gb×7 1g.5gb+me×1 1g.10gb×4 2g.10gb×3 3g.20gb×2 4g.20gb×1 7g.40gb×1"},
      {"A100-80GB", "1g.10gb×7 1g.10gb+me×1 1g.20gb×4 2g.20gb×3 3g.40gb×2 4g.40gb×1 7g.80gb×1"},
      {"H100-80GB", "1g.10gb×7 1g.10gb+me×1 1g.20gb×4 2g.20gb×3 3g.40gb×2 4g.40gb×1 7g.80gb×1"},
      {"H100-PCIe-80GB",
       "1g.10gb×7 1g.10gb+me×1 1g.20gb×4 2g.20gb×3 3g.40gb×2 4g.40gb×1 7g.80gb×1"},
      {"H100-NVL-94GB", "1g.12gb×7 1g.12gb+me×1 1g.24gb×4 2g.24gb×3 3g.47gb×2 4g.47gb×1 7g.94gb×1"},
      {"GH200-96GB", "1g.12gb×7 1g.12gb+me×1 1g.24gb×4 2g.24gb×3 3g.48gb×2 4g.48gb×1 7g.96gb×1"},
      {"H200-141GB", "1g.18gb×7 1g.18gb+me×1 1g.35gb×4 2g.35gb×3 3g.71gb×2 4g.71gb×1 7g.141gb×1"},
      {"GH200-144GB", "1g.18gb×7 1g.18gb+me×1 1g.36gb×4 2g.36gb×3 3g.72gb×2 4g.72gb×1 7g.144gb×1"},
      {"H20-96GB", "1g.12gb×7 1g.12gb+me×1 1g.24gb×4 2g.24gb×3 3g.48gb×2 4g.48gb×1 7g.96gb×1"},
      {"B200-180GB", "1g.23gb×7 1g.23gb+me×1 1g.45gb×4 2g.45gb×3 3g.90gb×2 4g.90gb×1 7g.180gb×1"},
      {"GB200-186GB", "1g.23gb×7 1g.23gb+me×1 1g.47gb×4 2g.47gb×3 3g.93gb×2 4g.93gb×1 7g.186gb×1"},
      {"B300-269GB", "1g.34gb×7 1g.34gb+me×1 1g.67gb×4 2g.67gb×3 3g.135gb×2 4g.135gb×1 7g.269gb×1"},
      {"GB300-278GB",
       "1g.35gb×7 1g.35gb+me×1 1g.70gb×4 2g.70gb×3 3g.139gb×2 4g.139gb×1 7g.278gb×1"},
      {"RTX-PRO-6000-96GB",
       "1g.24gb×4 1g.24gb+me×1 1g.24gb+gfx×4 1g.24gb+me.all×1 1g.24gb-me×4 2g.48gb×2 "
       "2g.48gb+gfx×2 2g.48gb+me.all×1 2g.48gb-me×2 4g.96gb×1 4g.96gb+gfx×1"},
  };
  std::vector<std::pair<std::string, std::string>> offered;
  for (const Model& m : catalog()) offered.emplace_back(m.name(), offer(m));
  EXPECT_THAT(offered, ::testing::UnorderedElementsAreArray(expected));
}

TEST(Catalog, MarksExactlyTheseAsInferred) {
  std::set<std::string> inferred;
  for (const Model& m : catalog()) {
    if (m.spec().inferred) inferred.insert(m.name());
  }
  EXPECT_THAT(inferred, ElementsAre("B200-180GB", "B300-269GB", "GB200-186GB", "GB300-278GB",
                                    "GH200-144GB", "H20-96GB"));
}

// Compute slices, size and starts by the profile's place in the list.
struct Shape {
  int compute;
  int size;
  std::vector<int> starts;

  friend bool operator==(const Shape&, const Shape&) = default;
};

std::vector<Shape> shapes_of(const Model& m) {
  std::vector<Shape> shapes;
  for (const Profile& p : m.profiles()) {
    shapes.push_back({p.compute_slices, p.memory_slices, p.starts});
  }
  return shapes;
}

TEST(Catalog, GpusWithSevenSlicesShareOneGeometry) {
  const std::vector<int> every = {0, 1, 2, 3, 4, 5, 6};
  const std::vector<Shape> shapes = {{1, 1, every},     {1, 1, every},  {1, 2, {0, 2, 4, 6}},
                                     {2, 2, {0, 2, 4}}, {3, 4, {0, 4}}, {4, 4, {0}},
                                     {7, 8, {0}}};
  int models = 0;
  for (const Model& m : catalog()) {
    if (m.compute_slices() != 7) continue;
    EXPECT_EQ(m.memory_slices(), 8) << m.name();
    EXPECT_EQ(shapes_of(m), shapes) << m.name();
    EXPECT_EQ(m.geometry_count(), 6) << m.name();
    ++models;
  }
  EXPECT_EQ(models, 13);
}

TEST(Catalog, A30HasFourSlices) {
  const Model& m = model("A30-24GB");
  const std::vector<int> every = {0, 1, 2, 3};
  EXPECT_EQ(m.compute_slices(), 4);
  EXPECT_EQ(m.memory_slices(), 4);
  EXPECT_EQ(m.geometry_count(), 3);
  EXPECT_EQ(shapes_of(m),
            (std::vector<Shape>{
                {1, 1, every}, {1, 1, every}, {2, 2, {0, 2}}, {2, 2, {0, 2}}, {4, 4, {0}}}));
}

TEST(Catalog, RtxPro6000CountsTwelveMemorySlices) {
  const Model& m = model("RTX-PRO-6000-96GB");
  EXPECT_EQ(m.compute_slices(), 4);
  EXPECT_EQ(m.memory_slices(), 12);
  EXPECT_EQ(m.geometry_count(), 3);
  for (const Profile& p : m.profiles()) {
    const std::map<char, Shape> expected = {
        {'1', {1, 3, {0, 3, 6, 9}}}, {'2', {2, 6, {0, 6}}}, {'4', {4, 12, {0}}}};
    EXPECT_EQ((Shape{p.compute_slices, p.memory_slices, p.starts}), expected.at(p.name.front()))
        << p.name;
  }
}

// A number that names a profile to NVML names one profile of the model.
TEST(Catalog, NvmlNumbersAreGivenOnce) {
  for (const Model& m : catalog()) {
    std::set<int> ids;
    std::set<int> enums;
    for (const Profile& p : m.profiles()) {
      const ProfileFacts& f = p.facts;
      EXPECT_TRUE(f.nvml_id == kUnknown || ids.insert(f.nvml_id).second) << m.name() << p.name;
      EXPECT_TRUE(f.nvml_enum == kUnknown || enums.insert(f.nvml_enum).second)
          << m.name() << p.name;
    }
  }
}

TEST(FindModel, GoesByNameInAnyCase) {
  for (const Model& m : catalog()) {
    std::string lower = m.name();
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    EXPECT_EQ(*find_model(m.name()), &m);
    EXPECT_EQ(*find_model(lower), &m);
  }
  EXPECT_EQ(*find_model("RTX-pro-6000-96gB"), &model("RTX-PRO-6000-96GB"));
}

TEST(FindModel, GoesByDeviceName) {
  const std::map<std::string, std::string> devices = {
      {"NVIDIA A30", "A30-24GB"},
      {"NVIDIA A100-SXM4-40GB", "A100-40GB"},
      {"NVIDIA A100-PCIE-40GB", "A100-40GB"},
      {"NVIDIA A100-SXM4-80GB", "A100-80GB"},
      {"NVIDIA A100 80GB PCIe", "A100-80GB"},
      {"NVIDIA H100 80GB HBM3", "H100-80GB"},
      {"NVIDIA H100 PCIe", "H100-PCIe-80GB"},
      {"NVIDIA H100 NVL", "H100-NVL-94GB"},
      {"NVIDIA H200", "H200-141GB"},
      {"NVIDIA B200", "B200-180GB"},
      {"NVIDIA GB200", "GB200-186GB"},
      {"NVIDIA GB300", "GB300-278GB"},
      {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000-96GB"},
  };
  std::size_t known = 0;
  for (const Model& m : catalog()) known += m.spec().device_names.size();
  EXPECT_EQ(known, devices.size());
  for (const auto& [device, name] : devices) EXPECT_EQ(*find_model(device), &model(name)) << device;
}

TEST(FindModel, SuggestsTheNearest) {
  const Result<const Model*> found = find_model("A100-40");
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(found.error().message,
              HasSubstr("unknown GPU model 'A100-40'; did you mean A100-40GB? Known models: "));
  EXPECT_THAT(find_model("h200").error().message, HasSubstr("did you mean H200-141GB?"));
}

TEST(FindModel, ListsAllWhenNothingIsNear) {
  const std::string message = find_model("quantum").error().message;
  EXPECT_THAT(message, HasSubstr("unknown GPU model 'quantum'. Known models: A30-24GB, "));
  for (const Model& m : catalog()) EXPECT_THAT(message, HasSubstr(m.name()));
}

}  // namespace
}  // namespace tangram::mig
