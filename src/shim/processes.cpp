// See processes.hpp.
#include "shim/processes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

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
  const auto now = find_process(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return ESRCH;
  return send(handle, signal) == 0 ? 0 : errno;
}

std::set<pid_t> find_marked(const RunMark& mark, const std::vector<Process>& table) {
  std::set<pid_t> pids;
  if (!mark.cgroup.empty()) {
    for (const pid_t pid : cgroup_members(mark.cgroup)) pids.insert(pid);
  }
  if (mark.tag.empty()) return pids;
  const std::string assignment = cat(api::kRunTag, "=", mark.tag);
  for (const Process& process : table) {
    if (!process.is_alive || pids.contains(process.pid)) continue;
    if (has_variable(process.pid, assignment)) pids.insert(process.pid);
  }
  return pids;
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

KillResult find_remaining(const RunMark& mark, const std::vector<Unreachable>& unreachable) {
  KillResult result;
  for (const Process& process : processes_of(mark)) {
    const auto found = std::ranges::find(unreachable, process.pid, &Unreachable::pid);
    result.remaining.push_back(
        found != unreachable.end() ? *found : Unreachable{process.pid, "killed, but not gone yet"});
  }
  result.all_gone = result.remaining.empty();
  return result;
}

}  // namespace

std::vector<Process> processes_of(const RunMark& mark) {
  const std::vector<Process> table = all_processes();
  std::set<pid_t> pids = find_marked(mark, table);
  const pid_t self = ::getpid();
  pids.erase(self);  // the caller may have the same tag in its environment
  if (mark.shim > 0) pids.insert(mark.shim);
  add_descendants(pids, table);
  if (mark.shim != self) pids.erase(self);
  std::vector<Process> found;
  for (const Process& process : table) {
    if (process.pid == self || process.pid == mark.shim || !process.is_alive) continue;
    if (pids.contains(process.pid)) found.push_back(process);
  }
  return found;
}

SignalResult signal_all(const RunMark& mark, int signal) {
  return signal_each(processes_of(mark), signal);
}

SignalResult kill_round(const RunMark& mark) {
  if (!mark.cgroup.empty()) kill_cgroup(mark.cgroup);
  std::vector<Process> found = processes_of(mark);
  if (found.empty()) return {};
  std::vector<Process> stopped;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    std::vector<Process> fresh;
    for (const Process& process : found) {
      const bool is_known =
          std::ranges::any_of(stopped, [&](const Process& other) { return same(process, other); });
      if (!is_known) fresh.push_back(process);
    }
    if (fresh.empty()) break;
    signal_each(fresh, SIGSTOP);
    stopped.insert(stopped.end(), fresh.begin(), fresh.end());
    found = processes_of(mark);
  }
  return signal_each(found, SIGKILL);
}

KillResult kill_all(const RunMark& mark, std::chrono::milliseconds timeout) {
  constexpr std::chrono::milliseconds kMaxPause{100};
  const Moment deadline = boot_now() + timeout;
  std::chrono::milliseconds pause{1};
  SignalResult round = kill_round(mark);
  // Two empty rounds: one pass over /proc can miss a process that forks meanwhile.
  bool was_empty = round.found == 0;
  while (boot_now() < deadline) {
    if (!was_empty) std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kMaxPause);
    const SignalResult next = kill_round(mark);
    if (next.found == 0 && was_empty) return {.all_gone = true, .remaining = {}};
    was_empty = next.found == 0;
    if (next.found != 0) round = next;
  }
  return find_remaining(mark, round.unreachable);
}

}  // namespace tangram::shim
