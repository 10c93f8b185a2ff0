// Descriptions of a node: the one-line form and the node file, every key of it, and errors with
// their line and column.
#include <chrono>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "listing.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;
using testing::HasSubstr;

unsigned gpu_count() {
  unsigned count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetCount_v2)(&count), kSuccess);
  return count;
}

TEST(ShortForm, CountsAndNames) {
  const Node node("2xA100-40GB,A30,3xH100-PCIe-80GB,1xrtx-pro-6000-96gb");
  ASSERT_EQ(gpu_count(), 7U);
  EXPECT_EQ(name_of(gpu(1)), "NVIDIA A100-SXM4-40GB");
  EXPECT_EQ(name_of(gpu(2)), "NVIDIA A30");
  EXPECT_EQ(name_of(gpu(5)), "NVIDIA H100 PCIe");
  EXPECT_EQ(name_of(gpu(6)), "NVIDIA RTX PRO 6000 Blackwell Server Edition");
  for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(mig_mode(gpu(i)).first, 1U);
}

TEST(ShortForm, HasUpToThirtyTwoGpus) {
  const Node node("32xA30");
  EXPECT_EQ(gpu_count(), 32U);
  const Instance last = create(gpu(31), "1g.6gb@3");
  EXPECT_EQ(destroy(last), kSuccess);
}

TEST(ShortForm, MistakesAreRefused) {
  const Setting setting("");
  const std::vector<std::pair<const char*, const char*>> bad = {{"4xA100", "A100-40GB"},
                                                                {"4xV100", "V100"},
                                                                {"0xA30", "0xA30"},
                                                                {"33xA30", "at most 32"},
                                                                {"20xA30,20xA30", "at most 32"},
                                                                {"A30,", "invalid emulated node"},
                                                                {",", "invalid emulated node"},
                                                                {"-1xA30", "-1xA30"},
                                                                {"4 x A30", "4 x A30"},
                                                                {"A30x4", "A30x4"}};
  for (const auto& [form, why] : bad) {
    EXPECT_EQ(NVML(tangramEmulatorReset)(form), nvml::kInvalidArgument) << form;
    EXPECT_THAT(control_error(), HasSubstr(why)) << form;
    EXPECT_THAT(control_error(), HasSubstr("Write COUNTxMODEL")) << form;
  }
  EXPECT_FALSE(setting.folder().has("state"));
}

constexpr const char* kEveryKey = R"(
driver = "580.65.06"
privileges = "owner"
find_processes = false
shared = false

[latency]
create_gpu_instance = 11
create_compute_instance = 12
destroy_compute_instance = 13
destroy_gpu_instance = 14
linger = 15
mig_mode = 16
pcie_throughput = 17

[[gpu]]
model = "A100-40GB"
count = 2
swapped = true
instances = ["3g.20gb@4", "1g.5gb@0"]
link_mbps = 20000
flow_mbps = 12000

[[gpu]]
model = "A30"
mig = false
in_vm = true
)";

