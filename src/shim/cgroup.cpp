// See cgroup.hpp.
#include "shim/cgroup.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <linux/magic.h>
#include <sstream>
#include <string_view>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "os/read_file.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

namespace fs = std::filesystem;

// 0, or why it failed.
int write_to(const std::string& path, std::string_view text) {
  const os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.ok()) return errno;
  return ::write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

// The number after `key` in a file of "key number" lines; 0 if there is none.
std::uint64_t number_in(const std::string& path, std::string_view key) {
  const auto text = os::read_file(path, "state of a cgroup", 65'536);
  if (!text) return 0;
  std::istringstream words(*text);
  std::string name;
  std::uint64_t number = 0;
  while (words >> name >> number) {
    if (name == key) return number;
  }
  return 0;
}

// The folder and all cgroups below it, deepest last. `error`: why some may be missing; none if they
// were removed meanwhile.
std::vector<std::string> tree(const std::string& path, std::error_code& error) {
  std::vector<std::string> folders{path};
  for (fs::recursive_directory_iterator at(path, error), end; at != end; at.increment(error)) {
    if (error) break;
    std::error_code gone;
    if (at->is_directory(gone)) folders.push_back(at->path().string());
  }
  if (error == std::errc::no_such_file_or_directory) error.clear();
  return folders;
}

Result<void> limit(const api::RunSpec& spec, std::string_view controller, std::string_view file,
                   const std::string& value) {
  const std::string path = cat(spec.cgroup, "/", file);
  int code = write_to(path, value);
  if (code == ENOENT || code == EACCES) {
    // The parent may not have enabled the controller yet.
    const std::string above = fs::path(spec.cgroup).parent_path().string();
    write_to(above + "/cgroup.subtree_control", cat("+", controller));
    code = write_to(path, value);
  }
  if (code == 0) return {};
  return failed(cat("cannot limit the run by ", tangram::quoted(path), " to ", value, ": ",
                    errno_text(code), ". The cgroup needs the ", controller,
                    " controller of cgroup v2; enable it in the parent folder, or remove the "
                    "limit."));
}

Result<void> make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return system_failure("create the run's cgroup", path, errno);
  }
  struct statfs about{};
  if (::statfs(path.c_str(), &about) != 0 || about.f_type != CGROUP2_SUPER_MAGIC) {
    ::rmdir(path.c_str());
    return failed(cat("cannot use ", tangram::quoted(path),
                      " as the run's cgroup: it is not in a cgroup v2 file system."));
  }
  if (number_in(path + "/cgroup.events", "populated") == 0) return {};
  return failed(cat("cannot use ", tangram::quoted(path),
                    " as the run's cgroup: it already has processes. Use another."));
}

Result<void> set_limits(const api::RunSpec& spec) {
  if (spec.cpu_percent) {
    constexpr std::uint64_t kPeriodUs = 100'000;
    const std::uint64_t quota = *spec.cpu_percent * kPeriodUs / 100;
    if (auto set = limit(spec, "cpu", "cpu.max", cat(quota, " ", kPeriodUs)); !set) return set;
  }
  if (spec.pids_limit) {
    if (auto set = limit(spec, "pids", "pids.max", cat(*spec.pids_limit)); !set) return set;
  }
  if (spec.memory_bytes) return limit(spec, "memory", "memory.max", cat(*spec.memory_bytes));
  return {};
}

}  // namespace

Result<void> make_cgroup(const api::RunSpec& spec) {
  if (spec.cgroup.empty()) {
    if (!spec.cpu_percent && !spec.memory_bytes) return {};
    return failed(
        "cannot limit the CPU or memory of the run: it has no cgroup. Remove the limit, or "
        "configure a cgroup v2 folder for the daemon (jobs.cgroup).");
  }
  if (auto made = make_folder(spec.cgroup); !made) return made;
  auto limited = set_limits(spec);
  if (!limited) remove_cgroup(spec.cgroup);
  return limited;
}

Result<std::vector<pid_t>> cgroup_members(const std::string& path) {
  std::vector<pid_t> members;
  std::error_code error;
  for (const std::string& folder : tree(path, error)) {
    const auto text = os::read_file(folder + "/cgroup.procs", "list of a cgroup", 16U << 20U);
    if (!text && ::access(folder.c_str(), F_OK) != 0 && errno == ENOENT) continue;  // removed
    if (!text) return std::unexpected(text.error());
    std::istringstream words(*text);
    for (pid_t pid = 0; words >> pid;) members.push_back(pid);
  }
  if (error) return system_failure("list the cgroups in", path, error.value());
  return members;
}

bool kill_cgroup(const std::string& path) { return write_to(path + "/cgroup.kill", "1") == 0; }

Result<void> freeze_cgroup(const std::string& path, bool frozen) {
  const std::string file = path + "/cgroup.freeze";
  const int code = write_to(file, frozen ? "1" : "0");
  if (code != 0) return system_failure(frozen ? "freeze by" : "thaw by", file, code);
  return {};
}

bool is_cgroup_frozen(const std::string& path) {
  return number_in(path + "/cgroup.events", "frozen") == 1;
}

std::uint64_t cgroup_oom_kills(const std::string& path) {
  return number_in(path + "/memory.events", "oom_kill");
}

bool remove_cgroup(const std::string& path) {
  std::error_code ignored;  // then rmdir() fails
  std::vector<std::string> folders = tree(path, ignored);
  std::ranges::reverse(folders);
  return std::ranges::all_of(folders, [](const std::string& folder) {
    return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
  });
}

}  // namespace tangram::shim
