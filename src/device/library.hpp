// Library: the driver's management library, loaded and initialised. It is found by path, because
// another one (an emulated node) may stand in for the driver's. One rule: whoever has a Library has
// a session with the driver, and the session ends with the last owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "device/calls.hpp"
#include "device/failure.hpp"

namespace tangram::device {

// $TANGRAM_NVML if it is set, else the driver's own "libnvidia-ml.so.1".
[[nodiscard]] std::string library_path();

// Safe to use from several threads, as NVML is. A process may have several at once.
class Library {
 public:
  // The error says what was tried and what to do: no library, no driver, no GPU, no permission.
  [[nodiscard]] static Result<std::shared_ptr<const Library>> open(const std::string& path);

  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  Library(Library&&) = delete;
  Library& operator=(Library&&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Calls& calls() const { return calls_; }
  [[nodiscard]] std::vector<ErrorCount> errors() const { return errors_.all(); }
  // By call, those that never failed too.
  [[nodiscard]] std::map<std::string, std::uint64_t> error_totals() const {
    return errors_.totals();
  }

  [[nodiscard]] Outcome<std::string> driver_version() const;
  // The handle of a GPU. Not kept: handles die with a reset.
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
