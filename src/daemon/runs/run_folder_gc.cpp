// See run_folder_gc.hpp.
#include "daemon/runs/run_folder_gc.hpp"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <set>

#include <spdlog/spdlog.h>

#include "os/remove_tree.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {

namespace fs = std::filesystem;

namespace {

// Of one folder. A user whose processes keep filling it cannot hold up the others for longer.
constexpr std::chrono::minutes kRemoveTime{5};

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return number;
}

std::vector<std::string> folders_with_ids(const std::string& parent,
                                          const std::set<std::uint64_t>& ids) {
  std::vector<std::string> folders = list_folders(parent);
  std::erase_if(folders, [&](const std::string& each) {
    const auto name = name_of_folder(each);
    return !name || !ids.contains(name->id);
  });
  return folders;
}

}  // namespace

std::optional<FolderName> parse_folder_name(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto id = parse_number(name.substr(0, dash));
  const auto time = parse_number(name.substr(dash + 1));
  return id && time ? std::optional(FolderName{*id, *time}) : std::nullopt;
}

std::optional<FolderName> name_of_folder(const std::string& path) {
  return parse_folder_name(fs::path(path).filename().string());
}

std::vector<std::string> list_folders(const std::string& parent) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path().string());
  }
  if (error) spdlog::error("cannot read the folder {}: {}", parent, error.message());
  return found;
}

void remove_folder(const std::string& folder, const std::atomic<bool>& cancelled) {
  const auto until = std::chrono::steady_clock::now() + kRemoveTime;
  const auto removed = os::remove_tree(folder, {.until = until, .cancelled = &cancelled});
  if (!removed) spdlog::error("{}", removed.error().message);
  if (removed && !*removed && !cancelled) {
    spdlog::error("{} is not removed yet: it is too large, or processes keep writing to it",
                  folder);
  }
}

void remove_trimmed(const std::string& runs, const std::string& checkpoints,
                    const store::RetentionResult& gone, const std::atomic<bool>& cancelled) {
  if (!gone.runs.empty()) {
    for (const std::string& each : folders_with_ids(runs, {gone.runs.begin(), gone.runs.end()})) {
      if (!shim::is_shim_running(each)) remove_folder(each, cancelled);
    }
  }
  if (gone.jobs.empty()) return;
  for (const auto& each : folders_with_ids(checkpoints, {gone.jobs.begin(), gone.jobs.end()})) {
    remove_folder(each, cancelled);
  }
}

}  // namespace tangram::daemon
