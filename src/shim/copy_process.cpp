// See copy_process.hpp.
#include "shim/copy_process.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/text.hpp"
#include "shim/start.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

constexpr int kInput = 3;
constexpr int kStatus = 4;

void report(const CopyStatus& status) {
  [[maybe_unused]] const ssize_t written = ::write(kStatus, &status, sizeof(status));
}

// Keeps two descriptors. The others are the shim's: its lock on the run's folder, its log, the
// job's pipes. They are moved up first, because they may have each other's number.
void keep_descriptors(int input, int status) {
  const int high_input = ::fcntl(input, F_DUPFD, kStatus + 1);
  const int high_status = ::fcntl(status, F_DUPFD, kStatus + 1);
  ::dup2(high_input, kInput);
  ::dup2(high_status, kStatus);
  ::syscall(SYS_close_range, static_cast<unsigned>(kStatus + 1), ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null, fd);
  if (null > kStatus) ::close(null);
}

// O_NONBLOCK: a named pipe without a reader is an error here, not a wait without an end.
int open_file(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
  const int file = ::open(path.c_str(), kFlags, 0666);
  if (file >= 0) ::fcntl(file, F_SETFL, O_APPEND);
  return file;
}

// Returns 0 or an errno, and removes what was written from `text`.
int write_all(int file, std::string_view& text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

// Until the shim closes its end. After an error the file gets nothing more, so that it has no gap.
void copy_to(int file) {
  static std::array<char, 65'536> buffer;
  std::uint64_t lost = 0;
  while (true) {
    const ssize_t count = ::read(kInput, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    const int error = lost == 0 ? write_all(file, text) : 0;
    if (error != 0) report({.kind = CopyStatus::Kind::kWriteFailed, .failure = {.error = error}});
    lost += lost == 0 && error == 0 ? 0 : text.size();
  }
  if (lost > 0) report({.kind = CopyStatus::Kind::kLost, .bytes = lost});
}

[[noreturn]] void run_copy_process(const api::RunSpec& spec, const std::string& path, int input,
                                   int status) {
  keep_descriptors(input, status);
  report({.kind = CopyStatus::Kind::kStarted, .pid = ::getpid()});
  if (const auto failure = become_run_user(spec)) {
    report({.kind = CopyStatus::Kind::kNotOpened, .failure = *failure});
    ::_exit(1);
  }
  const int file = open_file(path);
  if (file < 0) {
    report({.kind = CopyStatus::Kind::kNotOpened,
            .failure = {.step = Step::kOutputFile, .error = errno}});
    ::_exit(1);
  }
  report({.kind = CopyStatus::Kind::kReady});
  copy_to(file);
  ::_exit(0);
}

}  // namespace

Result<CopyProcess> start_copy_process(const api::RunSpec& spec, const std::string& path) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return failed(cat("cannot create a pipe: ", errno_text(errno), "."));
  const os::Descriptor input(ends[0]);  // the process's end may block
  CopyProcess process{.input = os::Descriptor(ends[1])};
  ::fcntl(process.input.get(), F_SETFL, O_NONBLOCK);
  Result<Pipe> status = make_pipe();
  if (!status) return std::unexpected(status.error());
  process.status = std::move(status->read);
  // The first child ends at once, so that the second one is no child of the shim.
  const pid_t first = ::fork();
  if (first == 0) {
    const pid_t second = ::fork();
    if (second == 0) run_copy_process(spec, path, input.get(), status->write.get());
    ::_exit(second < 0 ? 1 : 0);
  }
  int result = 0;
  const bool is_started = first > 0 && ::waitpid(first, &result, 0) == first && WIFEXITED(result) &&
                          WEXITSTATUS(result) == 0;
  if (!is_started) return failed("cannot fork.");
  return process;
}

}  // namespace tangram::shim