TEST(NodeFile, EveryKeyHasItsEffect) {
  const Node node(kEveryKey);
  char text[nvml::kVersionBuffer];
  ASSERT_EQ(NVML(nvmlSystemGetDriverVersion)(text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "580.65.06");
  ASSERT_EQ(NVML(nvmlSystemGetNVMLVersion)(text, sizeof text), kSuccess);
  EXPECT_STREQ(text, "13.580.65.06");
  ASSERT_EQ(gpu_count(), 3U);
  for (const unsigned i : {0U, 1U}) {  // the halves are numbered the other way round
    EXPECT_EQ(to_text(list(gpu(i))), "9@4+4 gi1 [0:0+3] 19@0+1 gi11 [0:0+1]");
  }
  EXPECT_EQ(mig_mode(gpu(2)).first, 0U);
  nvml::Return activation = kSuccess;
  ASSERT_EQ(NVML(nvmlDeviceSetMigMode)(gpu(2), 1, &activation), kSuccess);
  EXPECT_EQ(activation, nvml::kResetRequired);
  const auto state = boost::json::parse(status());
  const auto& first = state.at("gpus").at(0);
  EXPECT_EQ(first.at("link").at("capacity_kbps"), 20'000'000);
  EXPECT_EQ(first.at("link").at("flow_kbps"), 12'000'000);
  EXPECT_EQ(first.at("model"), "A100-40GB");
  EXPECT_EQ(first.at("instances").as_array().size(), 2U);
  EXPECT_EQ(state.at("gpus").at(2).at("mig_pending"), true);
  EXPECT_EQ(state.at("driver"), "580.65.06");
}

template <class Call>
double milliseconds_of(Call&& call) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(call(), kSuccess);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

TEST(NodeFile, LatenciesAreKept) {
  const Node node(kEveryKey, "2");
  Instance made;
  unsigned number = 0;
  nvml::Return activation = kSuccess;
  EXPECT_GE(milliseconds_of([&] { return create_gi(gpu(0), "2g.10gb", 2, made.gi); }), 22);
  EXPECT_GE(milliseconds_of(
                [&] { return NVML(nvmlGpuInstanceCreateComputeInstance)(made.gi, 1, &made.ci); }),
            24);
  EXPECT_GE(milliseconds_of([&] { return NVML(nvmlComputeInstanceDestroy)(made.ci); }), 26);
  EXPECT_GE(milliseconds_of([&] { return NVML(nvmlGpuInstanceDestroy)(made.gi); }), 28);
  EXPECT_GE(milliseconds_of([&] { return NVML(nvmlDeviceSetMigMode)(gpu(0), 1, &activation); }),
            32);
  EXPECT_GE(milliseconds_of([&] { return NVML(nvmlDeviceGetPcieThroughput)(gpu(0), 0, &number); }),
            34);
}

TEST(NodeFile, ResetGivesTheInstancesBack) {
  const Node node(kEveryKey);
  for (const ListedGi& gi : list(gpu(0))) {
    ASSERT_EQ(NVML(nvmlComputeInstanceDestroy)(gi.cis[0].handle), kSuccess);
    ASSERT_EQ(NVML(nvmlGpuInstanceDestroy)(gi.handle), kSuccess);
  }
  EXPECT_EQ(to_text(list(gpu(0))), "");
  ASSERT_EQ(NVML(tangramEmulatorReset)(nullptr), kSuccess);
  EXPECT_EQ(to_text(list(gpu(0))), "9@4+4 gi1 [0:0+3] 19@0+1 gi11 [0:0+1]");
}

struct Mistake {
  const char* text;
  const char* message;  // after the file's name
};

const std::vector<Mistake>& mistakes() {
  static const std::vector<Mistake> all = {
      {"[[gpu]]\nmodel = \"A100-40GB\"\nmode = 1\n", ":3:1: "},
      {"[[gpu]]\nmodel = \"V100\"\n", ":2:9: "},
      {"[[gpu]]\nmodel = \"A100\"\n", ":2:9: "},
      {"[[gpu]]\nmodel = 3\n", ":2:9: "},
      {"[[gpu]]\ncount = 2\n", ":1:1: "},
      {"[[gpu]]\nmodel = \"A30\"\ncount = 0\n", ":3:9: "},
      {"[[gpu]]\nmodel = \"A30\"\ncount = 33\n", ":3:9: "},
      {"[[gpu]]\nmodel = \"A30\"\ncount = 20\n[[gpu]]\nmodel = \"A30\"\ncount = 20\n",
       ":1:1: a node has at most 32 emulated GPUs."},
      {"[[gpu]]\nmodel = \"A30\"\nmig = \"yes\"\n", ":3:7: "},
      {"[[gpu]]\nmodel = \"A30\"\nlink_mbps = 0\n", ":3:13: "},
      {"[[gpu]]\nmodel = \"A30\"\nflow_mbps = -1\n", ":3:13: "},
      {"[[gpu]]\nmodel = \"A30\"\ninstances = [\"1g.6gb\"]\n", ":3:13: "},
      {"[[gpu]]\nmodel = \"A30\"\ninstances = [\"1g.5gb@0\"]\n", ":3:13: "},
      {"[[gpu]]\nmodel = \"A30\"\ninstances = [\"1g.6gb@0\", \"2g.12gb@0\"]\n", ":3:13: "},
      {"[[gpu]]\nmodel = \"A30\"\nmig = false\ninstances = [\"1g.6gb@0\"]\n",
       ":4:13: a GPU with mig = false has no instances."},
      {"driver = \"\"\n[[gpu]]\nmodel = \"A30\"\n", ":1:10: invalid driver version"},
      {"privileges = \"all\"\n[[gpu]]\nmodel = \"A30\"\n", ":1:14: invalid privileges 'all'"},
      {"[latency]\nlinger = -3\n[[gpu]]\nmodel = \"A30\"\n", ":2:10: "},
      {"[latency]\ncreate = 3\n[[gpu]]\nmodel = \"A30\"\n", ":2:1: "},
      {"latency = 3\n[[gpu]]\nmodel = \"A30\"\n", ":1:11: "},
      {"driver = \"570\"\n", ":1:1: "},
      {"gpu = []\n", ":1:7: "},
      {"gpu = 3\n", ":1:7: "},
      {"[[gpu]\nmodel = \"A30\"\n", ":1:"},
  };
  return all;
}

TEST(NodeFile, MistakesAreRefusedWithLineAndColumn) {
  const Setting setting("");
  for (const Mistake& mistake : mistakes()) {
    const std::string path = setting.folder().write("bad.toml", mistake.text);
    EXPECT_EQ(NVML(tangramEmulatorReset)(path.c_str()), nvml::kInvalidArgument) << mistake.text;
    EXPECT_THAT(control_error(), testing::StartsWith(path + mistake.message)) << mistake.text;
  }
  EXPECT_FALSE(setting.folder().has("state"));
}

TEST(NodeFile, ThatCannotBeReadIsRefused) {
  const Setting setting("");
  const std::string none = setting.folder().at("none.toml");
  EXPECT_EQ(NVML(tangramEmulatorReset)(none.c_str()), nvml::kInvalidArgument);
  EXPECT_THAT(control_error(), HasSubstr("none.toml"));
  const std::string large = setting.folder().write(
      "large.toml", "[[gpu]]\nmodel = \"A30\"\n#" + std::string(5000, '.') + "\n");
  EXPECT_EQ(NVML(tangramEmulatorReset)(large.c_str()), nvml::kInvalidArgument);
  EXPECT_THAT(control_error(), HasSubstr("large.toml"));
}

TEST(NodeFile, IsReadBesideItsPathWithoutASlash) {
  const Setting setting("");
  setenv("TANGRAM_EMULATE", "no-such-file.toml", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(NVML(nvmlInit_v2)(), nvml::kDriverNotLoaded);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no-such-file.toml"));
}

}  // namespace
}  // namespace tangram::tests
