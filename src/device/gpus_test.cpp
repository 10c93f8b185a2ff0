// Listing GPUs: models as the driver reports them, MIG modes, lost GPUs.
#include "device/gpus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "device/differences.hpp"
#include "device/prepare.hpp"
#include "mig/catalog.hpp"
#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Node;

std::vector<std::string> names(const mig::Model& model) {
  std::vector<std::string> names;
  for (const mig::Profile& profile : model.profiles()) names.push_back(profile.name);
  std::ranges::sort(names);
  return names;
}

TEST(ListGpus, GivesEveryModelOfTheCatalogItsOwnNames) {
  for (const mig::Model& model : mig::catalog()) {
    const Node node(cat("1x", model.name()));
    const Gpu gpu = node.gpu();
    SCOPED_TRACE(model.name());
    ASSERT_NE(gpu.model, nullptr) << gpu.trouble;
    const bool is_named = !model.spec().device_names.empty();  // known from a real driver
    EXPECT_EQ(gpu.model->name(), is_named ? model.name() : gpu.device_name);
    EXPECT_EQ(gpu.differences.size(), is_named ? 0U : 1U);
    EXPECT_EQ(names(*gpu.model), names(model));
    EXPECT_EQ(gpu.model->compute_slices(), model.compute_slices());
    EXPECT_EQ(gpu.model->memory_slices(), model.memory_slices());
    EXPECT_EQ(gpu.model->state_count(), model.state_count());
    EXPECT_EQ(gpu.mig, MigMode::kOn);
    EXPECT_EQ(gpu.trouble, "");
  }
}

TEST(ListGpus, GivesTheIdentityOfEachGpu) {
  const Node node("2xA100-40GB,1xH100-80GB");
  const auto gpus = node.gpus();
  ASSERT_EQ(gpus.size(), 3U);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(gpus[i].index, i);
    EXPECT_THAT(gpus[i].uuid, ::testing::StartsWith("GPU-"));
    EXPECT_THAT(gpus[i].pci_bus_id, HasSubstr(":"));
  }
  EXPECT_NE(gpus[0].uuid, gpus[1].uuid);
  EXPECT_EQ(gpus[0].device_name, "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(gpus[0].memory_mib, 40960U);
  EXPECT_FALSE(gpus[0].resetless);
  EXPECT_TRUE(gpus[2].resetless);
  EXPECT_EQ(gpus[0].model, gpus[1].model);  // one model for GPUs of a kind
}

TEST(ListGpus, ListsALostGpuAmongTheOthers) {
  const Node node("3xA100-40GB");
  node.fall_off(1);
  const auto gpus = node.gpus();
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[0].health, Health::kOk);
  EXPECT_EQ(gpus[1].health, Health::kLost);
  EXPECT_EQ(gpus[1].index, 1U);
  EXPECT_THAT(gpus[1].trouble, AllOf(HasSubstr("fallen off the bus"), HasSubstr("Xid 79")));
  EXPECT_EQ(gpus[2].health, Health::kOk);
  ASSERT_NE(gpus[2].model, nullptr);
}

TEST(ListGpus, KeepsWhatItKnewWhenAGpuIsLostMeanwhile) {
  const Node node("1xA100-40GB");
  for (const char* fault : {"nvmlDeviceGetMigMode=GPU_IS_LOST", "nvmlDeviceGetName=GPU_IS_LOST",
                            "nvmlDeviceGetGpuInstancePossiblePlacements=GPU_IS_LOST"}) {
    SCOPED_TRACE(fault);
    node.fault(fault);
    const Gpu gpu = node.gpu();
    EXPECT_EQ(gpu.health, Health::kLost);
    EXPECT_THAT(gpu.uuid, ::testing::StartsWith("GPU-"));
    EXPECT_EQ(gpu.model, nullptr);
  }
}

