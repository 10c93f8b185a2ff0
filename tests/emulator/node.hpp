// An emulated node for the length of a test. Setting: a folder with the state file, and the
// environment that names it. Session: one use of the library. Node: both. Latency is 0 unless a
// test is about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "library.hpp"
#include "tests/support/os/folder.hpp"

namespace tangram::tests {

class Setting {
 public:
  // `description`: a short form, or the text of a node file (if it has an '='); empty: none.
  explicit Setting(const std::string& description, const std::string& latency = "0");
  ~Setting();
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  Setting(Setting&&) = delete;
  Setting& operator=(Setting&&) = delete;

  [[nodiscard]] const os::testing::Folder& folder() const { return folder_; }
  [[nodiscard]] std::string state() const { return folder_.at("state"); }
  void describe(const std::string& description) const;

 private:
  os::testing::Folder folder_;
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;
};

class Node : public Setting, public Session {
 public:
  explicit Node(const std::string& description, const std::string& latency = "0")
      : Setting(description, latency) {}
};

[[nodiscard]] nvml::Device gpu(unsigned index);
[[nodiscard]] std::string uuid_of(nvml::Device device);
[[nodiscard]] std::string name_of(nvml::Device device);
// NVML's id of "3g.20gb"; aborts if the GPU has no such profile.
[[nodiscard]] unsigned profile_id(nvml::Device gpu, std::string_view profile);

struct Instance {
  nvml::GpuInstance gi = nullptr;
  nvml::ComputeInstance ci = nullptr;
  nvml::Device mig = nullptr;
  std::string uuid;
};

[[nodiscard]] nvml::Return create_gi(nvml::Device gpu, std::string_view profile, unsigned start,
                                     nvml::GpuInstance& gi);
// Creates "3g.20gb@4" with the compute instance that fills it; aborts if that fails.
[[nodiscard]] Instance create(nvml::Device gpu, std::string_view placement);
// Destroys both, the compute instance first; returns the first error.
[[nodiscard]] nvml::Return destroy(const Instance& instance);

// The error of this thread's last control function.
[[nodiscard]] std::string control_error();
// The JSON of tangramEmulatorStatus.
[[nodiscard]] std::string status();

// A result code as a number, for sending it to another process.
[[nodiscard]] inline std::string code(nvml::Return result) {
  return std::to_string(static_cast<int>(result));
}

// The current and the pending mode.
[[nodiscard]] std::pair<unsigned, unsigned> mig_mode(nvml::Device gpu);

}  // namespace tangram::tests
