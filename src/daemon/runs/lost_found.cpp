// See lost_found.hpp.
#include "daemon/runs/lost_found.hpp"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/runs/run_folder_gc.hpp"
#include "os/failure.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForm = "%Y%m%dT%H%M%SZ";

Result<void> make_private_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return os::system_failure("create", path, errno);
}

}  // namespace

std::string lost_found_name(store::WallTime time) {
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, kForm, &parts)};
}

std::optional<store::WallTime> parse_lost_found_name(std::string_view name) {
  std::tm parts{};
  const std::string text(name);
  const char* end = strptime(text.c_str(), kForm, &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  const store::WallTime time{std::chrono::seconds(timegm(&parts))};
  return lost_found_name(time) == name ? std::optional(time) : std::nullopt;
}

Result<std::string> move_to_lost_found(const std::string& lost_found, std::string_view kind,
                                       const std::string& from, store::WallTime time) {
  std::string place = lost_found;
  for (const std::string& each : {std::string(), lost_found_name(time), std::string(kind)}) {
    if (!each.empty()) place += cat("/", each);
    if (auto made = make_private_folder(place); !made) return std::unexpected(made.error());
  }
  place += cat("/", fs::path(from).filename().string());
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) != 0) {
    return os::system_failure(cat("move to ", place, " the folder"), from, errno);
  }
  return place;
}

void remove_old_lost_found(const std::string& lost_found, store::WallTime oldest,
                           const std::atomic<bool>& cancelled) {
  std::error_code error;
  if (!fs::exists(lost_found, error)) return;
  for (const std::string& moved : list_folders(lost_found)) {
    const auto time = parse_lost_found_name(fs::path(moved).filename().string());
    if (!time || *time >= oldest) continue;
    // Each folder on its own: it is removed with the rights of its owner.
    for (const std::string& kind : list_folders(moved)) {
      for (const std::string& folder : list_folders(kind)) remove_folder(folder, cancelled);
      static_cast<void>(fs::remove(kind, error));  // fails while something is left
    }
    if (fs::remove(moved, error)) spdlog::info("removed {}: its retention has ended", moved);
  }
}

}  // namespace tangram::daemon
