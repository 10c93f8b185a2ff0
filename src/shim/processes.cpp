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
#include "files/descriptor.hpp"
#include "shim/cgroup.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

// A fork bomb that outruns so many passes is killed unfinished; the next round goes on.
constexpr int kMostPasses = 32;

// glibc has pidfd_open() and pidfd_send_signal() from 2.36 on; the kernel had them before.
files::Descriptor open_process(pid_t pid) {
  return files::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}
int send(const files::Descriptor& process, int signal) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0));
}

// The handle is opened first: if the process that was found is still there afterwards, its pid
// was never another's in between, and the handle is its own.
int signal_verified(const Process& process, int signal) {
  const files::Descriptor handle = open_process(process.pid);
  if (!handle.ok()) return errno;
  const auto now = find_process(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return ESRCH;
  return send(handle, signal) == 0 ? 0 : errno;
}

std::set<pid_t> marked(const RunMark& mark, const std::vector<Process>& table) {
  std::set<pid_t> ours;
  if (!mark.cgroup.empty()) {
    for (const pid_t pid : cgroup_members(mark.cgroup)) ours.insert(pid);
  }
  if (mark.tag.empty()) return ours;
  const std::string assignment = cat(api::kRunTag, "=", mark.tag);
  for (const Process& process : table) {
    if (!process.lives || ours.contains(process.pid)) continue;
    if (has_variable(process.pid, assignment)) ours.insert(process.pid);
  }
  return ours;
}

// Children of ours are ours, until nothing changes: a child may stand before its parent.
void add_descendants(std::set<pid_t>& ours, const std::vector<Process>& table) {
  bool has_grown = true;
  while (has_grown) {
    has_grown = false;
    for (const Process& process : table) {
      if (ours.contains(process.parent) && ours.insert(process.pid).second) has_grown = true;
    }
  }
}

bool same(const Process& a, const Process& b) {
  return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

Signalled signal_each(const std::vector<Process>& processes, int signal) {
  Signalled result{.found = processes.size(), .unreachable = {}};
  for (const Process& process : processes) {
    const int code = signal_verified(process, signal);
    if (code != 0 && code != ESRCH) result.unreachable.push_back({process.pid, why(code)});
  }
  return result;
}

Killed still_there(const RunMark& mark, const std::vector<Unreachable>& unreachable) {
  Killed result;
  for (const Process& process : processes_of(mark)) {
    const auto found = std::ranges::find(unreachable, process.pid, &Unreachable::pid);
    result.left.push_back(found != unreachable.end()
                              ? *found
                              : Unreachable{process.pid, "it was killed and has not ended yet"});
  }
  result.all_gone = result.left.empty();
  return result;
}

}  // namespace

std::vector<Process> processes_of(const RunMark& mark) {
  const std::vector<Process> table = all_processes();
  std::set<pid_t> ours = marked(mark, table);
  const pid_t self = ::getpid();
  ours.erase(self);  // the caller may stand in an environment with the same tag
  if (mark.shim > 0) ours.insert(mark.shim);
  add_descendants(ours, table);
  if (mark.shim != self) ours.erase(self);
  std::vector<Process> found;
  for (const Process& process : table) {
    if (process.pid == self || process.pid == mark.shim || !process.lives) continue;
    if (ours.contains(process.pid)) found.push_back(process);
  }
  return found;
}

Signalled signal_all(const RunMark& mark, int signal) {
  return signal_each(processes_of(mark), signal);
}

Signalled kill_round(const RunMark& mark) {
  if (!mark.cgroup.empty()) kill_cgroup(mark.cgroup);
  std::vector<Process> found = processes_of(mark);
  if (found.empty()) return {};
  std::vector<Process> stopped;
  for (int pass = 0; pass < kMostPasses; ++pass) {
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

Killed kill_all(const RunMark& mark, std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kLongestPause{100};
  const Moment deadline = boot_now() + patience;
  std::chrono::milliseconds pause{1};
  Signalled round = kill_round(mark);
  // Two empty rounds: one pass over /proc can miss a process that forks while it looks.
  bool was_empty = round.found == 0;
  while (boot_now() < deadline) {
    if (!was_empty) std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
    const Signalled next = kill_round(mark);
    if (next.found == 0 && was_empty) return {.all_gone = true, .left = {}};
    was_empty = next.found == 0;
    if (next.found != 0) round = next;
  }
  return still_there(mark, round.unreachable);
}

}  // namespace tangram::shim
