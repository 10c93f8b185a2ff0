// See cgroups.hpp.
#include "daemon/runs/cgroups.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <unistd.h>

#include "base/text.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

// Where cgroup v2 is mounted; nullopt if it is not.
std::optional<std::string> mount_point() {
  std::ifstream mounts("/proc/self/mounts");
  std::string device;
  std::string where;
  std::string type;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream(line) >> device >> where >> type;
    if (type == "cgroup2") return where;
  }
  return std::nullopt;
}

// The daemon's own group: the line "0::/path" of /proc/self/cgroup.
std::string own_group() {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::")) return line.substr(3);
  }
  return "/";
}

bool has_word(const fs::path& file, std::string_view word) {
  std::ifstream in(file);
  for (std::string each; in >> each;) {
    if (each == word) return true;
  }
  return false;
}

bool write(const fs::path& file, std::string_view text) {
  std::ofstream out(file);
  out << text << std::flush;
  return out.good();
}

// A group with processes cannot delegate controllers: moves the daemon to a subgroup if necessary.
bool delegate_controller(const fs::path& from, const char* controller) {
  if (!has_word(from / "cgroup.controllers", controller)) return false;
  const std::string line = cat("+", controller);
  if (write(from / "cgroup.subtree_control", line)) return true;
  std::error_code ignored;
  fs::create_directory(from / "tangram.daemon", ignored);
  write(from / "tangram.daemon" / "cgroup.procs", std::to_string(getpid()));
  return write(from / "cgroup.subtree_control", line);
}

Cgroups make_cgroup_in(const fs::path& parent, const std::string& name) {
  Cgroups found;
  const fs::path folder = parent / name;
  std::error_code error;
  fs::create_directory(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0) {
    found.why_not = cat("cannot create a control group in ", parent.string(), ": ",
                        error ? error.message() : std::string(std::strerror(errno)));
    return found;
  }
  found.folder = folder.string();
  for (const char* controller : {"cpu", "memory"}) {
    const bool delegated = delegate_controller(parent, controller) &&
                           write(folder / "cgroup.subtree_control", cat("+", controller));
    (std::string_view(controller) == "cpu" ? found.cpu : found.memory) = delegated;
  }
  if (!found.cpu || !found.memory) {
    found.why_not = cat("the controllers cpu and memory are not delegated to ", parent.string());
  }
  return found;
}

}  // namespace

Result<Cgroups> find_cgroups(const std::string& setting, const std::string& node) {
  if (setting == "off") return Cgroups{.why_not = "jobs.cgroup is off in the configuration"};
  if (setting != "auto") {
    Cgroups found = make_cgroup_in(setting, cat("tangram.", node));
    if (found.folder.empty()) return failed(cat("jobs.cgroup: ", found.why_not, "."));
    return found;
  }
  const auto mounted = mount_point();
  if (!mounted) return Cgroups{.why_not = "no cgroup v2 hierarchy is mounted"};
  return make_cgroup_in(fs::path(*mounted + own_group()), cat("tangram.", node));
}

}  // namespace tangram::daemon
