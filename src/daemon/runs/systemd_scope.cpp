// See systemd_scope.hpp.
#include "daemon/runs/systemd_scope.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <mutex>
#include <spawn.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <spdlog/spdlog.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-login.h>

#include "base/text.hpp"
#include "daemon/runs/cgroups.hpp"
#include "os/descriptor.hpp"

namespace tangram::daemon {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr const char* kSlice = "tangram.slice";
constexpr std::chrono::seconds kTimeout{10};
constexpr std::uint64_t kCallTimeoutUs = 10'000'000;
constexpr std::chrono::milliseconds kScopePollInterval{20};

template <auto kRelease>
struct Release {
  template <class T>
  void operator()(T* object) const {
    kRelease(object);
  }
};
using Bus = std::unique_ptr<sd_bus, Release<sd_bus_flush_close_unref>>;
using Message = std::unique_ptr<sd_bus_message, Release<sd_bus_message_unref>>;

struct BusError {
  sd_bus_error error{};  // SD_BUS_ERROR_NULL is C, not C++
  BusError() = default;
  ~BusError() { sd_bus_error_free(&error); }
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  BusError(BusError&&) = delete;
  BusError& operator=(BusError&&) = delete;
};

// The unit of the daemon, e.g. "tangramd.service"; empty if it cannot be determined.
std::string own_unit() {
  char* unit = nullptr;
  if (sd_pid_get_unit(0, &unit) < 0) return {};
  std::string name = unit;
  std::free(unit);  // NOLINT(cppcoreguidelines-no-malloc): allocated by libsystemd
  return name;
}

// TasksMax: the limit is that of each run. Before: at shutdown systemd stops the daemon first, so
// that it does not take the end of its runs for failures.
int append_properties(sd_bus_message* call, const std::string& unit, pid_t pid) {
  int code = sd_bus_message_open_container(call, 'a', "(sv)");
  if (code >= 0) code = sd_bus_message_append(call, "(sv)", "Description", "s", "Runs of Tangram");
  if (code >= 0) code = sd_bus_message_append(call, "(sv)", "Slice", "s", kSlice);
  if (code >= 0) code = sd_bus_message_append(call, "(sv)", "Delegate", "b", 1);
  if (code >= 0) {
    code = sd_bus_message_append(call, "(sv)", "TasksMax", "t",
                                 std::numeric_limits<std::uint64_t>::max());
  }
  if (code >= 0) {
    code = sd_bus_message_append(call, "(sv)", "CollectMode", "s", "inactive-or-failed");
  }
  if (code >= 0 && !unit.empty()) {
    code = sd_bus_message_append(call, "(sv)", "Before", "as", 1, unit.c_str());
  }
  if (code >= 0) {
    code = sd_bus_message_append(call, "(sv)", "PIDs", "au", 1, static_cast<std::uint32_t>(pid));
  }
  if (code >= 0) code = sd_bus_message_close_container(call);
  if (code >= 0) code = sd_bus_message_append(call, "a(sa(sv))", 0);
  return code;
}

// Asks systemd for a scope with the process in it; the scope's cgroup may exist a moment later.
Result<void> start_scope(const std::string& name, pid_t pid) {
  const auto failure = [&](int code) {
    return failed(cat("systemd cannot create ", name, ": ", std::strerror(-code), "."));
  };
  sd_bus* opened = nullptr;
  int code = sd_bus_open_system(&opened);
  if (code < 0) return failed(cat("cannot connect to D-Bus: ", std::strerror(-code), "."));
  const Bus bus(opened);
  sd_bus_message* made = nullptr;
  code = sd_bus_message_new_method_call(bus.get(), &made, "org.freedesktop.systemd1",
                                        "/org/freedesktop/systemd1",
                                        "org.freedesktop.systemd1.Manager", "StartTransientUnit");
  if (code < 0) return failure(code);
  const Message call(made);
  code = sd_bus_message_append(call.get(), "ss", name.c_str(), "fail");
  if (code >= 0) code = append_properties(call.get(), own_unit(), pid);
  if (code < 0) return failure(code);
  BusError error;
  code = sd_bus_call(bus.get(), call.get(), kCallTimeoutUs, &error.error, nullptr);
  if (code >= 0) return {};
  if (error.error.message == nullptr) return failure(code);
  return failed(cat("systemd cannot create ", name, ": ", error.error.message));
}

Result<void> move_to(const std::string& folder, pid_t process) {
  const std::string path = folder + "/cgroup.procs";
  const os::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const std::string text = std::to_string(process);
  if (file.ok() && ::write(file.get(), text.data(), text.size()) > 0) return {};
  return failed(cat("cannot write ", tangram::quoted(path), ": ", std::strerror(errno), "."));
}

// Whether the process is in the scope's cgroup or below.
bool is_in(const std::string& name, pid_t process) {
  std::ifstream groups(cat("/proc/", process, "/cgroup"));
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with("0::") && (line + "/").find(cat("/", name, "/")) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

// A process that waits until its standard input is closed, also by the daemon's death. It is
// reaped with the daemon's other children.
struct SystemdScope::Holder {
  std::mutex mutex;  // of ensure()
  std::string shim;
  os::Descriptor input{-1};  // writing end

  Result<pid_t> start() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      return failed(cat("cannot create a pipe: ", std::strerror(errno), "."));
    }
    const os::Descriptor reading(ends[0]);
    input = os::Descriptor(ends[1]);  // an earlier holder ends
    std::string name = "tangram-shim";
    std::string option = "--hold-scope";
    std::array<char*, 3> arguments = {name.data(), option.data(), nullptr};
    std::array<char*, 1> environment = {nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, reading.get(), 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    pid_t pid = 0;
    const int error = posix_spawn(&pid, shim.c_str(), &actions, &attributes, arguments.data(),
                                  environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (error == 0) return pid;
    return failed(cat("cannot start ", tangram::quoted(shim), ": ", std::strerror(error), "."));
  }
};

SystemdScope::SystemdScope(const std::string& node, std::string shim)
    : name_(cat("tangram-", node, ".scope")),
      folder_(cat(cgroup2_mount_point().value_or(""), "/", kSlice, "/", name_)),
      holder_(std::make_unique<Holder>()) {
  holder_->shim = std::move(shim);
}

SystemdScope::~SystemdScope() = default;

bool SystemdScope::is_available() {
  return geteuid() == 0 && sd_booted() > 0 && cgroup2_mount_point().has_value();
}

Result<std::string> SystemdScope::ensure() {
  const std::scoped_lock lock(holder_->mutex);
  if (holder_->input.ok() && access((folder_ + "/supervisors/cgroup.procs").c_str(), F_OK) == 0) {
    return folder_;
  }
  if (auto joined = join(); !joined) return std::unexpected(joined.error());
  return folder_;
}

// Retries until kTimeout: a scope that is about to end can neither be joined nor created again.
Result<void> SystemdScope::join() {
  const auto until = steady_clock::now() + kTimeout;
  const auto holder = holder_->start();
  if (!holder) return std::unexpected(holder.error());
  Result<void> result;
  bool is_requested = false;
  do {
    const bool is_there = access(folder_.c_str(), F_OK) == 0;
    if (is_there && (!is_requested || is_in(name_, *holder))) {
      result = enter(*holder);
      if (result) return {};
    } else if (!is_requested) {
      result = start_scope(name_, *holder);
      is_requested = result.has_value();
    }
    std::this_thread::sleep_for(kScopePollInterval);
  } while (steady_clock::now() < until);
  holder_->input = os::Descriptor(-1);
  if (!result) return result;
  return failed(cat("systemd created ", name_, ", but there is no cgroup ", folder_, "."));
}

// The scope's own cgroup must have no processes: its subgroups get controllers.
Result<void> SystemdScope::enter(pid_t holder) const {
  std::error_code error;
  const std::string supervisors = folder_ + "/supervisors";
  fs::create_directory(supervisors, error);
  if (error) return failed(cat("cannot create ", supervisors, ": ", error.message(), "."));
  if (auto moved = move_to(supervisors, holder); !moved) return moved;
  (void)enable_controllers(folder_);
  return {};
}

void SystemdScope::add(pid_t process) const {
  if (const auto moved = move_to(folder_ + "/supervisors", process); !moved) {
    spdlog::warn("process {} stays in the cgroup of the daemon: {}", process,
                 moved.error().message);
  }
}

}  // namespace tangram::daemon
