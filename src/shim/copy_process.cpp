// See copy_process.hpp.
#include "shim/copy_process.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include "base/text.hpp"
#include "shim/system.hpp"

namespace tangram::shim {
namespace {

void report(const CopyStatus& status) {
  [[maybe_unused]] const ssize_t written = ::write(kHelperStatus, &status, sizeof(status));
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
    const ssize_t count = ::read(kHelperInput, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    std::string_view text(buffer.data(), static_cast<std::size_t>(count));
    const int error = lost == 0 ? write_all(file, text) : 0;
    if (error != 0) report({.kind = CopyStatus::Kind::kWriteFailed, .failure = {.error = error}});
    lost += lost == 0 && error == 0 ? 0 : text.size();
  }
  if (lost > 0) report({.kind = CopyStatus::Kind::kLost, .bytes = lost});
}

void run_copy_process(const api::RunSpec& spec, const std::string& path) {
  report({.kind = CopyStatus::Kind::kStarted, .pid = ::getpid()});
  if (const auto failure = become_run_user(spec)) {
    report({.kind = CopyStatus::Kind::kNotOpened, .failure = *failure});
    return;
  }
  const int file = open_file(path);
  if (file < 0) {
    report({.kind = CopyStatus::Kind::kNotOpened,
            .failure = {.step = Step::kOutputFile, .error = errno}});
    return;
  }
  report({.kind = CopyStatus::Kind::kReady});
  copy_to(file);
}

}  // namespace

Result<HelperProcess> start_copy_process(const api::RunSpec& spec, const std::string& path) {
  return start_helper_process([&] { run_copy_process(spec, path); });
}

}  // namespace tangram::shim
