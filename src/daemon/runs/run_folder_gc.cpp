// See run_folder_gc.hpp.
#include "daemon/runs/run_folder_gc.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <spdlog/spdlog.h>

#include "daemon/runs/checkpoint_folder.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> folders_with_ids(const std::string& parent,
                                          const std::set<std::uint64_t>& ids) {
  std::vector<std::string> folders = list_folders(parent);
  std::erase_if(folders, [&](const std::string& each) { return !ids.contains(id_in_name(each)); });
  return folders;
}

}  // namespace

std::vector<std::string> list_folders(const std::string& parent) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path().string());
  }
  if (error) spdlog::error("cannot read the folder {}: {}", parent, error.message());
  return found;
}

std::uint64_t id_in_name(const std::string& folder) {
  return std::strtoull(fs::path(folder).filename().c_str(), nullptr, 10);
}

void remove_run_folders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!shim::is_shim_running(folder)) fs::remove_all(folder, error);
    if (error) spdlog::error("cannot remove {}: {}", folder, error.message());
  }
}

void remove_trimmed(const std::string& runs, const std::string& checkpoints,
                    const store::RetentionResult& gone) {
  if (!gone.runs.empty())
    remove_run_folders(folders_with_ids(runs, {gone.runs.begin(), gone.runs.end()}));
  if (gone.jobs.empty()) return;
  remove_checkpoints(folders_with_ids(checkpoints, {gone.jobs.begin(), gone.jobs.end()}));
}

}  // namespace tangram::daemon
