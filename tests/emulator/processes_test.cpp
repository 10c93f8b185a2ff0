// Processes on emulated GPUs: real ones, registered or found by their environment. They are listed
// with their instance and block its destruction until they end.
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "child.hpp"
#include "node.hpp"

namespace tangram::tests {
namespace {

using nvml::kSuccess;
using testing::HasSubstr;

std::vector<nvml::ProcessInfo> processes_on(nvml::Device device) {
  unsigned count = 0;
  const auto first = NVML(nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, nullptr);
  if (first == kSuccess) {
    EXPECT_EQ(count, 0U);
    return {};
  }
  EXPECT_EQ(first, nvml::kInsufficientSize);
  std::vector<nvml::ProcessInfo> all(count);
  EXPECT_EQ(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(device, &count, all.data()), kSuccess);
  all.resize(count);
  return all;
}

class Processes : public testing::Test {
 protected:
  Processes() { CHECK(job_.channel().receive() == "here"); }

  nvml::Return enter(const std::string& uuid, unsigned long long memory = 0) {
    return NVML(tangramEmulatorRegister)(uuid.c_str(), job_.pid(), memory);
  }

  Child job_{idle};
};

TEST_F(Processes, AreListedOnTheirInstanceAndOnTheGpu) {
  const Node node("A100-40GB");
  const Instance first = create(gpu(0), "3g.20gb@4");
  const Instance second = create(gpu(0), "3g.20gb@0");
  ASSERT_EQ(enter(first.uuid, 7 << 20), kSuccess);
  ASSERT_EQ(enter(first.uuid, 8 << 20), kSuccess) << "the same again is an update";
  EXPECT_TRUE(processes_on(second.mig).empty());
  for (nvml::Device device : {first.mig, gpu(0)}) {
    const auto all = processes_on(device);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].pid, job_.pid());
    EXPECT_EQ(all[0].used_gpu_memory, 8U << 20U);
    EXPECT_EQ(all[0].gpu_instance_id, 2U);
    EXPECT_EQ(all[0].compute_instance_id, 0U);
  }
  nvml::Memory memory{};
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo)(first.mig, &memory), kSuccess);
  EXPECT_EQ(memory.used, 8U << 20U);
  ASSERT_EQ(NVML(nvmlDeviceGetMemoryInfo)(second.mig, &memory), kSuccess);
  EXPECT_EQ(memory.used, 0U);
}

TEST_F(Processes, OnTheWholeGpuHaveNoInstance) {
  const Node node("[[gpu]]\nmodel = \"A100-40GB\"\nmig = false\n");
  ASSERT_EQ(enter(uuid_of(gpu(0)), 1), kSuccess);
  const auto all = processes_on(gpu(0));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].gpu_instance_id, nvml::kNoInstanceId);
  EXPECT_EQ(all[0].compute_instance_id, nvml::kNoInstanceId);
}

TEST_F(Processes, BlockDestructionUntilTheyEnd) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  ASSERT_EQ(enter(instance.uuid), kSuccess);
  EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(instance.ci), nvml::kInUse);
  EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(instance.gi), nvml::kInUse);
  job_.kill(false);  // a zombie does not count
  EXPECT_TRUE(processes_on(gpu(0)).empty());
  EXPECT_EQ(destroy(instance), kSuccess);
}

TEST_F(Processes, CanBeTakenBack) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  ASSERT_EQ(enter(instance.uuid), kSuccess);
  EXPECT_EQ(NVML(tangramEmulatorUnregister)(instance.uuid.c_str(), job_.pid()), kSuccess);
  EXPECT_EQ(NVML(tangramEmulatorUnregister)(instance.uuid.c_str(), job_.pid()), nvml::kNotFound);
  EXPECT_THAT(control_error(), HasSubstr("is not registered there"));
  EXPECT_EQ(destroy(instance), kSuccess);
}

