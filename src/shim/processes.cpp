// See processes.hpp.
#include "shim/processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "api/run_spec.hpp"
#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "shim/cgroup.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

// If a fork bomb outruns this many passes, what was found is killed and the next round continues.
constexpr int kMaxPasses = 32;

// glibc has pidfd_open() and pidfd_send_signal() from 2.36 on; the kernel had them before.
os::Descriptor open_process(pid_t pid) {
  return os::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}
int send(const os::Descriptor& process, int signal) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0));
}

// The pidfd is opened first: if the process still exists afterwards with the same start time, the
// pidfd refers to it.
int signal_verified(const Process& process, int signal) {
  const os::Descriptor handle = open_process(process.pid);
  if (!handle.ok()) return errno;
  const auto now = read_process(process.pid);
  if (!now) return now.error() == ENOENT ? ESRCH : now.error();
  if (now->start_ticks != process.start_ticks) return ESRCH;
  return send(handle, signal) == 0 ? 0 : errno;
}

// Whether the run's processes are all in its cgroup: without the rights of its owner they cannot
// move themselves to another one.
bool is_confined(const RunMark& mark) {
  struct stat status{};
  return !mark.cgroup.empty() && ::stat(mark.cgroup.c_str(), &status) == 0 && mark.uid != 0 &&
         status.st_uid != mark.uid;
}

Result<void> add_tagged(std::set<pid_t>& pids, const RunMark& mark,
                        const std::vector<Process>& table) {
  const std::string assignment = cat(api::kRunTag, "=", mark.tag);
  for (const Process& process : table) {
    if (!process.is_alive || pids.contains(process.pid) || process.pid == ::getpid()) continue;
    const auto is_tagged = has_variable(process.pid, mark.uid, assignment);
    if (!is_tagged) return std::unexpected(is_tagged.error());
    if (*is_tagged) pids.insert(process.pid);
  }
  return {};
}

// Repeats until nothing is added: a child may come before its parent in the table.
void add_descendants(std::set<pid_t>& pids, const std::vector<Process>& table) {
  bool has_grown = true;
  while (has_grown) {
    has_grown = false;
    for (const Process& process : table) {
      if (pids.contains(process.parent) && pids.insert(process.pid).second) has_grown = true;
    }
  }
}

bool same(const Process& a, const Process& b) {
  return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

SignalResult signal_each(const std::vector<Process>& processes, int signal) {
  SignalResult result{.found = processes.size(), .unreachable = {}};
  for (const Process& process : processes) {
    const int code = signal_verified(process, signal);
    if (code != 0 && code != ESRCH) result.unreachable.push_back({process.pid, errno_text(code)});
  }
  return result;
}

KillResult find_remaining(const RunMark& mark, const Result<SignalResult>& round) {
  KillResult result;
  const auto found = processes_of(mark);
  if (!found) {
    result.problem = found.error().message;
    return result;
  }
  for (const Process& process : *found) {
    Unreachable left{process.pid, round ? "killed, but not gone yet" : round.error().message};
    if (round) {
      const auto known = std::ranges::find(round->unreachable, process.pid, &Unreachable::pid);
      if (known != round->unreachable.end()) left = *known;
    }
    result.remaining.push_back(left);
  }
  result.all_gone = result.remaining.empty();
  return result;
}

}  // namespace

Result<std::vector<Process>> processes_of(const RunMark& mark) {
  const auto table = all_processes();
  if (!table) return std::unexpected(table.error());
  std::set<pid_t> pids;
  if (!mark.cgroup.empty()) {
    const auto members = cgroup_members(mark.cgroup);
    if (!members) return std::unexpected(members.error());
    pids.insert(members->begin(), members->end());
  }
  const pid_t self = ::getpid();
  pids.erase(self);
  if (mark.shim > 0) pids.insert(mark.shim);
  add_descendants(pids, *table);
  if (!mark.tag.empty() && !is_confined(mark)) {
    if (auto added = add_tagged(pids, mark, *table); !added) {
      return std::unexpected(added.error());
    }
    add_descendants(pids, *table);
  }
  std::vector<Process> found;
  for (const Process& process : *table) {
    if (process.pid == self || process.pid == mark.shim || !process.is_alive) continue;
    if (pids.contains(process.pid)) found.push_back(process);
  }
  return found;
}

Result<SignalResult> signal_all(const RunMark& mark, int signal) {
  const auto found = processes_of(mark);
  if (!found) return std::unexpected(found.error());
  return signal_each(*found, signal);
}

Result<SignalResult> kill_round(const RunMark& mark) {
  if (!mark.cgroup.empty()) kill_cgroup(mark.cgroup);
  auto found = processes_of(mark);
  if (!found) return std::unexpected(found.error());
  if (found->empty()) return SignalResult{};
  std::vector<Process> stopped;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    std::vector<Process> fresh;
    for (const Process& process : *found) {
      const bool is_known =
          std::ranges::any_of(stopped, [&](const Process& other) { return same(process, other); });
      if (!is_known) fresh.push_back(process);
    }
    if (fresh.empty()) break;
    signal_each(fresh, SIGSTOP);
    stopped.insert(stopped.end(), fresh.begin(), fresh.end());
    found = processes_of(mark);
    if (!found) {
      signal_each(stopped, SIGKILL);
      return std::unexpected(found.error());
    }
  }
  return signal_each(*found, SIGKILL);
}

KillResult kill_all(const RunMark& mark, std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kMaxPause{100};
  const Moment deadline = boot_now() + timeout;
  std::chrono::milliseconds pause{1};
  Result<SignalResult> round = kill_round(mark);
  // Two empty rounds: one pass over /proc can miss a process that forks meanwhile.
  bool was_empty = round && round->found == 0;
  while (boot_now() < deadline) {
    if (!was_empty) std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kMaxPause);
    Result<SignalResult> next = kill_round(mark);
    const bool is_empty = next && next->found == 0;
    if (is_empty && was_empty) return {.all_gone = true, .remaining = {}, .problem = {}};
    was_empty = is_empty;
    if (!is_empty) round = std::move(next);
  }
  return find_remaining(mark, round);
}

}  // namespace tangram::shim
