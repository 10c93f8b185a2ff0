// Library: the driver's management library, loaded and initialised. It is loaded by path, because
// an emulated one may replace it. The session with the driver ends with the last owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/calls.hpp"
#include "device/failure.hpp"

namespace tangram::device {

// $TANGRAM_NVML if it is set, else the driver's own "libnvidia-ml.so.1".
[[nodiscard]] std::string library_path();

// Why the emulator in the library at `path` cannot emulate the node that the environment describes,
// e.g. because it does not know the model. nullopt: it can, or the library is not an emulator.
[[nodiscard]] std::optional<Error> emulated_node_error(const std::string& path);

// Thread-safe, as NVML is. A process may have several.
class Library {
 public:
  // The error says what failed and what to do: no library, no driver, no GPU, no permission.
  [[nodiscard]] static Result<std::shared_ptr<const Library>> open(const std::string& path);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  Library(Library&&) = delete;
  Library& operator=(Library&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Calls& calls() const { return calls_; }
  [[nodiscard]] std::vector<ErrorCount> errors() const { return errors_.all(); }
  // Errors per call, including calls that never failed.
  [[nodiscard]] std::map<std::string, std::uint64_t> error_totals() const {
    return errors_.totals();
  }

  [[nodiscard]] Outcome<std::string> driver_version() const;
  // The handle of a GPU. Do not keep it: a reset invalidates it.
  [[nodiscard]] Outcome<nvml::Device> device(const std::string& gpu_uuid) const;

 private:
  Library(std::string path, void* handle);
  [[nodiscard]] Result<void> begin();

  std::string path_;
  void* handle_;
  ErrorCounts errors_;
  Calls calls_;
  bool begun_ = false;
};

}  // namespace tangram::device
