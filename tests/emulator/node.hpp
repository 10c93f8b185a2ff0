// An emulated node for the length of a test: a folder of its own with the state file in it, and the
// environment that leads the library there. Setting is that much; Session is a use of the library;
// Node is both. One rule: latency is 0 unless a test is about it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "files/test_folder.hpp"
#include "library.hpp"

namespace tangram::tests {

class Setting {
 public:
  // A short form, or the text of a node file (told by an '='); empty: no description at all.
  explicit Setting(const std::string& description, const std::string& latency = "0");
  ~Setting();
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  Setting(Setting&&) = delete;
  Setting& operator=(Setting&&) = delete;

  [[nodiscard]] const files::testing::Folder& folder() const { return folder_; }
  [[nodiscard]] std::string state() const { return folder_.at("state"); }
  void describe(const std::string& description) const;

 private:
  files::testing::Folder folder_;
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
// NVML's id of "3g.20gb"; stops at a name that the GPU lacks.
[[nodiscard]] unsigned profile_id(nvml::Device gpu, std::string_view profile);

struct Instance {
  nvml::GpuInstance gi = nullptr;
  nvml::ComputeInstance ci = nullptr;
  nvml::Device mig = nullptr;
  std::string uuid;
};

[[nodiscard]] nvml::Return create_gi(nvml::Device gpu, std::string_view profile, unsigned start,
                                     nvml::GpuInstance& gi);
// "3g.20gb@4" with the compute instance that fills it; stops if it cannot be made.
[[nodiscard]] Instance create(nvml::Device gpu, std::string_view placement);
// Both, the compute instance first; what the first that failed says.
[[nodiscard]] nvml::Return destroy(const Instance& instance);

// What the last door of this thread said.
[[nodiscard]] std::string door_error();
// The answer of tangramEmulatorStatus.
[[nodiscard]] std::string status();

// A result code as a number, to send it to another process.
[[nodiscard]] inline std::string code(nvml::Return result) {
  return std::to_string(static_cast<int>(result));
}

// The mode and the pending one.
[[nodiscard]] std::pair<unsigned, unsigned> mig_mode(nvml::Device gpu);

}  // namespace tangram::tests
