// See emulated_library.hpp.
#include "cli/device/emulated_library.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/text.hpp"
#include "os/install_paths.hpp"

namespace tangram::cli {
Result<std::string> emulated_library_folder() {
  auto found = os::emulated_library();
  if (!found) return found;
  return std::filesystem::path(*found).parent_path().string();
}

// No other thread is running yet, so setenv() is safe.
void apply(const EmulatedNode& node) {
  if (!node.node.empty()) setenv("TANGRAM_EMULATE", node.node.c_str(), 1);
  if (!node.state.empty()) setenv("TANGRAM_EMULATOR_STATE", node.state.c_str(), 1);
}

Result<void*> find_control(const char* name) {
  static void* library = nullptr;
  if (library == nullptr) {
    const auto path = os::emulated_library();
    if (!path) return std::unexpected(path.error());
    library = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return failed(cat("cannot load the emulated library: ", dlerror()));
  }
  void* function = dlsym(library, name);
  if (function == nullptr) return failed(cat("the emulated library has no ", name, "."));
  return function;
}

Result<std::string> emulated_status() {
  unsigned length = 0;
  const auto sized = call_control<decltype(nvml::tangramEmulatorStatus)>(
      "tangramEmulatorStatus", static_cast<char*>(nullptr), &length);
  if (!sized) return std::unexpected(sized.error());
  std::string text(length + std::size_t{4096}, '\0');  // it may have grown since
  length = static_cast<unsigned>(text.size());
  const auto read = call_control<decltype(nvml::tangramEmulatorStatus)>("tangramEmulatorStatus",
                                                                        text.data(), &length);
  if (!read) return std::unexpected(read.error());
  text.resize(length - 1);
  return text;
}

Result<std::string> emulated_state_path() {
  const auto status = emulated_status();
  if (!status) return status;
  return std::string(boost::json::parse(*status).at("state").as_string());
}

}  // namespace tangram::cli
