// SystemdScope: the systemd scope tangram-NODE.scope in tangram.slice, in whose cgroup runs get
// theirs. Runs must not be in the cgroup of the daemon's own unit: systemd puts the daemon's next
// process into that cgroup itself, which the kernel refuses (EBUSY) while controllers are enabled
// for subgroups. The scope is delegated to the daemon. Its subgroup "supervisors" holds shims,
// endpoints and one holder, a process that keeps the scope alive as long as the daemon runs. The
// scope outlives the daemon while a run or an endpoint lives; the next daemon joins it.
#pragma once

#include <memory>
#include <string>
#include <sys/types.h>

#include "base/error.hpp"

namespace tangram::daemon {

class SystemdScope {
 public:
  // `node`: the node's name. `shim`: path of tangram-shim, which is also the holder's program.
  SystemdScope(const std::string& node, std::string shim);
  // Ends the holder.
  ~SystemdScope();
  SystemdScope(const SystemdScope&) = delete;
  SystemdScope& operator=(const SystemdScope&) = delete;
  SystemdScope(SystemdScope&&) = delete;
  SystemdScope& operator=(SystemdScope&&) = delete;

  // Whether systemd is running and this process may create scopes.
  [[nodiscard]] static bool is_available();

  // Joins the scope or creates it, unless it still exists, and returns the folder of its cgroup,
  // with controllers enabled for subgroups. Blocks for at most some seconds. Thread-safe.
  [[nodiscard]] Result<std::string> ensure();

  // Moves a shim or endpoint into the scope; if that fails, it stays where it is. Thread-safe.
  void add(pid_t process) const;

 private:
  struct Holder;
  [[nodiscard]] Result<void> join();
  [[nodiscard]] Result<void> enter(pid_t holder) const;

  std::string name_;    // of the unit
  std::string folder_;  // of its cgroup
  std::unique_ptr<Holder> holder_;
};

}  // namespace tangram::daemon
