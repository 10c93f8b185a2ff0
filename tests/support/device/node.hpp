// For the tests of the device module: an emulated node that lives as long as its test, the
// emulator's control functions, and short forms of frequent steps. A test has one node, in a folder
// of its own, and uses it through the library as Tangram does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <dlfcn.h>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "device/change.hpp"
#include "device/gpus.hpp"
#include "device/instances.hpp"
#include "device/library.hpp"
#include "nvml/control.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::device::testing {

using namespace std::chrono_literals;

using Folder = os::testing::Folder;

// A control function of the emulator, with its type.
#define TANGRAM_CONTROL(name) reinterpret_cast<decltype(&nvml::name)>(control_function(#name))

// For tests, which do not wait for real time: small steps.
inline RetryPolicy fast_retry(std::chrono::milliseconds time = 5s) {
  return {.retry_for = time, .first_wait = 1ms, .longest_wait = 5ms, .stop = {}};
}

class Node {
 public:
  // `description`: a short form ("2xA100-40GB") or the text of a node file.
  explicit Node(const std::string& description) {
    const bool is_file = description.find('\n') != std::string::npos;
    set("TANGRAM_EMULATE", is_file ? folder_.write("node.toml", description) : description);
    set("TANGRAM_EMULATOR_STATE", folder_.at("state"));
    set("TANGRAM_EMULATOR_LATENCY", "0");
    CHECK(emulator_ != nullptr);
    auto opened = Library::open(TANGRAM_EMULATOR_LIBRARY);
    if (!opened) ADD_FAILURE() << opened.error().message;
    CHECK(opened.has_value());
    library_ = *std::move(opened);
  }

  [[nodiscard]] const Library& library() const { return *library_; }
  [[nodiscard]] const std::shared_ptr<const Library>& shared() const { return library_; }
  [[nodiscard]] const Folder& folder() const { return folder_; }

  [[nodiscard]] std::vector<Gpu> gpus() const {
    auto gpus = list_gpus(*library_);
    CHECK(gpus.has_value());
    return *std::move(gpus);
  }
  [[nodiscard]] Gpu gpu(std::size_t index = 0) const { return gpus().at(index); }
  [[nodiscard]] std::vector<Instance> instances(const Gpu& gpu) const {
    auto instances = list_instances(*library_, gpu);
    if (!instances) ADD_FAILURE() << instances.error().error.message;
    return instances.value_or(std::vector<Instance>{});
  }

  void fault(const char* text, unsigned times = 1, int gpu = -1, unsigned percent = 100) const {
    ok(TANGRAM_CONTROL(tangramEmulatorFault)(text, gpu, times, percent));
  }
  // Returns whether a fault is left that was not used up.
  [[nodiscard]] bool has_faults() const {
    unsigned length = 0;
    ok(TANGRAM_CONTROL(tangramEmulatorStatus)(nullptr, &length));
    std::string text(length + 1024, '\0');
    length = static_cast<unsigned>(text.size());
    ok(TANGRAM_CONTROL(tangramEmulatorStatus)(text.data(), &length));
    std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
    return text.find("\"faults\":[]") == std::string::npos;
  }
  void clear_faults() const { ok(TANGRAM_CONTROL(tangramEmulatorClearFaults)()); }
  void fall_off(unsigned gpu) const { ok(TANGRAM_CONTROL(tangramEmulatorFallOff)(gpu)); }
  void reset_gpu(unsigned gpu) const { ok(TANGRAM_CONTROL(tangramEmulatorResetGpu)(gpu)); }
  void reboot() const { ok(TANGRAM_CONTROL(tangramEmulatorReboot)()); }
  void xid(unsigned gpu, unsigned long long xid, unsigned gi, unsigned ci) const {
    ok(TANGRAM_CONTROL(tangramEmulatorXid)(gpu, xid, gi, ci));
  }
  // Registers this process as one that uses a GPU or a MIG device.
  void occupy(const std::string& uuid, unsigned pid = own_pid()) const {
    ok(TANGRAM_CONTROL(tangramEmulatorRegister)(uuid.c_str(), pid, 1'048'576));
  }
  void leave(const std::string& uuid, unsigned pid = own_pid()) const {
    ok(TANGRAM_CONTROL(tangramEmulatorUnregister)(uuid.c_str(), pid));
  }
  void demand(const std::string& uuid, unsigned to_gpu_kbps, unsigned from_gpu_kbps) const {
    ok(TANGRAM_CONTROL(tangramEmulatorDemand)(uuid.c_str(), own_pid(), to_gpu_kbps, from_gpu_kbps));
  }
  static unsigned own_pid() { return static_cast<unsigned>(::getpid()); }

 private:
  static void set(const char* name, const std::string& value) {
    CHECK(::setenv(name, value.c_str(), 1) == 0);
  }
  [[nodiscard]] void* control_function(const char* name) const {
    void* symbol = ::dlsym(emulator_, name);
    CHECK(symbol != nullptr);
    return symbol;
  }
  void ok(nvml::Return code) const {
    if (code != nvml::kSuccess) ADD_FAILURE() << TANGRAM_CONTROL(tangramEmulatorError)();
  }

  Folder folder_;
  // Never unloaded: detached threads of a test may still be running its code.
  void* emulator_ = ::dlopen(TANGRAM_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  std::shared_ptr<const Library> library_;
};

#undef TANGRAM_CONTROL

// "2g.10gb" at 4, as the GPU's own model has it.
inline mig::Placement placement(const Gpu& gpu, std::string_view profile, int start) {
  CHECK(gpu.model != nullptr);
  const auto index = gpu.model->find_profile(profile);
  CHECK(index.has_value());
  const auto found = gpu.model->placement(*index, start);
  CHECK(found.has_value());
  return *found;
}

inline Instance must_create(const Node& node, const Gpu& gpu, std::string_view profile, int start,
                            OwnedInstances& owned) {
  auto made = create(node.library(), gpu, placement(gpu, profile, start), owned, fast_retry());
  if (!made) ADD_FAILURE() << made.error().error.message;
  CHECK(made.has_value());
  return *std::move(made);
}

// Creates a GPU instance without a compute instance, as another program may leave it.
inline void make_half(const Node& node, const Gpu& gpu, std::string_view profile, unsigned start) {
  const auto index = gpu.model->find_profile(profile);
  CHECK(index.has_value());
  const mig::Profile& p = gpu.model->profile(*index);
  const nvml::Placement where{start, static_cast<unsigned>(p.memory_slices)};
  const auto device = node.library().device(gpu.uuid);
  CHECK(device.has_value());
  nvml::GpuInstance gi = nullptr;
  CHECK(node.library().calls().create_gi(*device, static_cast<unsigned>(p.facts.nvml_id), &where,
                                         &gi) == nvml::kSuccess);
}

// A queue of the values that callbacks on other threads deliver.
template <class T>
class Mailbox {
 public:
  void put(T value) {
    const std::scoped_lock lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }
  // Removes and returns the next value. Fails the test (by an exception) if none comes in time.
  T take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 60s, [&] { return !values_.empty(); })) {
      throw std::runtime_error("no callback within 60 s");
    }
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }
  // Waits for a value up to `time`; returns whether there is one. It stays in the queue.
  [[nodiscard]] bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return !values_.empty(); });
  }
  [[nodiscard]] bool is_empty() const {
    const std::scoped_lock lock(mutex_);
    return values_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> values_;
};

}  // namespace tangram::device::testing
