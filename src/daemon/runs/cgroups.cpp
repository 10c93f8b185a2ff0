// See cgroups.hpp.
#include "daemon/runs/cgroups.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <unistd.h>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/text.hpp"
#include "daemon/runs/systemd_scope.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;

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

bool has_processes(const fs::path& group) {
  std::ifstream members(group / "cgroup.procs");
  return members.peek() != std::ifstream::traits_type::eof();
}

bool is_root(const fs::path& group) { return !fs::exists(group / "cgroup.type"); }

// Moves the daemon from `group` to a subgroup if that may free it for controllers.
void leave(const fs::path& group) {
  if (is_root(group) || !has_word(group / "cgroup.procs", std::to_string(getpid()))) return;
  if (!has_word(group / "cgroup.controllers", "memory")) return;
  std::error_code ignored;
  fs::create_directory(group / "tangram.daemon", ignored);
  write(group / "tangram.daemon" / "cgroup.procs", std::to_string(getpid()));
}

Result<std::string> make_subgroup(const fs::path& parent, const std::string& name) {
  const fs::path folder = parent / name;
  std::error_code error;
  fs::create_directory(folder, error);
  if (!error && access(folder.c_str(), W_OK) == 0) return folder.string();
  return failed(cat("cannot create a cgroup in ", parent.string(), ": ",
                    error ? error.message() : std::string(std::strerror(errno))));
}

Cgroups with_controllers(const std::string& folder, const std::string& parent) {
  const Controllers enabled = enable_controllers(folder);
  Cgroups found{
      .folder = folder, .cpu = enabled.cpu, .memory = enabled.memory, .pids = enabled.pids};
  if (!found.cpu || !found.memory) {
    found.why_not = cat("the controllers cpu and memory are not delegated to ", parent);
  }
  return found;
}

Cgroups make_cgroup_in(const fs::path& parent, const std::string& name) {
  const auto folder = make_subgroup(parent, name);
  if (!folder) return Cgroups{.why_not = folder.error().message};
  leave(parent);
  (void)enable_controllers(parent.string());
  return with_controllers(*folder, parent.string());
}

// For a service of systemd.
Cgroups make_cgroups_of_service(const fs::path& own, const std::string& node,
                                const std::string& shim) {
  auto scope = std::make_shared<SystemdScope>(node, shim);
  Result<std::string> folder = failed("a scope needs systemd and a tangramd that runs as root");
  if (SystemdScope::is_available()) folder = scope->ensure();
  if (folder) {
    Cgroups found = with_controllers(*folder, *folder);
    found.scope = std::move(scope);
    return found;
  }
  spdlog::warn("runs cannot be limited: {}", folder.error().message);
  return Cgroups{.folder = make_subgroup(own, cat("tangram.", node)).value_or(""),
                 .why_not = folder.error().message};
}

}  // namespace

std::optional<std::string> cgroup2_mount_point() {
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

Controllers enable_controllers(const std::string& folder) {
  const fs::path group = folder;
  if (!is_root(group) && has_processes(group)) return {};
  const auto enable = [&](const char* name) {
    return has_word(group / "cgroup.controllers", name) &&
           write(group / "cgroup.subtree_control", cat("+", name));
  };
  return {.cpu = enable("cpu"), .memory = enable("memory"), .pids = enable("pids")};
}

Result<Cgroups> find_cgroups(const std::string& setting, const std::string& node,
                             const std::string& shim) {
  if (setting == "off") return Cgroups{.why_not = "jobs.cgroup is off in the configuration"};
  if (setting != "auto") {
    Cgroups found = make_cgroup_in(setting, cat("tangram.", node));
    if (found.folder.empty()) return failed(cat("jobs.cgroup: ", found.why_not, "."));
    return found;
  }
  const auto mounted = cgroup2_mount_point();
  if (!mounted) return Cgroups{.why_not = "no cgroup v2 hierarchy is mounted"};
  const fs::path own(*mounted + own_group());
  if (getenv("NOTIFY_SOCKET") != nullptr) return make_cgroups_of_service(own, node, shim);
  return make_cgroup_in(own, cat("tangram.", node));
}

}  // namespace tangram::daemon