TEST_F(Processes, MustBeLiveAndOnADevice) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  EXPECT_EQ(NVML(tangramEmulatorRegister)("MIG-nowhere", job_.pid(), 0), nvml::kNotFound);
  EXPECT_EQ(control_error(), "UUID 'MIG-nowhere': no such emulated GPU or MIG device.");
  EXPECT_EQ(NVML(tangramEmulatorRegister)(nullptr, job_.pid(), 0), nvml::kNotFound);
  const unsigned pid = job_.pid();
  job_.kill();
  EXPECT_EQ(NVML(tangramEmulatorRegister)(instance.uuid.c_str(), pid, 0), nvml::kNotFound);
  EXPECT_EQ(control_error(), cat("process ", pid, ": not found."));
}

TEST_F(Processes, AreCountedBeforeTheyAreListed) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  ASSERT_EQ(enter(instance.uuid), kSuccess);
  ASSERT_EQ(
      NVML(tangramEmulatorRegister)(instance.uuid.c_str(), static_cast<unsigned>(getpid()), 0),
      kSuccess);
  unsigned count = 0;
  nvml::ProcessInfo infos[3]{};
  const auto list_processes = [&] {
    return NVML(nvmlDeviceGetComputeRunningProcesses_v3)(instance.mig, &count, infos);
  };
  EXPECT_EQ(list_processes(), nvml::kInsufficientSize);
  EXPECT_EQ(count, 2U);
  count = 1;
  EXPECT_EQ(list_processes(), nvml::kInsufficientSize);
  EXPECT_EQ(infos[0].pid, 0U) << "nothing is written";
  count = 3;
  EXPECT_EQ(list_processes(), kSuccess);
  EXPECT_EQ(count, 2U);
  count = 0;
  EXPECT_EQ(NVML(nvmlDeviceGetGraphicsRunningProcesses_v3)(instance.mig, &count, nullptr),
            kSuccess);
  EXPECT_EQ(NVML(nvmlDeviceGetComputeRunningProcesses_v3)(instance.mig, nullptr, infos),
            nvml::kInvalidArgument);
}

TEST_F(Processes, OfAGpuHaveRoomForSixtyFour) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "7g.40gb@0");
  std::vector<std::unique_ptr<Child>> jobs;
  for (int i = 0; i < 65; ++i) jobs.push_back(std::make_unique<Child>(idle));
  for (std::size_t i = 0; i < 64; ++i) {
    ASSERT_EQ(NVML(tangramEmulatorRegister)(instance.uuid.c_str(), jobs[i]->pid(), 0), kSuccess);
  }
  const auto last = [&] {
    return NVML(tangramEmulatorRegister)(instance.uuid.c_str(), jobs[64]->pid(), 0);
  };
  EXPECT_EQ(last(), nvml::kInsufficientResources);
  EXPECT_EQ(control_error(), "limit of 64 processes per GPU reached.");
  jobs[10]->kill();
  EXPECT_EQ(last(), kSuccess) << "ended processes free their entries";
  EXPECT_EQ(processes_on(gpu(0)).size(), 64U);
}

// Creating the first instance needs an idle GPU; later ones do not.
TEST_F(Processes, KeepTheFirstInstanceFromBeingCreated) {
  const Node node("A100-40GB");
  ASSERT_EQ(enter(uuid_of(gpu(0))), kSuccess);
  nvml::GpuInstance gi = nullptr;
  EXPECT_EQ(create_gi(gpu(0), "1g.5gb", 0, gi), nvml::kInUse);
  job_.kill();
  EXPECT_EQ(create_gi(gpu(0), "1g.5gb", 0, gi), kSuccess);
  ASSERT_EQ(
      NVML(tangramEmulatorRegister)(uuid_of(gpu(0)).c_str(), static_cast<unsigned>(getpid()), 0),
      kSuccess);
  EXPECT_EQ(create_gi(gpu(0), "1g.5gb", 1, gi), kSuccess);
}

