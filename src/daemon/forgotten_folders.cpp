// See forgotten_folders.hpp.
#include "daemon/forgotten_folders.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <spdlog/spdlog.h>

#include "daemon/checkpoint_folder.hpp"
#include "shim/run_folder.hpp"

namespace tangram::daemon {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> of_numbers(const std::string& below, const std::set<std::uint64_t>& all) {
  std::vector<std::string> folders = folders_below(below);
  std::erase_if(folders, [&](const std::string& each) { return !all.contains(number_of(each)); });
  return folders;
}

}  // namespace

std::vector<std::string> folders_below(const std::string& below) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(below, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path().string());
  }
  if (error) spdlog::error("cannot read the folder {}: {}", below, error.message());
  return found;
}

std::uint64_t number_of(const std::string& folder) {
  return std::strtoull(fs::path(folder).filename().c_str(), nullptr, 10);
}

void remove_dead(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    std::error_code error;
    if (!shim::shim_lives(folder)) fs::remove_all(folder, error);
    if (error) spdlog::error("cannot remove {}: {}", folder, error.message());
  }
}

void remove_forgotten(const std::string& runs, const std::string& checkpoints,
                      const store::Trimmed& gone) {
  if (!gone.runs.empty()) remove_dead(of_numbers(runs, {gone.runs.begin(), gone.runs.end()}));
  if (gone.jobs.empty()) return;
  remove_checkpoints(of_numbers(checkpoints, {gone.jobs.begin(), gone.jobs.end()}));
}

}  // namespace tangram::daemon
