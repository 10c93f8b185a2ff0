// Loading the library: missing, not NVML, without a driver, twice; and its error counts.
#include "device/library.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/device/node.hpp"

namespace tangram::device {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Node;

TEST(Library, ThatIsNotThereSaysWhatToDo) {
  const auto library = Library::open("/nowhere/libnvidia-ml.so.1");
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(library.error().message,
              AllOf(HasSubstr("'/nowhere/libnvidia-ml.so.1'"), HasSubstr("No such file"),
                    HasSubstr("TANGRAM_NVML"), HasSubstr("tangram emulate")));
}

TEST(Library, OfSomethingElseIsRefused) {
  const auto library = Library::open("libm.so.6");
  ASSERT_FALSE(library.has_value());
  EXPECT_THAT(library.error().message, HasSubstr("it has no function nvmlInit_v2"));
}

TEST(Library, WithoutADriverSaysSo) {
  ::setenv("TANGRAM_EMULATE", "no such model", 1);
  const testing::Folder folder;
  ::setenv("TANGRAM_EMULATOR_STATE", folder.at("s").c_str(), 1);
  const auto library = Library::open(TANGRAM_EMULATOR_LIBRARY);
  ASSERT_FALSE(library.has_value());
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(library.error().message,
              AllOf(HasSubstr("driver is not loaded"), HasSubstr("modprobe")));
}

TEST(Library, AnEmulatedNodeThatCannotBeIsNamed) {
  const testing::Folder folder;
  ::setenv("TANGRAM_EMULATOR_STATE", folder.at("s").c_str(), 1);
  ::setenv("TANGRAM_EMULATE", "1xFOO", 1);
  const auto unknown = emulated_node_error(TANGRAM_EMULATOR_LIBRARY);
  ASSERT_TRUE(unknown.has_value());
  EXPECT_THAT(unknown->message,
              AllOf(HasSubstr("'FOO'"), HasSubstr("Known models: "), HasSubstr("A100-40GB")));
  ::setenv("TANGRAM_EMULATE", "1xA100-40GB", 1);
  EXPECT_FALSE(emulated_node_error(TANGRAM_EMULATOR_LIBRARY).has_value());
  EXPECT_FALSE(emulated_node_error("libm.so.6").has_value());
  EXPECT_FALSE(emulated_node_error("/no/such/library.so").has_value());
}

TEST(Library, PathComesFromTheEnvironmentOrIsTheDrivers) {
  ::unsetenv("TANGRAM_NVML");
  EXPECT_EQ(library_path(), "libnvidia-ml.so.1");
  ::setenv("TANGRAM_NVML", "/some/where.so", 1);
  EXPECT_EQ(library_path(), "/some/where.so");
  ::unsetenv("TANGRAM_NVML");
}

TEST(Library, MayBeOpenedTwice) {
  const Node node("1xA100-40GB");
  {
    const auto second = Library::open(TANGRAM_EMULATOR_LIBRARY);
    ASSERT_TRUE(second.has_value()) << second.error().message;
    EXPECT_EQ(list_gpus(**second)->size(), 1U);
  }
  EXPECT_EQ(node.gpus().size(), 1U);  // the first session goes on
}

TEST(Library, ReportsTheDriversVersion) {
  const Node node("1xA100-40GB");
  const auto version = node.library().driver_version();
  ASSERT_TRUE(version.has_value());
  EXPECT_THAT(*version, HasSubstr("."));
}

TEST(Library, CountsErrorsByCallAndCode) {
  const Node node("1xA100-40GB");
  const Gpu gpu = node.gpu();
  ASSERT_TRUE(node.instances(gpu).empty());
  EXPECT_TRUE(node.library().errors().empty());  // "not on this GPU" and "none" are answers
  EXPECT_EQ(node.library().error_totals().at("nvmlDeviceGetGpuInstances"), 0U);
  node.fault("nvmlDeviceGetGpuInstances=UNKNOWN", 2);
  EXPECT_FALSE(list_instances(node.library(), gpu).has_value());
  EXPECT_FALSE(list_instances(node.library(), gpu).has_value());
  const auto errors = node.library().errors();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].call, "nvmlDeviceGetGpuInstances");
  EXPECT_EQ(errors[0].code, nvml::kUnknown);
  EXPECT_EQ(errors[0].count, 2U);
  EXPECT_EQ(node.library().error_totals().at("nvmlDeviceGetGpuInstances"), 2U);
}

TEST(Library, WithoutAFunctionSaysThatTheDriverIsTooOld) {
  ErrorCounts errors;
  const Call<decltype(nvml::nvmlShutdown)> call(Symbols{.library = nullptr, .errors = &errors},
                                                "nvmlNoSuchFunction");
  EXPECT_FALSE(call.is_there());
  EXPECT_EQ(call(), nvml::kFunctionNotFound);
  const Failure failure = failure_of(call(), "do it", "GPU-1");
  EXPECT_EQ(failure.kind, Failure::Kind::kUnsupported);
  EXPECT_THAT(failure.error.message, HasSubstr("too old"));
}

TEST(Failure, SaysWhatWasTriedOnWhatWhyAndWhatToDo) {
  const Failure failure = failure_of(nvml::kNoPermission, "create 2g.10gb@4", "GPU-1");
  EXPECT_EQ(failure.kind, Failure::Kind::kNoPermission);
  EXPECT_EQ(failure.error.message,
            "cannot create 2g.10gb@4 on GPU-1: no permission (NVML: NO_PERMISSION). Run as root, "
            "or give this user read access to /proc/driver/nvidia/capabilities/mig/config.");
  EXPECT_EQ(failure_of(nvml::kGpuIsLost, "x", "y").kind, Failure::Kind::kLost);
  EXPECT_EQ(failure_of(nvml::kInUse, "x", "y").error.code, ErrorCode::kUnavailable);
}

TEST(Failure, OfAnUnknownCodeShowsItsNumber) {
  const Failure failure = failure_of(static_cast<nvml::Return>(77), "x", "y");
  EXPECT_EQ(failure.kind, Failure::Kind::kFailed);
  EXPECT_THAT(failure.error.message, HasSubstr("(NVML: 77)"));
}

TEST(Failure, NamesHolders) {
  EXPECT_EQ(names_of({}), "a process that the driver does not list");
  EXPECT_EQ(names_of({{.pid = 1, .name = "a\x1b", .gi = {}}, {.pid = 2, .name = "", .gi = {}}}),
            "a\\x1b (pid 1) and pid 2");
}

}  // namespace
}  // namespace tangram::device
