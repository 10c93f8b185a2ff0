// See install_paths.hpp.
#include "os/install_paths.hpp"

#include <array>
#include <filesystem>

#include "base/text.hpp"

namespace tangram::os {

Result<std::string> find_installed(std::string_view built, std::string_view installed) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  std::string name = program.string();
  // After an upgrade the running program's path is marked so; use the new files.
  if (constexpr std::string_view kGone = " (deleted)"; name.ends_with(kGone)) {
    program = name.substr(0, name.size() - kGone.size());
  }
  const std::array<fs::path, 2> paths = {program.parent_path() / built,
                                         program.parent_path().parent_path() / installed};
  for (const fs::path& path : paths) {
    if (fs::exists(path, ignored)) return path.string();
  }
  return not_found(cat(tangram::quoted(paths[0].filename().string()), " not found, neither at ",
                       tangram::quoted(paths[0].string()), " nor at ",
                       tangram::quoted(paths[1].string()), "."));
}

Result<std::string> emulated_library() {
  auto found =
      find_installed("emulator/libnvidia-ml.so.1", "lib/tangram/emulator/libnvidia-ml.so.1");
  if (!found) {
    found.error().message +=
        " Install the package tangram-emulator, or build it: cmake --build <folder> --target "
        "tangram_nvml.";
  }
  return found;
}

}  // namespace tangram::os
