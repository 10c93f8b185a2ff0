// See process_table.hpp.
#include "shim/process_table.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <limits>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "os/descriptor.hpp"
#include "os/failure.hpp"

namespace tangram::shim {
namespace {

constexpr pid_t kKernelThreads = 2;  // the parent of kernel threads
// Fields of /proc/PID/stat, as proc(5) counts them.
constexpr int kState = 3;
constexpr int kParent = 4;
constexpr int kThreads = 20;
constexpr int kStartTicks = 22;

constexpr std::size_t kMaxEnvironment = 8U << 20U;  // no kernel accepts more

// Whether reading a process failed because of that process, not of the machine.
bool is_gone_or_hidden(int code) {
  return code == ENOENT || code == ESRCH || code == EACCES || code == EPERM;
}

std::unexpected<Error> cannot_list(int code) {
  return failed(cat("cannot list the processes in /proc: ", os::errno_text(code), "."));
}

Result<bool> unreadable(pid_t pid, int code) {
  if (is_gone_or_hidden(code)) return false;
  return failed(
      cat("cannot read the environment of process ", pid, ": ", os::errno_text(code), "."));
}

// The field of a line that begins after the name, which is field 2 and may contain anything.
std::string_view field(std::string_view fields, int number) {
  for (int i = kState; i < number; ++i) {
    const std::size_t space = fields.find(' ');
    if (space == std::string_view::npos) return {};
    fields.remove_prefix(space + 1);
  }
  return fields.substr(0, fields.find(' '));
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Whether a set of signals in /proc/PID/status, which begins with `key`, has the signal.
bool is_in_set(pid_t pid, std::string_view key, int signal) {
  std::ifstream file(cat("/proc/", pid, "/status"));
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(key)) continue;
    std::uint64_t set = 0;
    std::from_chars(line.data() + key.size(), line.data() + line.size(), set, 16);
    return (set >> static_cast<unsigned>(signal - 1) & 1U) != 0;
  }
  return false;
}

}  // namespace

std::optional<Process> parse_stat(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const std::size_t bracket = line.rfind(')');
  if (bracket == std::string_view::npos || bracket + 2 >= line.size()) return std::nullopt;
  const std::string_view fields = line.substr(bracket + 2);
  const auto pid = number_of<pid_t>(line.substr(0, line.find(' ')));
  const auto parent = number_of<pid_t>(field(fields, kParent));
  const auto threads = number_of<long>(field(fields, kThreads));
  const auto start = number_of<std::uint64_t>(field(fields, kStartTicks));
  if (!pid || !parent || !threads || !start) return std::nullopt;
  const char state = fields.front();
  const bool is_zombie = state == 'Z' || state == 'X' || state == 'x';
  return Process{.pid = *pid,
                 .parent = *parent,
                 .start_ticks = *start,
                 .is_alive = !is_zombie || *threads > 1,
                 .stopped = state == 'T' || state == 't',
                 .uninterruptible = state == 'D'};
}

std::expected<Process, int> read_process(pid_t pid) {
  const os::Descriptor file(
      ::open(cat("/proc/", pid, "/stat").c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.ok()) return std::unexpected(errno);
  std::array<char, 1'024> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size <= 0) return std::unexpected(size < 0 ? errno : ESRCH);
  const auto process = parse_stat({text.data(), static_cast<std::size_t>(size)});
  if (!process) return std::unexpected(EBADMSG);
  return *process;
}

std::optional<Process> find_process(pid_t pid) {
  const auto process = read_process(pid);
  return process ? std::optional(*process) : std::nullopt;
}

Result<std::vector<Process>> all_processes() {
  std::vector<Process> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (proc == nullptr) return cannot_list(errno);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(proc.get());
    if (entry == nullptr && errno != 0) return cannot_list(errno);
    if (entry == nullptr) return found;
    const auto pid = parse_int(entry->d_name, 1, std::numeric_limits<int>::max());
    if (!pid) continue;
    const auto process = read_process(*pid);
    if (!process && !is_gone_or_hidden(process.error())) return cannot_list(process.error());
    if (!process || process->pid == kKernelThreads || process->parent == kKernelThreads) continue;
    found.push_back(*process);
  }
}

bool has_pending(pid_t pid, int signal) { return is_in_set(pid, "ShdPnd:\t", signal); }

bool has_handler(pid_t pid, int signal) { return is_in_set(pid, "SigCgt:\t", signal); }

// The directory is opened first and refers to this process, also if its pid is used again. Its
// owner is the effective user; the files in it may be root's (PR_SET_DUMPABLE in prctl(2)).
Result<bool> has_variable(pid_t pid, uid_t uid, std::string_view assignment) {
  const os::Descriptor folder(
      ::open(cat("/proc/", pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status{};
  if (!folder.ok() || ::fstat(folder.get(), &status) != 0) return unreadable(pid, errno);
  if (status.st_uid != uid) return false;
  const os::Descriptor file(::openat(folder.get(), "environ", O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.ok()) return unreadable(pid, errno);
  std::string text(1, '\0');  // so that every variable is enclosed in NULs
  std::array<char, 16'384> part{};
  ssize_t size = 0;
  while (text.size() < kMaxEnvironment && (size = ::read(file.get(), part.data(), part.size())) > 0)
    text.append(part.data(), static_cast<std::size_t>(size));
  if (size < 0) return unreadable(pid, errno);
  text += '\0';
  const std::string wanted = cat('\0', assignment, '\0');
  return text.find(wanted) != std::string::npos;
}

}  // namespace tangram::shim
