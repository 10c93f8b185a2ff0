// See library.hpp.
#include "device/library.hpp"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <utility>

#include "base/text.hpp"
#include "nvml/control.hpp"

namespace tangram::device {
namespace {

Error not_loaded(const std::string& path, std::string_view why) {
  return {ErrorCode::kUnavailable,
          cat("cannot load the NVIDIA management library ", quoted(path), ": ", printable(why),
              ". Install the NVIDIA driver, or name its library in TANGRAM_NVML; without a GPU, "
              "`tangram emulate` makes an emulated one.")};
}

}  // namespace

std::string library_path() {
  const char* path = std::getenv("TANGRAM_NVML");
  return path != nullptr && *path != '\0' ? path : "libnvidia-ml.so.1";
}

std::optional<Error> emulated_node_error(const std::string& path) {
  const std::unique_ptr<void, int (*)(void*)> library(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                      ::dlclose);
  if (library == nullptr) return std::nullopt;
  void* const status = ::dlsym(library.get(), "tangramEmulatorStatus");
  void* const error = ::dlsym(library.get(), "tangramEmulatorError");
  if (status == nullptr || error == nullptr) return std::nullopt;
  unsigned length = 0;
  const nvml::Return code =
      reinterpret_cast<decltype(&nvml::tangramEmulatorStatus)>(status)(nullptr, &length);
  if (code == nvml::kSuccess) return std::nullopt;
  return Error{ErrorCode::kInvalid,
               reinterpret_cast<decltype(&nvml::tangramEmulatorError)>(error)()};
}

Library::Library(std::string path, void* handle)
    : path_(std::move(path)), handle_(handle), calls_({.library = handle, .errors = &errors_}) {}

Library::~Library() {
  if (begun_) calls_.shutdown();
  ::dlclose(handle_);
}

Result<std::shared_ptr<const Library>> Library::open(const std::string& path) {
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return std::unexpected(not_loaded(path, why == nullptr ? "unknown error" : why));
  }
  std::shared_ptr<Library> library(new Library(path, handle));
  if (const auto begun = library->begin(); !begun) return std::unexpected(begun.error());
  return library;
}

Result<void> Library::begin() {
  const std::pair<const char*, bool> essential[] = {
      {calls_.init.name(), calls_.init.is_there()},
      {calls_.shutdown.name(), calls_.shutdown.is_there()},
      {calls_.device_count.name(), calls_.device_count.is_there()},
      {calls_.device_by_index.name(), calls_.device_by_index.is_there()},
      {calls_.device_by_uuid.name(), calls_.device_by_uuid.is_there()},
      {calls_.device_uuid.name(), calls_.device_uuid.is_there()},
  };
  for (const auto& [name, is_there] : essential) {
    if (!is_there) return std::unexpected(not_loaded(path_, cat("it has no function ", name)));
  }
  const nvml::Return code = calls_.init();
  if (code != nvml::kSuccess) {
    return std::unexpected(failure_of(code, cat("start ", quoted(path_)), "this machine").error);
  }
  begun_ = true;
  return {};
}

Outcome<std::string> Library::driver_version() const {
  std::array<char, nvml::kVersionBuffer> text{};
  const nvml::Return code = calls_.driver_version(text.data(), nvml::kVersionBuffer);
  if (code != nvml::kSuccess) {
    return std::unexpected(failure_of(code, "read the driver's version", "this machine"));
  }
  text.back() = '\0';
  return std::string(text.data());
}

Outcome<nvml::Device> Library::device(const std::string& gpu_uuid) const {
  nvml::Device device = nullptr;
  const nvml::Return code = calls_.device_by_uuid(gpu_uuid.c_str(), &device);
  if (code == nvml::kSuccess) return device;
  return std::unexpected(failure_of(code, "find the GPU", gpu_uuid));
}

}  // namespace tangram::device
