// See cgroup_processes.hpp.
#include "daemon/runs/cgroup_processes.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

// A group may be removed while it is read.
bool is_gone(const std::error_code& error) { return error == std::errc::no_such_file_or_directory; }

Result<void> add_processes(const fs::path& folder, std::vector<unsigned>& pids) {
  std::ifstream file(folder / "cgroup.procs");
  for (unsigned pid = 0; file >> pid;) pids.push_back(pid);
  std::error_code error;
  const bool exists = fs::exists(folder / "cgroup.procs", error);
  if (!exists || file.eof()) return {};
  return failed(cat("cannot read ", (folder / "cgroup.procs").string(), "."));
}

}  // namespace

std::string cgroup_root() {
  const char* root = std::getenv("TANGRAM_CGROUP_ROOT");  // NOLINT(concurrency-mt-unsafe)
  return root == nullptr ? "/sys/fs/cgroup" : root;
}

Result<std::vector<unsigned>> processes_in_cgroup(const std::string& folder) {
  std::vector<unsigned> pids;
  std::vector<fs::path> groups = {folder};
  while (!groups.empty()) {
    const fs::path group = std::move(groups.back());
    groups.pop_back();
    if (auto ok = add_processes(group, pids); !ok) return std::unexpected(ok.error());
    std::error_code error;
    for (fs::directory_iterator at(group, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      std::error_code gone;
      if (!at->is_symlink(gone) && at->is_directory(gone)) groups.push_back(at->path());
    }
    if (error && !is_gone(error)) {
      return failed(cat("cannot read the cgroup ", group.string(), ": ", error.message(), "."));
    }
  }
  std::ranges::sort(pids);
  return pids;
}

}  // namespace tangram::daemon