// The driver keeps an instance in use for a while after its last process.
TEST_F(Processes, LingerAfterTheirDeath) {
  const Node node(
      "[latency]\nlinger = 1000\ndestroy_gpu_instance = 5\n[[gpu]]\nmodel = \"A100-40GB\"\n", "1");
  const Instance used = create(gpu(0), "3g.20gb@4");
  const Instance unused = create(gpu(0), "3g.20gb@0");
  ASSERT_EQ(enter(used.uuid), kSuccess);
  job_.kill();
  ASSERT_EQ(NVML(nvmlComputeInstanceDestroy)(used.ci), kSuccess);
  EXPECT_EQ(NVML(nvmlGpuInstanceDestroy)(used.gi), nvml::kInUse);
  EXPECT_EQ(destroy(unused), kSuccess) << "it had no process";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  nvml::Return result = nvml::kInUse;
  while (result == nvml::kInUse && std::chrono::steady_clock::now() < end) {
    result = NVML(nvmlGpuInstanceDestroy)(used.gi);  // each try takes its time
  }
  EXPECT_EQ(result, kSuccess);
}

// A process whose environment names its device.
class CudaProcess {
 public:
  explicit CudaProcess(const std::string& devices, const std::string& node = {}) {
    int ready[2];
    CHECK(pipe2(ready, O_CLOEXEC) == 0);
    pid_ = fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      setenv("CUDA_VISIBLE_DEVICES", devices.c_str(), 1);
      if (!node.empty()) setenv("TANGRAM_EMULATOR_STATE", node.c_str(), 1);
      execlp("sleep", "sleep", "600", nullptr);
      _exit(127);
    }
    close(ready[1]);
    char nothing = 0;
    CHECK(read(ready[0], &nothing, 1) == 0);  // exec has closed the other end
    close(ready[0]);
  }
  ~CudaProcess() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  CudaProcess(const CudaProcess&) = delete;
  CudaProcess& operator=(const CudaProcess&) = delete;
  CudaProcess(CudaProcess&&) = delete;
  CudaProcess& operator=(CudaProcess&&) = delete;

  [[nodiscard]] unsigned pid() const { return static_cast<unsigned>(pid_); }

 private:
  pid_t pid_ = 0;
};

TEST(FoundProcesses, AreThoseWhoseEnvironmentNamesAMigDevice) {
  const Node node("find_processes = true\n[[gpu]]\nmodel = \"A100-40GB\"\n");
  const Instance first = create(gpu(0), "3g.20gb@4");
  const Instance second = create(gpu(0), "3g.20gb@0");
  {
    const CudaProcess job(second.uuid);
    EXPECT_TRUE(processes_on(first.mig).empty());
    const auto all = processes_on(gpu(0));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].pid, job.pid());
    EXPECT_EQ(all[0].gpu_instance_id, 1U);
    EXPECT_EQ(NVML(nvmlComputeInstanceDestroy)(second.ci), nvml::kInUse);
    EXPECT_EQ(destroy(first), kSuccess);
  }
  EXPECT_TRUE(processes_on(gpu(0)).empty());
  EXPECT_EQ(destroy(second), kSuccess);
}

// Two nodes of one machine give their devices the same UUIDs.
TEST(FoundProcesses, AreNotThoseOfAnotherNode) {
  const Node node("find_processes = true\n[[gpu]]\nmodel = \"A100-40GB\"\n");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  const CudaProcess theirs(instance.uuid, "/nowhere/another-node");
  EXPECT_TRUE(processes_on(gpu(0)).empty());
  const CudaProcess ours(instance.uuid);
  const auto all = processes_on(gpu(0));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].pid, ours.pid());
}

TEST(FoundProcesses, AreNotLookedForByDefault) {
  const Node node("A100-40GB");
  const Instance instance = create(gpu(0), "3g.20gb@4");
  const CudaProcess job(instance.uuid);
  EXPECT_TRUE(processes_on(gpu(0)).empty());
  EXPECT_EQ(destroy(instance), kSuccess);
}

}  // namespace
}  // namespace tangram::tests