TEST(ListGpus, SaysWhyAGpuCannotBeRead) {
  const Node node("1xA100-40GB");
  node.fault("nvmlDeviceGetHandleByIndex=NO_PERMISSION");
  EXPECT_EQ(node.gpu().health, Health::kUnreadable);
  node.fault("nvmlDeviceGetUUID=UNKNOWN");
  EXPECT_EQ(node.gpu().health, Health::kUnreadable);
  node.fault("nvmlDeviceGetMigMode=UNKNOWN");
  EXPECT_EQ(node.gpu().health, Health::kUnreadable);
  node.fault("nvmlDeviceGetMemoryInfo=NO_PERMISSION");
  const Gpu without_memory = node.gpu();
  EXPECT_EQ(without_memory.model, nullptr);
  EXPECT_THAT(without_memory.trouble, HasSubstr("size of the memory"));
  node.fault("nvmlDeviceGetGpuInstancePossiblePlacements=NO_PERMISSION");
  const Gpu without_placements = node.gpu();
  EXPECT_EQ(without_placements.health, Health::kOk);
  EXPECT_EQ(without_placements.model, nullptr);
  EXPECT_THAT(without_placements.trouble, HasSubstr("Run as root"));
}

TEST(ListGpus, WithoutAnyGpuSaysSo) {
  const Node node("1xA100-40GB");
  node.fault("nvmlDeviceGetCount=GPU_NOT_FOUND");
  const auto gpus = list_gpus(node.library());
  ASSERT_FALSE(gpus.has_value());
  EXPECT_EQ(gpus.error().kind, Failure::Kind::kNotThere);
  EXPECT_THAT(gpus.error().error.message, HasSubstr("no GPU"));
}

TEST(ListGpus, ReadsProfilesWithMigOffWhereTheDriverReportsThem) {
  const Node node("[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\n");
  const Gpu gpu = node.gpu();
  EXPECT_EQ(gpu.mig, MigMode::kOff);
  EXPECT_NE(gpu.model, nullptr) << gpu.trouble;
  node.fault("nvmlDeviceGetGpuInstanceProfileInfo=NOT_SUPPORTED", 0);  // before R550
  EXPECT_EQ(node.gpu().model, nullptr);
  EXPECT_THAT(node.gpu().trouble, HasSubstr("only when MIG is on"));
}

TEST(ListGpus, OfAGpuWithoutMigSaysSo) {
  const Node node("1xA100-40GB");
  node.fault("nvmlDeviceGetMigMode=NOT_SUPPORTED", 0);
  const Gpu gpu = node.gpu();
  EXPECT_EQ(gpu.mig, MigMode::kUnsupported);
  EXPECT_EQ(gpu.health, Health::kOk);
  EXPECT_THAT(gpu.trouble, HasSubstr("does not support MIG"));
}

TEST(ReadGpu, ReadsOneByItsUuid) {
  const Node node("2xA100-40GB");
  const Gpu second = node.gpu(1);
  const auto again = read_gpu(node.library(), second.uuid);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->index, 1U);
  EXPECT_EQ(again->pci_bus_id, second.pci_bus_id);
  const auto none = read_gpu(node.library(), "GPU-none");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, Failure::Kind::kNotThere);
  node.fall_off(1);
  EXPECT_EQ(read_gpu(node.library(), second.uuid).error().kind, Failure::Kind::kLost);
}

TEST(Differences, AreNoneBetweenASpecificationAndItself) {
  for (const mig::ModelSpec& spec : mig::catalog_specs()) {
    EXPECT_THAT(differences(spec, spec), IsEmpty()) << spec.name;
  }
}

TEST(Differences, AreListedOneByOne) {
  const mig::ModelSpec table = (*mig::find_model("A100-40GB"))->spec();
  mig::ModelSpec reported = table;
  reported.profiles[0].starts = {6, 5, 4, 3, 2, 1, 0};  // another order is no difference
  reported.profiles[0].facts.jpeg = mig::kUnknown;      // nor is what one side does not know
  const std::string changed = reported.profiles[1].name;
  reported.profiles[1].starts.pop_back();
  reported.profiles[1].facts.memory_mib = 7;
  const std::string gone = reported.profiles.back().name;
  reported.profiles.back().name = "8g.1gb";
  EXPECT_THAT(
      differences(table, reported),
      ElementsAre(
          cat("A100-40GB: ", changed,
              ": the list of starts is 0, 1, 2, 3, 4 and 5 by the driver, 0, 1, 2, "
              "3, 4, 5 and 6 in the table."),
          cat("A100-40GB: ", changed, ": memory (MiB) is 7 by the driver, 4864 in the table."),
          cat("A100-40GB: ", gone, " is in the table; the driver does not offer it."),
          "A100-40GB: 8g.1gb is offered by the driver; the table lacks it."));
}

}  // namespace
}  // namespace tangram::device
