// See cgroups.hpp.
#include "daemon/cgroups.hpp"

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

// Where cgroup v2 is mounted, if it is.
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

// Our own group: the line "0::/path" of /proc/self/cgroup.
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

// Controllers are handed down only by a group without processes of its own: we step aside first.
bool hand_down(const fs::path& from, const char* controller) {
  if (!has_word(from / "cgroup.controllers", controller)) return false;
  const std::string wish = cat("+", controller);
  if (write(from / "cgroup.subtree_control", wish)) return true;
  std::error_code ignored;
  fs::create_directory(from / "tangram.daemon", ignored);
  write(from / "tangram.daemon" / "cgroup.procs", std::to_string(getpid()));
  return write(from / "cgroup.subtree_control", wish);
}

Cgroups use(const fs::path& parent, const std::string& name) {
  Cgroups found;
  const fs::path folder = parent / name;
  std::error_code error;
  fs::create_directory(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0) {
    found.why_not = cat("no control group can be made in ", parent.string(), ": ",
                        error ? error.message() : std::string(std::strerror(errno)));
    return found;
  }
  found.folder = folder.string();
  for (const char* controller : {"cpu", "memory"}) {
    const bool given = hand_down(parent, controller) &&
                       write(folder / "cgroup.subtree_control", cat("+", controller));
    (std::string_view(controller) == "cpu" ? found.cpu : found.memory) = given;
  }
  if (!found.cpu || !found.memory) {
    found.why_not = cat("the controllers cpu and memory are not handed down to ", parent.string());
  }
  return found;
}

}  // namespace

Result<Cgroups> find_cgroups(const std::string& setting, const std::string& node) {
  if (setting == "off") return Cgroups{.why_not = "jobs.cgroup is off in the configuration"};
  if (setting != "auto") {
    Cgroups found = use(setting, cat("tangram.", node));
    if (found.folder.empty()) return failed(cat("jobs.cgroup: ", found.why_not, "."));
    return found;
  }
  const auto mounted = mount_point();
  if (!mounted) return Cgroups{.why_not = "no cgroup v2 hierarchy is mounted"};
  return use(fs::path(*mounted + own_group()), cat("tangram.", node));
}

}  // namespace tangram::daemon
