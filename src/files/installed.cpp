// See installed.hpp.
#include "files/installed.hpp"

#include <array>
#include <filesystem>

#include "base/text.hpp"

namespace tangram::files {

Result<std::string> find_installed(std::string_view built, std::string_view installed) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  std::string name = program.string();
  // A program that was replaced while it runs is listed so; its new files are those to use.
  if (constexpr std::string_view kGone = " (deleted)"; name.ends_with(kGone)) {
    program = name.substr(0, name.size() - kGone.size());
  }
  const std::array<fs::path, 2> places = {program.parent_path() / built,
                                          program.parent_path().parent_path() / installed};
  for (const fs::path& place : places) {
    if (fs::exists(place, ignored)) return place.string();
  }
  return not_found(cat(tangram::quoted(places[0].filename().string()), " is neither at ",
                       tangram::quoted(places[0].string()), " nor at ",
                       tangram::quoted(places[1].string()), "."));
}

Result<std::string> emulated_library() {
  auto found =
      find_installed("emulator/libnvidia-ml.so.1", "lib/tangram/emulator/libnvidia-ml.so.1");
  if (!found) {
    found.error().message += " Build it: cmake --build <folder> --target tangram_nvml.";
  }
  return found;
}

}  // namespace tangram::files
